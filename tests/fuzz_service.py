#!/usr/bin/env python3
"""Sends damaged requests to `thalweg serve`, and demands that each is answered as the service says.

    python3 tests/fuzz_service.py target/release/thalweg --seconds 600 [--seed 1]

Recipes (JSON and TOML), bodies of parts, dungeons, files, paths and headers are made from good ones
by a few random changes. What must hold: an answer with a known status comes or the connection ends;
refusals are problem+json with a status, a detail and no path of the server; nothing is a fault
(500) and nothing panics; and in the end the service still runs a good recipe, to the same bytes as
before.
"""

import argparse
import collections
import http.client
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOOD = {
    "schema": 2,
    "name": "good",
    "seed": 3,
    "width": 48,
    "height": 40,
    "spacing_m": 10,
    "levels": 2,
    "stage": [
        {"kind": "diamond_square", "relief_m": 300},
        {
            "kind": "strokes",
            "stroke": [
                {
                    "tool": "raise",
                    "at_m": [[100, 100], [200, 150, 0.5]],
                    "radius_m": 60,
                    "amount_m": 40,
                },
                {
                    "tool": "noise",
                    "at_m": [[90, 90]],
                    "radius_m": 50,
                    "amount_m": 9,
                    "feature_m": 30,
                },
            ],
        },
        {"kind": "layer", "map": "hardness", "from": "noise"},
        {
            "kind": "droplets",
            "rain": 0.1,
            "lifetime": {"from": 8, "to": 4},
            "interleave": [{"kind": "thermal", "every": 4, "steps": 1}],
        },
    ],
    "output": {"maps": ["height", "flow", "slope"], "format": "tif", "sea_level_m": 10},
}
ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    1e308,
    -1e308,
    1e-308,
    0.1,
    2**31,
    2**32,
    2**53 + 1,
    2**63,
    2**64 - 1,
    2**64,
    "",
    "x",
    "auto",
    "height",
    "../../etc/passwd",
    "\0",
    "é" * 300,
    [],
    {},
    [[]],
    [{}],
    {"upload": "0" * 64},
    {"upload": 1},
    {"from": 1, "to": -1},
    [1, 2, 3],
    "NaN",
    "-0",
    "1e400",
]
TYPES = [
    "application/json",
    "application/toml",
    "text/plain",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "",
    "a/b",
    "application/json; charset=utf-16",
]
EXPECTED = {
    200,
    202,
    206,
    304,
    307,
    308,
    400,
    404,
    405,
    406,
    408,
    409,
    410,
    411,
    413,
    414,
    415,
    416,
    417,
    421,
    422,
    429,
    431,
    501,
    503,
    507,
}


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from places(inner, (*path, i))


def changed(rng, value):
    """A copy of a recipe with something else at a place, without it, or with one thing more."""
    value = json.loads(json.dumps(value))
    path = rng.choice([p for p in places(value) if p])
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    what = rng.randrange(6)
    if what == 0:
        del inner[path[-1]]
    elif what == 1 and isinstance(inner, dict):
        inner[
            rng.choice(
                [
                    "x",
                    "",
                    "kind",
                    "tool",
                    "seed",
                    "file",
                    "from",
                    "levels",
                    "input",
                    "margin_cells",
                    "origin",
                    "range_m",
                    "dungeons",
                ]
            )
        ] = rng.choice(ODD)
    elif what == 2 and isinstance(inner, list):
        inner[path[-1] : path[-1]] = [inner[path[-1]]] * rng.choice([1, 2, 50])
    elif what == 3 and isinstance(inner[path[-1]], (int, float)):
        inner[path[-1]] *= rng.choice([-1, 0, 0.001, 0.5, 2, 1000, 1e12])
    else:
        inner[path[-1]] = rng.choice(ODD)
    return value


def torn(rng, data):
    """Bytes with a few changed, cut or doubled."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not data:
            break
        at = rng.randrange(len(data))
        what = rng.randrange(5)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del data[at : at + rng.choice([1, 4, 100])]
        elif what == 2:
            data[at:at] = data[at : at + rng.choice([1, 8, 200])]
        elif what == 3:
            data[at:at] = rng.choice(
                [b"\0", b"\r\n", b'"', b"{", b"[", b"--x", b"\xff\xfe", b"9" * 30, b"-", b"e9"]
            )
        else:
            del data[at:]
    return bytes(data)


def parts(rng, recipe):
    raw = b"".join(int.to_bytes(rng.randrange(1 << 32), 4, "little") for _ in range(16))
    body = (
        b'--x\r\ncontent-disposition: form-data; name="recipe"\r\ncontent-type: application/json\r\n\r\n'
        + json.dumps(recipe).encode()
    )
    for name in rng.sample(
        ["land.r32", "mask.png", "h.tif", "../x.npy", "x", "a.asc", "recipe"], rng.randrange(4)
    ):
        body += (
            f'\r\n--x\r\ncontent-disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'.encode()
            + raw
        )
    return body + b"\r\n--x--\r\n"


def request(rng, known):
    """A method, a path, headers and a body."""
    recipe = GOOD
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        recipe = changed(rng, recipe)
    headers = {"content-type": rng.choice(TYPES[:2] + TYPES)}
    query = rng.choice(
        [
            "",
            "",
            "?cells=64",
            "?cells=-1",
            "?frames=3",
            "?frames=99999999999",
            "?level=1",
            "?fields=height,flow",
            "?fields=",
            "?format=svg",
            "?format=%00",
            "?name=x.r32",
            "?name=../x.npy",
            "?draft=true",
            "?draft=1",
            "?" + "a=b&" * 50,
            "?%ff",
            "?frame_size=0",
        ]
    )
    kind = rng.randrange(10)
    if kind < 5:
        path = rng.choice(["/v1/recipes", "/v1/recipes", "/v1/preview", "/v1/jobs"])
        form = rng.randrange(4)
        if form == 0:
            headers["content-type"] = "multipart/form-data; boundary=x"
            body = parts(
                rng,
                {
                    **recipe,
                    **rng.choice(
                        [{}, {"input": "land.r32"}, {"input": {"upload": known["upload"]}}]
                    ),
                },
            )
        elif form == 1:
            headers["content-type"] = "application/toml"
            body = known["toml"]
        else:
            headers["content-type"] = "application/json"
            body = json.dumps(recipe).encode()
        if rng.random() < 0.4:
            body = torn(rng, body)
        return "POST", path + query, headers, body
    if kind == 5:
        dungeon = {
            "kind": rng.choice(["isaac", "rebirth", "tinykeep"]),
            "seed": rng.choice(ODD),
            "level": rng.choice(ODD),
            "room_count": rng.choice(ODD + [20]),
        }
        body = json.dumps(dict(rng.sample(list(dungeon.items()), rng.randrange(1, 5)))).encode()
        return (
            "POST",
            "/v1/dungeons" + query,
            {"content-type": "application/json"},
            torn(rng, body) if rng.random() < 0.2 else body,
        )
    if kind == 6:
        body = torn(rng, known["file"])
        return (
            "POST",
            "/v1/inputs?name="
            + urllib.parse.quote(
                rng.choice(
                    [
                        "x.tif",
                        "x.png",
                        "x.npy",
                        "x.r16",
                        "x.asc",
                        "x.exr",
                        "x.hgt",
                        "x",
                        "x.tif.exe",
                    ]
                )
            ),
            {},
            body,
        )
    address = rng.choice(known["paths"]) + rng.choice(["", query])
    if rng.random() < 0.5:
        address = torn(rng, address.encode()).decode("latin-1")
        address = "/" + "".join(
            c if 32 < ord(c) < 127 else "%%%02x" % ord(c) for c in address
        ).lstrip("/")
    headers = {}
    for name, values in [
        ("range", ["bytes=0-5", "bytes=5-", "bytes=-1", "bytes=9-1", "bytes=0-,0-", "x"]),
        ("if-none-match", ["*", '"x"', 'W/""']),
        ("last-event-id", ["0", "-1", "99999999999999999999", "x-1"]),
        ("host", ["localhost", "127.0.0.1:1", "[::1]", "evil.example", ""]),
        ("accept", ["application/toml", "*/*", "x"]),
        ("idempotency-key", ["k", "", "k" * 300]),
        ("origin", ["http://evil.example", "null"]),
    ]:
        if rng.random() < 0.1:
            headers[name] = rng.choice(values)
    return (
        rng.choice(["GET", "GET", "GET", "HEAD", "DELETE", "PUT", "OPTIONS", "BREW"]),
        address,
        headers,
        b"",
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("thalweg")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = open(f"{folder}/log", "w+")
        limits = [
            "--max-work",
            "1e9",
            "--max-cells",
            "1000000",
            "--max-upload",
            "1",
            "--disk",
            "64",
            "--queue",
            "50",
        ]
        service = subprocess.Popen(
            [
                given.thalweg,
                "serve",
                "--port",
                "0",
                "--json",
                "--device",
                "cpu",
                "--state",
                f"{folder}/state",
                *limits,
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        try:
            port = urllib.parse.urlsplit(json.loads(service.stdout.readline())["url"]).port

            def ask(method, path, headers, body, timeout=60):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
                try:
                    connection.request(method, path, body, headers)
                    answer = connection.getresponse()
                    # Events of a job come as long as it runs.
                    whole = (
                        answer.read()
                        if answer.headers.get("content-type") != "text/event-stream"
                        else answer.read1(100)
                    )
                    return answer.status, answer.headers, whole
                finally:
                    connection.close()

            def good():
                """The digest of a good recipe's result, and its addresses. The seed makes it run
                anew."""
                status, _, body = ask(
                    "POST",
                    "/v1/jobs",
                    {"content-type": "application/json"},
                    json.dumps(GOOD).encode(),
                )
                assert status in (200, 202), body
                job = json.loads(body)
                while job["state"] in ("queued", "running"):
                    time.sleep(0.05)
                    job = json.loads(ask("GET", f"/v1/jobs/{job['id']}", {}, b"")[2])
                assert job["state"] == "succeeded", job
                return job

            job = good()
            digest, href = job["result"]["digest"], job["result"]["href"]
            known = {
                "toml": ask(
                    "POST",
                    "/v1/recipes",
                    {"content-type": "application/json", "accept": "application/toml"},
                    json.dumps(GOOD).encode(),
                )[2],
                "file": ask("GET", href + "height.tif", {}, b"")[2],
            }
            known["upload"] = json.loads(
                ask("POST", "/v1/inputs?name=h.tif", {}, known["file"])[2]
            )["digest"]
            known["paths"] = [
                href,
                href + "manifest.json",
                href + "bundle.zip",
                href + "fields/flow.png",
                href + "fields/height.asc",
                href + "tiles/height/0/0/0.png",
                href + "tiles/hillshade/0/0/0.png",
                href + "tiles/height/tilejson.json",
                "/v1/jobs",
                f"/v1/jobs/{job['id']}",
                f"/v1/jobs/{job['id']}/events",
                f"/v1/jobs/{job['id']}/levels/1/height.r32",
                "/v1/stages",
                "/v1/presets",
                "/v1/examples",
                "/v1/recipe.schema.json",
                "/openapi.json",
                f"/v1/inputs/{known['upload']}/height.r32",
                "/healthz",
                "/readyz",
                "/metrics",
                "/",
                "/js/editor.js",
                href + "timelapse/0.png",
            ]
            counts, faults, ends = collections.Counter(), [], collections.Counter()
            end = time.monotonic() + given.seconds

            def client(number):
                rng = random.Random(given.seed * 1000 + number)
                while time.monotonic() < end and not faults:
                    method, path, headers, body = request(rng, known)
                    try:
                        status, head, answer = ask(method, path, headers, body)
                    except (http.client.HTTPException, ConnectionError) as error:
                        ends[type(error).__name__] += 1
                        continue
                    except Exception as error:
                        faults.append((method, path, headers, body[:2000], repr(error)))
                        return
                    counts[status] += 1
                    wrong = None
                    if status not in EXPECTED and not (status == 403 and "origin" in headers):
                        wrong = "an unexpected status"
                    elif status >= 400 and method != "HEAD" and answer:
                        try:
                            problem = json.loads(answer)
                            # With a full queue it takes no jobs, and says so by its figures.
                            if status == 503 and path.split("?")[0] == "/readyz":
                                if problem["ready"] or not problem["queued"]:
                                    wrong = "not ready without a reason"
                            elif not (
                                problem["status"] == status
                                and problem["detail"]
                                and problem["type"]
                            ):
                                wrong = "a problem that lacks something"
                        except (ValueError, KeyError, TypeError):
                            # What is no HTTP is refused without a body.
                            wrong = "no problem"
                        if folder.encode() in answer:
                            wrong = "a path of the server"
                    if wrong:
                        faults.append(
                            (wrong, status, method, path, headers, body[:3000], answer[:600])
                        )

            clients = [threading.Thread(target=client, args=(n,)) for n in range(given.clients)]
            begun = time.monotonic()
            [c.start() for c in clients]
            [c.join() for c in clients]
            took = time.monotonic() - begun
            # Jobs that were taken are of no interest any more.
            before = ask("GET", "/v1/jobs?state=x", {}, b"")[0]
            for one in json.loads(ask("GET", "/v1/jobs", {}, b"")[2])["jobs"] if before else []:
                ask("DELETE", f"/v1/jobs/{one['id']}", {}, b"")
            again = good()
            log.seek(0)
            text = log.read()
            panics = [line for line in text.splitlines() if "panicked" in line or " fault" in line]
            print(
                f"{sum(counts.values())} requests in {took:.0f} s, and {sum(ends.values())} connections that ended ({dict(ends)}); statuses {dict(sorted(counts.items()))}"
            )
            for fault in faults + panics[:20]:
                print("WRONG:", fault)
            assert service.poll() is None, "the service has ended"
            assert again["result"]["digest"] == digest, "the good recipe has other bytes now"
            return 1 if faults or panics else 0
        finally:
            service.kill()
            service.wait()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A day of `thalweg serve` in an hour: many clients, and incidents.

    python3 tests/soak_service.py target/release/thalweg [--hours 1] [--scale 24] [--clients 200]
        [--seed 1] [--full tmpfs|ext4|limit] [--state DIR]

The service's clock, its timers among it, runs --scale times as fast (libfaketime; Debian has it as
`faketime`). `--scale 1` needs no libfaketime. It rounds waits to whole milliseconds, so that an
idle service takes a quarter of a core at 24, and two thirds at 48; without it, none. It does not
reach waits for locks with a limit of time (futex), so the threads of tokio's pool, which end after
ten idle seconds, stay; only at `--scale 1` must they not grow. `--header-seconds` is given such
that clients have five real seconds.

Clients fetch tiles, files of results in many formats and the editor's files, run jobs, follow and
cancel them, take previews and sheets, send files, walk in a world without an end, hang up in the
middle, send and read too slowly or not at all, and send the damaged requests of fuzz_service.py.

Incidents come in two phases: SIGKILL (at times once more during the restart), SIGTERM, a second
service on the same state and on the same port, and a full disk. Each phase is followed by a stretch
without any, over which the figures of one process are compared.

What must hold:

- every answer comes within 60 real seconds, with a status that its request allows; the statuses 503
  and 507 are allowed only at an incident, and 500 never
- refusals are problem+json with a detail, and no answer has a path of the server
- the same request has the same bytes, before and after incidents and evictions; a result has the
  digest that the same recipe had at first, and that of a job which was killed is that of
  `thalweg run`
- every job ends; those that ran or waited when the service was killed run again, and what had ended
  stays as it was
- followers miss no level and no end, however often they come again with Last-Event-ID
- clients that send or read nothing are cut off; those that are slow but steady are served
- every result on disk passes `thalweg verify`, and nothing half-written is left in the state
- SIGTERM ends the service with code 0 within the 30 seconds of docs/serve/thalweg.service
- a second service refuses to start, says why, and does not harm the first
- open files and threads do not grow over a quiet stretch, and memory grows by at most --growth;
  results take at most --disk; in the end all connections, jobs and sockets are gone
- the log has no panic and no fault

Ends with 0 if all holds, with 1 if not, and with 2 if it cannot run here. Needs Linux. A full disk
is a file system of its own, which only root may mount; others get `--full limit`, a limit of the
size of files. With --state, DIR is used as it is and the limit, too.
"""

import argparse
import asyncio
import collections
import glob
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

import fuzz_service

# Longest real time for an answer, a start, and a job. Generous: they are limits of hanging.
HANG_S = 60
JOB_HANG_S = 300
# docs/serve/thalweg.service, TimeoutStopSec.
STOP_S = 30
# After the disk has room again, what began before may still tell of the full one.
AFTERMATH_S = 3
SAMPLE_S = 2
DISK_MIB = 128
FILE_SYSTEM_MIB = 256
TOML = {"content-type": "application/toml"}
LIVE = ("queued", "running", "interrupted")


def recipe(seed, side, rain=0.3, maps=("height", "flow"), stages=""):
    return (
        f'schema = 2\nname = "soak"\nseed = {seed}\nwidth = {side}\nheight = {side}\n'
        'spacing_m = 10\nlevels = "auto"\n[[stage]]\nkind = "diamond_square"\nrelief_m = 900\n'
        f"{stages}"
        + (f'[[stage]]\nkind = "droplets"\nlifetime = 24\nrain = {rain}\n' if rain else "")
        + f'[output]\nmaps = {json.dumps(list(maps))}\nformat = "r32"\n'
    )


THERMAL = '[[stage]]\nkind = "thermal"\nsteps = 8\n'
# Lands whose tiles and files are fetched all the time; the first is large.
LANDS = [recipe(1, 1024, 0.05, ("height", "slope"))] + [
    recipe(seed, side) for seed, side in [(2, 300), (3, 128), (4, 96)]
]
SMALL = [
    recipe(10 + n, 64 + 16 * (n % 5), 0.2, stages=THERMAL if n % 3 == 0 else "") for n in range(60)
]
PREVIEWS = [recipe(200 + n, 192, 0.2) for n in range(6)]
UNREAD = recipe(300, 512, 0)
WORLD = """
schema = 2
name = "world"
seed = 12
width = 256
height = 256
spacing_m = 20
endless = true
levels = 2
[[stage]]
kind = "diamond_square"
world_cells = 4294967296
edge = "torus"
feature_cells = 256
relief_m = 2000
[[stage]]
kind = "thermal"
steps = 4
[output]
maps = ["height"]
"""
MAPS = [f"{name}.{ending}" for name in ("height", "flow") for ending in
        ("r32", "r16", "png", "tif", "exr", "npy", "asc")]


def upload(n, side=64):
    return b"".join(struct.pack("<f", (i * (n + 3)) % 97 + i // side) for i in range(side * side))


class Interrupted(Exception):
    """The turn of a client is over: an incident, or a fault that has been noted."""


class Refused(Exception):
    """What was asked cannot be had now, and may be so."""


class Dead(Exception):
    """The service cannot be started any more."""


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class Service:
    """The program, and the clock that it is given."""

    def __init__(self, program, state, home, scale, preload):
        self.program, self.state, self.home, self.scale = program, state, home, scale
        self.preload, self.began = preload, time.time()
        self.process, self.port = None, 0
        # By a process of its own, which has room when the service has none.
        log = open(f"{home}/log", "wb")
        self.logger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=log)
        patience = max(15, round(5 * scale))
        self.patience_s = patience / scale
        self.options = [
            *["--json", "--device", "cpu", "--header-seconds", str(patience)],
            *["--max-work", "3e8", "--max-cells", "1100000", "--max-upload", "1"],
            *["--disk", str(DISK_MIB), "--queue", "50"],
        ]

    def clock(self):
        """The time that the service has."""
        return self.began + (time.time() - self.began) * self.scale

    def environment(self):
        env = {"PATH": os.environ["PATH"], "HOME": self.home}
        if self.preload:
            # A start goes on where the last one was, so that the clock never goes back.
            ahead = self.clock() - time.time()
            env |= {"LD_PRELOAD": self.preload, "FAKETIME": f"+{ahead:.3f} x{self.scale:g}"}
        return env

    def spawn(self, state, port, stderr):
        def before():
            os.nice(10)
            # Else a limit of the size of files would end the program.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        return subprocess.Popen(
            [self.program, "serve", "--port", str(port), "--state", state, *self.options],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=self.environment(),
            preexec_fn=before,
            # So that SIGXFSZ stays ignored.
            restore_signals=False,
        )

    def start(self):
        """Starts it. Waits until it listens."""
        self.process = self.spawn(self.state, 0, self.logger.stdin)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the service does not start: code {self.process.wait()}")
        self.port = urllib.parse.urlsplit(json.loads(line)["url"]).port

    def gone(self, process):
        """What libfaketime leaves of a process that was killed."""
        for path in [f"faketime_shm_{process.pid}", f"sem.faketime_sem_{process.pid}"]:
            pathlib.Path("/dev/shm", path).unlink(missing_ok=True)

    def end(self, number):
        """Sends a signal. Returns the code with which it ended, and the seconds it took."""
        begun = time.monotonic()
        self.process.send_signal(number)
        try:
            code = self.process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.gone(self.process)
        self.process.stdout.close()
        return code, time.monotonic() - begun


class Line:
    """A connection that is kept, as a browser keeps it."""

    def __init__(self, world):
        self.world, self.reader, self.writer, self.used = world, None, None, 0

    def close(self, abruptly=False):
        if self.writer is not None:
            if abruptly:
                # A reset, and no end in good order.
                linger = struct.pack("ii", 1, 0)
                plug = self.writer.get_extra_info("socket")
                plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.writer.transport.abort()
            else:
                self.writer.close()
        self.reader = self.writer = None

    async def begin(self, method, path, body=b"", headers=()):
        """Sends a request and reads the head of the answer."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.world.service.port, limit=1 << 20
            )
            self.used = 0
        head = {"host": "localhost", "content-length": str(len(body)), **dict(headers)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        self.used += 1
        try:
            self.writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body)
            await self.writer.drain()
            text = await self.reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            fresh, partial = self.used == 1, getattr(error, "partial", b"")
            self.close()
            # The service ends connections that are idle, perhaps just now.
            if fresh or partial:
                raise
            return await self.begin(method, path, body, headers)
        first, *rest = text.decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in rest if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in fields}

    async def chunks(self, method, status, headers):
        """The pieces of an answer's body."""
        if method == "HEAD" or status in (204, 304) or 100 <= status < 200:
            return
        if headers.get("transfer-encoding") == "chunked":
            while True:
                length = int(await self.reader.readuntil(b"\r\n"), 16)
                data = await self.reader.readexactly(length + 2)
                if not length:
                    return
                yield data[:-2]
        elif "content-length" in headers:
            yield await self.reader.readexactly(int(headers["content-length"]))
        else:
            yield await self.reader.read()
            self.close()

    async def exchange(self, method, path, body, headers):
        status, fields = await self.begin(method, path, body, headers)
        whole = b"".join([piece async for piece in self.chunks(method, status, fields)])
        if fields.get("connection") == "close":
            self.close()
        return Answer(status, fields, whole)

    async def ask(self, kind, method, path, body=b"", headers=(), allowed=(200,)):
        """A request, its answer, and what may be said of any answer."""
        world, begun = self.world, time.monotonic()
        stops = world.stops
        try:
            body = body.encode() if isinstance(body, str) else body
            answer = await asyncio.wait_for(self.exchange(method, path, body, headers), HANG_S)
        except (TimeoutError, asyncio.TimeoutError):
            self.close()
            world.broken(stops, "an answer that never came", f"{method} {path}: {HANG_S} s")
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            world.broken(stops, "a connection that broke", f"{method} {path}: {error!r}")
        world.count(kind, answer.status, time.monotonic() - begun)
        world.judge(method, path, answer, begun, stops, allowed)
        return answer


class World:
    """What all clients share."""

    def __init__(self, given, service, disk):
        self.given, self.service, self.disk = given, service, disk
        self.faults, self.said = collections.Counter(), collections.defaultdict(list)
        self.counts, self.times = collections.Counter(), collections.defaultdict(list)
        self.notes = collections.Counter()
        self.up = asyncio.Event()
        # How often the service was stopped, when it was back, and when the disk was full last.
        self.stops, self.back, self.is_full, self.was_full = 0, 0.0, False, -1e9
        self.first, self.known = {}, {}
        self.lands = [Land(self, text) for text in LANDS]
        self.jobs = collections.OrderedDict()
        self.samples, self.incidents, self.stretches = [], [], []
        self.begun, self.rest = time.monotonic(), None

    def fault(self, kind, what):
        self.faults[kind] += 1
        if len(self.said[kind]) < 5:
            self.said[kind].append(f"{self.at()}: {what}"[:1500])
            self.say(f"WRONG: {kind}: {what}"[:500])

    def at(self):
        seconds = int(time.monotonic() - self.begun)
        return f"{seconds // 60}:{seconds % 60:02}"

    def say(self, text):
        print(f"[{self.at()}] {text}", flush=True)

    def broken(self, stops, kind, what):
        """An exchange that did not come to its end: by an incident, or a fault."""
        if stops == self.stops and self.up.is_set():
            self.fault(kind, what)
        raise Interrupted

    def rough(self, begun):
        """Whether the disk was full at some time since then."""
        return self.is_full or self.was_full + AFTERMATH_S > begun

    def count(self, kind, status, seconds):
        self.counts[kind, status] += 1
        self.times[kind].append(seconds * 1e3)

    def judge(self, method, path, answer, begun, stops, allowed):
        status, what = answer.status, f"{method} {path}: {answer.status} {answer.body[:400]}"
        for secret in self.service.state, self.service.home, str(fuzz_service.ROOT):
            if secret.encode() in answer.body:
                self.fault("a path of the server in an answer", what)
        if status >= 400 and answer.body and not path.startswith("/readyz"):
            try:
                problem = answer.json()
                whole = problem["status"] == status and problem["detail"] and problem["type"]
                whole = whole and answer.headers["content-type"] == "application/problem+json"
            except (ValueError, KeyError, TypeError):
                whole = False
            if not whole:
                self.fault("a refusal that is no whole problem+json", what)
        if status in allowed:
            return
        ending = status == 503 and stops != self.stops or not self.up.is_set()
        if status in (503, 507) and (self.rough(begun) or ending):
            raise Refused
        self.fault("an unexpected status", what)
        raise Interrupted

    def same(self, key, value, what):
        """Demands what was there the first time."""
        if isinstance(value, bytes):
            value = hashlib.sha256(value).hexdigest() + f", {len(value)} bytes"
        first = self.first.setdefault(key, value)
        if first != value:
            self.fault("other bytes than at first", f"{what}: {value}, at first {first}")

    # Jobs.

    async def post(self, line, text, query="", key=None):
        """Posts a recipe, and returns the job."""
        headers = TOML | ({"idempotency-key": key} if key else {})
        allowed = (200, 202, 429)
        answer = await line.ask("post a job", "POST", f"/v1/jobs{query}", text, headers, allowed)
        if answer.status == 429:
            await asyncio.sleep(2)
            raise Refused
        return answer.json()

    async def ended(self, line, job, begun):
        """Waits for a job's end, over restarts, too."""
        number = job["id"]
        while job["state"] in LIVE:
            if time.monotonic() - max(begun, self.back) > JOB_HANG_S:
                self.fault("a job that never ends", f"{JOB_HANG_S} s: {job}")
                raise Interrupted
            await asyncio.sleep(0.5)
            await self.up.wait()
            try:
                job = (await line.ask("ask of a job", "GET", f"/v1/jobs/{number}")).json()
            except (Interrupted, Refused):
                await asyncio.sleep(0.5)
        self.remember(job)
        return job

    def remember(self, job):
        """How a job has ended must not change any more."""
        self.jobs[job["id"]] = (job["state"], (job["result"] or {}).get("digest"))
        while len(self.jobs) > 300:
            self.jobs.popitem(last=False)

    def succeeded(self, job, begun, text):
        """Demands the result of a job, with the digest that its recipe had at first."""
        if job["state"] == "failed" and self.rough(begun) and job["error"]["status"] == 507:
            raise Refused
        if job["state"] != "succeeded":
            self.fault("a job that ended otherwise than it should", json.dumps(job))
            raise Interrupted
        if job["result"] is None:
            # Evicted before we looked.
            raise Refused
        self.same(("digest", text), job["result"]["digest"], f"job {job['id']}")
        return job["result"]

    async def result(self, line, text, query="", key=None):
        begun = time.monotonic()
        job = await self.ended(line, await self.post(line, text, query, key), begun)
        return self.succeeded(job, begun, text)

    async def whole(self, line, href):
        """Demands all files of a result, as its listing has them."""
        listing = await line.ask("a listing", "GET", href, allowed=(200, 404))
        if listing.status == 404:
            return False
        for file in listing.json()["files"]:
            got = await line.ask("a file", "GET", file["href"], allowed=(200, 404))
            if got.status == 404:
                return False
            if len(got.body) != file["bytes"]:
                self.fault("a result that is not whole", f"{file}: {len(got.body)} bytes")
            self.same(file["href"], got.body, file["href"])
        return True


class Land:
    """A recipe whose result is fetched all the time, and made again when it was evicted."""

    def __init__(self, world, text):
        self.world, self.text, self.href, self.lock = world, text, None, asyncio.Lock()

    async def get(self, line):
        if self.href is None:
            async with self.lock:
                if self.href is None:
                    self.href = (await self.world.result(line, self.text))["href"]
        return self.href

    async def fetch(self, line, kind, path, headers=(), allowed=(200,)):
        """Something of the land's result."""
        href = await self.get(line)
        for _ in range(3):
            answer = await line.ask(kind, "GET", href + path, b"", headers, (*allowed, 404))
            if answer.status != 404:
                return answer
            # It may have been evicted, and made again by another meanwhile.
            listing = await line.ask("a listing", "GET", href, allowed=(200, 404))
            if listing.status == 404:
                self.world.notes["lands that were evicted and made again"] += 1
                self.href = None
                await self.get(line)
        self.world.fault("a part of a result that is missing", f"{href}{path}: {answer.body}")
        raise Interrupted


# Clients. Each function is one turn; the pause after it is in the table below.


async def tiles(world, line, rng):
    n = 0 if rng.random() < 0.7 else rng.randrange(1, len(LANDS))
    zoom = rng.randrange(3) if n == 0 else rng.randrange(2) if n == 1 else 0
    layer = rng.choice(["height", "hillshade", "colours", "slope" if n == 0 else "flow"])
    query = rng.choice(["", "", "?encoding=terrain-rgb"]) if layer == "height" else ""
    side = [1, 2, 4][zoom]
    path = f"tiles/{layer}/{zoom}/{rng.randrange(side)}/{rng.randrange(side)}.png{query}"
    land = world.lands[n]
    tag = world.known.get((n, path))
    if tag and rng.random() < 0.2:
        again = {"if-none-match": rng.choice([tag, f'"x", {tag}'])}
        answer = await land.fetch(line, "a tile again", path, again, (304,))
        if answer.body or answer.headers.get("etag") != tag:
            world.fault("a wrong 304", f"{path}: {answer.headers}")
        return
    answer = await land.fetch(line, "a tile", path)
    world.same((n, path), answer.body, path)
    world.known[n, path] = answer.headers["etag"]


async def poster(world, line, rng):
    text = rng.choice(SMALL)
    key = f"k{rng.randrange(1 << 60)}" if rng.random() < 0.3 else None
    begun = time.monotonic()
    job = await world.post(line, text, key=key)
    if key:
        again = await world.post(line, text, key=key)
        if again["id"] != job["id"]:
            world.fault("two jobs of one key", f"{job['id']} and {again['id']}")
    result = world.succeeded(await world.ended(line, job, begun), begun, text)
    file = rng.choice(result["files"])
    got = await line.ask("a file", "GET", file["href"], allowed=(200, 404))
    if got.status == 200:
        world.same((text, file["name"]), got.body, file["href"])
    for level in job["levels"][:1]:
        got = await line.ask("a level", "GET", level["href"], allowed=(200, 404))
        if got.status == 200:
            world.same((text, level["level"]), got.body, level["href"])


async def events(line, number, last):
    """The events of a job from the last one on."""
    headers = {"last-event-id": last} if last else {}
    path = f"/v1/jobs/{number}/events"
    status, fields = await asyncio.wait_for(line.begin("GET", path, b"", headers), HANG_S)
    line.world.counts["events", status] += 1
    if status != 200:
        pieces = b"".join([piece async for piece in line.chunks("GET", status, fields)])
        yield status, None, pieces
        return
    pieces, text = line.chunks("GET", status, fields), b""
    while True:
        try:
            text += await asyncio.wait_for(anext(pieces), HANG_S)
        except StopAsyncIteration:
            return
        *whole, text = text.split(b"\n\n")
        for event in whole:
            fields = dict(row.split(": ", 1) for row in event.decode().split("\n") if row[0] != ":")
            if "event" in fields:
                yield fields["event"], fields["id"], json.loads(fields["data"])


async def follower(world, line, rng):
    """Follows a job, and hangs up and comes again at times."""
    begun = time.monotonic()
    job = await world.post(line, recipe(rng.randrange(1 << 31), rng.choice([128, 192])))
    number, last, levels, end, log = job["id"], None, set(), None, []
    while end is None:
        if time.monotonic() - max(begun, world.back) > JOB_HANG_S:
            world.fault("a job whose end is never told", f"job {number}, after {last}")
            raise Interrupted
        await world.up.wait()
        stops, left, previous = world.stops, rng.choice([1, 2, 3, 5, 99]), 0
        if rng.random() < 0.2:
            await asyncio.sleep(rng.uniform(0, 3))
        try:
            async for kind, place, data in events(line, number, last):
                if isinstance(kind, int):
                    if kind == 503 or kind == 507 and world.rough(begun):
                        await asyncio.sleep(0.5)
                        break
                    if kind == 204:
                        # Which tells a browser not to come again.
                        world.fault("a follower that is never told the end (204)", f"{log}")
                        raise Interrupted
                    world.fault("an unexpected status", f"events of {number}: {kind} {data}")
                    raise Interrupted
                log.append(place)
                start, count = place.split("-")
                if int(count) <= previous:
                    world.fault("events out of order", f"job {number}: {log}")
                previous, last = int(count), place
                if kind == "level":
                    levels.add(data["level"])
                elif kind == "end":
                    end = data
                left -= 1
                if left <= 0 and end is None:
                    log.append("hangs up")
                    line.close(rng.random() < 0.5)
                    break
            else:
                if end is None and stops == world.stops and world.up.is_set():
                    world.fault("events that end without an end", f"job {number}: {log}")
                    raise Interrupted
        except (TimeoutError, asyncio.TimeoutError):
            line.close()
            what = f"events of {number}: nothing for {HANG_S} s"
            if stops == world.stops:
                world.fault("an answer that never came", what)
                raise Interrupted from None
        except (OSError, asyncio.IncompleteReadError) as error:
            line.close()
            if stops == world.stops and world.up.is_set():
                world.fault("a connection that broke", f"events of {number}: {error!r}")
                raise Interrupted from None
            await asyncio.sleep(0.2)
    world.remember(end)
    missed = {level["level"] for level in end["levels"]} - levels
    if missed:
        world.fault("levels that a follower missed", f"job {number}, level {missed}: {log}")
    world.succeeded(end, begun, f"follower {number}")


async def canceller(world, line, rng):
    begun = time.monotonic()
    job = await world.post(line, recipe(rng.randrange(1 << 31), 384, 1))
    await asyncio.sleep(rng.uniform(0, 2))
    path = f"/v1/jobs/{job['id']}"
    job = (await line.ask("a cancel", "DELETE", path)).json()
    job = await world.ended(line, job, begun)
    if job["state"] == "failed" and world.rough(begun) and job["error"]["status"] == 507:
        return
    if job["state"] not in ("cancelled", "succeeded"):
        world.fault("a job that ended otherwise than it should", json.dumps(job))


async def preview(world, line, rng):
    n, cells = rng.randrange(len(PREVIEWS)), rng.choice([64, 128])
    draft = rng.random() < 0.3
    path = f"/v1/preview?cells={cells}&fields=height,slope" + ("&draft=true" if draft else "")
    if rng.random() < 0.4:
        # Hangs up somewhere in the middle, or at once.
        try:
            await line.begin("POST", path, PREVIEWS[n].encode(), TOML)
            await asyncio.wait_for(line.reader.read(rng.choice([1, 64, 5000])), HANG_S)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        world.counts["a preview that is left", 200] += 1
        return line.close(rng.random() < 0.5)
    answer = await line.ask("a preview", "POST", path, PREVIEWS[n], TOML)
    at, heads, maps = 0, [], b""
    while at < len(answer.body):
        length = struct.unpack_from("<I", answer.body, at)[0]
        head = json.loads(answer.body[at + 4 : at + 4 + length])
        at += 4 + length
        if "error" in head:
            world.fault("a preview that broke off", f"{path}: {head}")
            raise Interrupted
        size = 4 * head["width"] * head["height"] * len(head["fields"])
        maps, at = answer.body[at : at + size], at + size
        heads.append(head)
    if at != len(answer.body) or not heads or not heads[-1].get("final"):
        world.fault("a preview that is not whole", f"{path}: {heads}")
    world.same(("preview", n, cells), maps, path)


async def sheet(world, line, rng):
    n, seed = rng.randrange(len(PREVIEWS)), rng.randrange(3)
    path = f"/v1/sheet?count=4&cells=64&seed={seed}"
    answer = await line.ask("a sheet", "POST", path, PREVIEWS[n], TOML)
    world.same(("sheet", n, seed), answer.body, path)


async def sender(world, line, rng):
    """Sends a file, gets it back, and runs a job on it."""
    n = rng.randrange(8)
    data = upload(n)
    name = "/v1/inputs?name=land.r32"
    digest = (await line.ask("send a file", "POST", name, data)).json()["digest"]
    world.same(("upload", n), digest, "an upload")
    path = f"/v1/inputs/{digest}/height.r32"
    got = await line.ask("a file that was sent", "GET", path, allowed=(200, 404))
    if got.status == 200 and got.body != data:
        world.fault("other bytes than were sent", path)
    if rng.random() < 0.3:
        text = (
            f'schema = 2\nspacing_m = 10\ninput = {{ upload = "{digest}" }}\n'
            '[[stage]]\nkind = "droplets"\nrain = 0.2\n'
        )
        begun = time.monotonic()
        answer = await line.ask(
            "post a job", "POST", "/v1/jobs", text, TOML, (200, 202, 404, 422, 429)
        )
        if answer.status in (404, 422):
            # Only if the file was evicted.
            gone = await line.ask("a file that was sent", "GET", path, allowed=(200, 404))
            if gone.status == 200:
                world.fault("a file that was sent and is not found", f"{answer.body}")
        elif answer.status != 429:
            job = await world.ended(line, answer.json(), begun)
            if job["state"] != "failed":
                world.succeeded(job, begun, f"input {n}")


async def reader(world, line, rng):
    """Files of results, whole, in part and again, and maps in every format."""
    land = world.lands[rng.choice([1, 2, 3])]
    n = world.lands.index(land)
    what = rng.randrange(4)
    if what == 0:
        path = f"fields/{rng.choice(MAPS)}"
    elif what == 1:
        path = "bundle.zip"
    else:
        path = rng.choice(["height.r32", "flow.r32", "manifest.json", "preview.png"])
    if what < 3 or (n, path) not in world.known:
        answer = await land.fetch(line, "a file", path)
        world.same((n, path), answer.body, path)
        world.known[n, path] = answer.headers["etag"], len(answer.body)
        return
    tag, length = world.known[n, path]
    if rng.random() < 0.5:
        answer = await land.fetch(line, "a file again", path, {"if-none-match": tag}, (304,))
        if answer.body:
            world.fault("a wrong 304", path)
        return
    first = rng.randrange(length)
    last = rng.randrange(first, length)
    part = {"range": f"bytes={first}-{last}", "if-range": tag}
    answer = await land.fetch(line, "a part of a file", path, part, (206,))
    told = answer.headers["content-range"]
    if len(answer.body) != last - first + 1 or told != f"bytes {first}-{last}/{length}":
        world.fault("a wrong part of a file", f"{path} {part}: {len(answer.body)}, {told}")
    whole = await land.fetch(line, "a file", path)
    if whole.body[first : last + 1] != answer.body:
        world.fault("a wrong part of a file", f"{path} {part}: other bytes than in the whole")


async def editor(world, line, rng):
    """The editor's files. A debug build reads them from the disk, where they may change: their tag
    says so."""
    if "pages" not in world.known:
        page = (await line.ask("the editor", "GET", "/")).body.decode()
        links = re.findall(r'(?:src|href)="([\w./-]+\.(?:js|css|svg|png))"', page)
        world.known["pages"] = ["", *sorted(set(links))]
    path = "/" + rng.choice(world.known["pages"]).removeprefix("./")
    tag = world.known.get(("editor", path))
    headers = {"if-none-match": tag} if tag and rng.random() < 0.6 else {}
    answer = await line.ask("the editor", "GET", path, b"", headers, (200, 304))
    if answer.status == 304:
        if answer.body or answer.headers["etag"] != tag:
            world.fault("a wrong 304", path)
        return
    world.known["editor", path] = answer.headers["etag"]
    world.same((path, answer.headers["etag"]), answer.body, path)


async def walker(world, line, rng):
    """Tiles of a world without an end."""
    world_ = (await line.ask("a world", "POST", "/v1/worlds", WORLD, TOML, (201,))).json()
    world.same("world", world_["digest"], "a world")
    x, y = (1 << 21) + rng.randrange(3), (1 << 21) - rng.randrange(3)
    path = f"tiles/{rng.choice(['height', 'hillshade'])}/22/{x}/{y}.png"
    answer = await line.ask("a world's tile", "GET", world_["href"] + path)
    world.same(path, answer.body, path)


async def digger(world, line, rng):
    kind, seed = rng.choice(["isaac", "rebirth", "tinykeep"]), rng.randrange(5)
    body, form = json.dumps({"kind": kind, "seed": seed}), rng.choice(["json", "svg"])
    headers = {"content-type": "application/json"}
    path = f"/v1/dungeons?format={form}"
    answer = await line.ask("a dungeon", "POST", path, body, headers)
    world.same((kind, seed, form), answer.body, f"{path} {body}")


async def looker(world, line, rng):
    """What a person's window and a monitor ask all the time."""
    path = rng.choice(
        ["/v1/jobs?most=20", "/v1/stages", "/v1/presets", "/v1/examples", "/openapi.json",
         "/v1/recipe.schema.json", "/healthz", "/readyz"]
    )
    if path == "/readyz":
        # Some monitors, at the same time.
        lines, begun = [Line(world) for _ in range(4)], time.monotonic()
        kind, allowed = "are you ready", (200, 503)
        try:
            asked = [one.ask(kind, "GET", path, allowed=allowed) for one in lines]
            answers = await asyncio.gather(*asked, return_exceptions=True)
        finally:
            [one.close() for one in lines]
        for answer in answers:
            if not isinstance(answer, Answer):
                raise Interrupted
            told = answer.json()
            reason = told["ending"] or not told["devices"] or told["queued"] >= 50
            reason = reason or not told["disk"] and world.rough(begun)
            if answer.status == 503 and not reason:
                world.fault("not ready without a reason", f"{told}")
        return
    answer = await line.ask("tables and lists", "GET", path)
    if path not in ("/v1/jobs?most=20", "/healthz"):
        world.same(path, answer.body, path)
    text = rng.choice(SMALL)
    answer = await line.ask("check a recipe", "POST", "/v1/recipes", text, TOML)
    told = answer.json()
    # What is free of the memory is no part of the recipe.
    world.same(("check", text), json.dumps(told, sort_keys=True), "a recipe")


async def damager(world, line, rng):
    """The requests of fuzz_service.py. A connection may end here."""
    method, path, headers, body = fuzz_service.request(rng, world.known["fuzz"])
    line.close()
    begun, stops = time.monotonic(), world.stops
    try:
        answer = await asyncio.wait_for(line.exchange(method, path, body, headers), HANG_S)
    except (TimeoutError, asyncio.TimeoutError):
        line.close()
        world.broken(stops, "an answer that never came", f"{method} {path} {headers} {body}")
    except (OSError, asyncio.IncompleteReadError, ValueError):
        world.counts["a damaged request", "ended"] += 1
        return line.close()
    line.close()
    world.count("a damaged request", answer.status, time.monotonic() - begun)
    allowed = fuzz_service.EXPECTED | ({403} if "origin" in headers else set())
    world.judge(method, f"{path} {headers}", answer, begun, stops, allowed)


class Slow:
    """A socket with little room, for clients that take their time."""

    def __init__(self, world):
        self.loop, self.world = asyncio.get_running_loop(), world
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        self.socket.setblocking(False)
        self.stops = world.stops

    async def __aenter__(self):
        place = ("127.0.0.1", self.world.service.port)
        await asyncio.wait_for(self.loop.sock_connect(self.socket, place), HANG_S)
        return self

    async def __aexit__(self, *_):
        self.socket.close()

    async def send(self, data):
        await asyncio.wait_for(self.loop.sock_sendall(self.socket, data), HANG_S)

    async def receive(self, most=65536, seconds=HANG_S):
        return await asyncio.wait_for(self.loop.sock_recv(self.socket, most), seconds)

    async def rest(self, kind):
        """All that comes until the service ends the connection, which it must."""
        data = []
        try:
            end = time.monotonic() + self.world.service.patience_s + HANG_S
            while piece := await self.receive(65536, max(1, end - time.monotonic())):
                data.append(piece)
                if time.monotonic() > end:
                    raise asyncio.TimeoutError
        except ConnectionError:
            pass
        except (TimeoutError, asyncio.TimeoutError):
            self.world.broken(self.stops, "a client that was not cut off", kind)
        return b"".join(data)


def request_of(method, path, body=b"", kind="application/toml"):
    return (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    ).encode() + body


def body_of(text):
    """The body of an answer without chunks; none if it is not whole."""
    head, _, body = text.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return body if length and len(body) == int(length[1]) else None


async def slow(world, line, rng):
    """One of those that send or read too slowly."""
    kind = rng.choice(
        ["head by bytes", "body by bytes", "body that stops", "reads slowly", "never reads",
         "sends nothing", "half a head and an end", "end after a request", "reset",
         "preview unread"]
    )
    patience, check = world.service.patience_s, request_of("POST", "/v1/recipes", SMALL[0].encode())
    big = await world.lands[0].get(line)
    line.close()
    outcome = "as it should be"
    try:
        async with Slow(world) as plug:
            if kind == "head by bytes":
                # The whole head has the patience, however steadily it comes.
                begun = time.monotonic()
                for byte in b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 2000:
                    await plug.send(bytes([byte]))
                    await asyncio.sleep(0.2)
                    if time.monotonic() - begun > patience + HANG_S:
                        world.fault("a client that was not cut off", kind)
                        break
            elif kind == "body by bytes":
                for at in range(0, len(check), 8):
                    await plug.send(check[at : at + 8])
                    await asyncio.sleep(0.2)
                got = body_of(await plug.rest(kind))
                if got is None:
                    world.broken(plug.stops, "a slow client without an answer", kind)
                told = json.dumps(json.loads(got), sort_keys=True)
                world.same(("check", SMALL[0]), told, "a recipe that came slowly")
            elif kind == "body that stops":
                await plug.send(check[:-20])
                got = await plug.rest(kind)
                if got and not got.startswith((b"HTTP/1.1 408", b"HTTP/1.1 400", b"HTTP/1.1 503")):
                    world.fault("an unexpected status", f"{kind}: {got[:300]}")
            elif kind == "reads slowly":
                # Some 40 kB a second, and never nothing.
                path = f"{big}height.r32"
                await plug.send(request_of("GET", path))
                data = []
                for _ in range(round(3 * patience / 0.2)):
                    data.append(await plug.receive(8192))
                    await asyncio.sleep(0.2)
                got = b"".join(data) + await plug.rest(kind)
                if got.startswith(b"HTTP/1.1 404"):
                    outcome = "evicted"
                elif (body := body_of(got)) is None:
                    what = f"{kind}, some 40 kB/s: {len(got)} bytes of {path}"
                    world.broken(plug.stops, "a slow client that was cut off", what)
                else:
                    world.same("slowly read", body, path)
            elif kind == "never reads":
                await plug.send(request_of("GET", f"{big}bundle.zip"))
                await asyncio.sleep(2 * patience + 5)
                got = await plug.rest(kind)
                if got.startswith(b"HTTP/1.1 404"):
                    outcome = "evicted"
                elif body_of(got) is not None:
                    world.fault("a client that was not cut off", f"{kind}: {len(got)} bytes")
            elif kind == "sends nothing":
                await plug.rest(kind)
            elif kind == "half a head and an end":
                await plug.send(b"GET /healthz HTT")
                plug.socket.shutdown(socket.SHUT_WR)
                await plug.rest(kind)
            elif kind == "end after a request":
                await plug.send(request_of("GET", "/healthz"))
                plug.socket.shutdown(socket.SHUT_WR)
                got = await plug.rest(kind)
                if got and body_of(got) != b"ok\n":
                    world.fault("an unexpected answer", f"{kind}: {got}")
            elif kind == "reset":
                await plug.send(request_of("GET", f"{big}height.r32"))
                await asyncio.sleep(rng.uniform(0, 0.1))
                linger = struct.pack("ii", 1, 0)
                plug.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            else:
                path = "/v1/preview?cells=512&fields=height,slope,aspect"
                await plug.send(request_of("POST", path, UNREAD.encode()))
                await asyncio.sleep(rng.uniform(1, 2 * patience))
    except (TimeoutError, asyncio.TimeoutError):
        world.broken(plug.stops, "an answer that never came", f"slow: {kind}")
    except OSError:
        # Cut off by the service, or by an incident.
        if kind in ("body by bytes", "reads slowly"):
            world.broken(plug.stops, "a slow client that was cut off", kind)
    world.counts[f"slow: {kind}", outcome] += 1


# Turns, how many of 200 clients take them, and the mean pause in seconds.
CLIENTS = [
    (tiles, 100, 1),
    (poster, 16, 10),
    (follower, 10, 25),
    (canceller, 4, 30),
    (preview, 8, 8),
    (sheet, 3, 20),
    (sender, 8, 8),
    (reader, 10, 4),
    (editor, 8, 3),
    (walker, 2, 8),
    (digger, 2, 8),
    (looker, 5, 6),
    (damager, 6, 3),
    (slow, 18, 2),
]


async def client(world, turn, pause, number):
    rng, line = random.Random(f"{world.given.seed} {number}"), Line(world)
    try:
        await asyncio.sleep(rng.uniform(0, pause))
        while True:
            await world.up.wait()
            try:
                await turn(world, line, rng)
            except (Interrupted, Refused):
                line.close()
                await asyncio.sleep(rng.uniform(0.2, 1))
            except OSError:
                # A connection that could not be had while the service is away.
                line.close()
                await asyncio.sleep(0.5)
            except Exception:
                line.close()
                world.fault("a client that failed", f"{turn.__name__}: {traceback.format_exc()}")
                await asyncio.sleep(5)
            await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
    finally:
        line.close()


# Figures.


def figures(pid):
    """Memory in MiB, threads, those of tokio's pool, sockets, other open files, and seconds of CPU
    of a process."""
    with open(f"/proc/{pid}/status") as file:
        status = dict(row.split(":", 1) for row in file.read().splitlines() if ":" in row)
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    with open(f"/proc/{pid}/stat") as file:
        ticks = file.read().rsplit(")", 1)[1].split()[11:13]
    names = []
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        try:
            names.append(pathlib.Path(path).read_text().strip())
        except OSError:
            pass
    pool = names.count("tokio-rt-worker")
    sockets = sum(link.startswith("socket:") for link in links)
    return {
        "memory": int(status["VmRSS"].split()[0]) / 1024,
        "threads": len(names) - pool,
        "pool": pool,
        "sockets": sockets,
        "files": len(links) - sockets,
        "cpu": sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
    }


async def metrics(world, line):
    text = (await line.ask("metrics", "GET", "/metrics")).body.decode()
    rows = [row for row in text.splitlines() if not row.startswith("#")]
    told = {row.rsplit(" ", 1)[0]: float(row.rsplit(" ", 1)[1]) for row in rows}
    return {
        "connections": told["thalweg_connections"],
        "queued": told["thalweg_jobs_queued"],
        "running": told["thalweg_jobs_running"],
        "stored": told["thalweg_stored_bytes"] / (1 << 20),
        "faults": sum(n for name, n in told.items() if 'status="500"' in name),
    }


async def watch(world, line):
    """Looks at the service every few seconds."""
    over, faults = 0, (None, 0)
    while True:
        await asyncio.sleep(SAMPLE_S)
        await world.up.wait()
        pid, stops = world.service.process.pid, world.stops
        try:
            sample = figures(pid) | await metrics(world, line)
        except (Interrupted, Refused, OSError, ProcessLookupError, KeyError):
            # Also a service that has ended by itself.
            code = world.service.process.poll()
            if code is not None and stops == world.stops and world.up.is_set():
                world.fault("a service that ended by itself", f"code {code}")
                await stop(world, None)
                await start(world)
            continue
        at = time.monotonic()
        world.samples.append(sample | {"at": at, "pid": pid})
        # A result is entered before others are evicted for it, so one look is none.
        over = over + 1 if sample["stored"] > DISK_MIB else 0
        if over == 3:
            world.fault("more on disk than --disk", f"{sample['stored']:.1f} MiB")
        if faults[0] == pid and sample["faults"] > faults[1]:
            world.fault("the status 500 in /metrics", f"{sample['faults']}")
        faults = (pid, sample["faults"])


# Incidents.


def in_thread(work, *given):
    return asyncio.get_running_loop().run_in_executor(None, work, *given)


def results_verify(world, most):
    """Has `thalweg verify` look at results while the service does not run."""
    folders = sorted(pathlib.Path(world.service.state, "results").glob("*/result.json"))
    chosen = random.Random(world.stops).sample(folders, min(most, len(folders)))
    for path in chosen:
        command = [world.service.program, "verify", path.parent / "files"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            world.fault("a result on disk that is not whole", done.stdout + done.stderr)
    world.notes["results that were verified on disk"] += len(chosen)


async def stop(world, number):
    """Ends the service by a signal."""
    world.stops += 1
    world.up.clear()
    return await in_thread(world.service.end, number or signal.SIGKILL)


async def start(world):
    """Starts the service, and waits until it takes jobs. Returns the seconds."""
    begun = time.monotonic()
    try:
        await asyncio.wait_for(in_thread(world.service.start), HANG_S)
    except (TimeoutError, asyncio.TimeoutError, RuntimeError) as error:
        world.fault("a service that does not start", f"{error!r}, at most {HANG_S} s")
        world.service.process.kill()
        raise Dead from None
    world.back = time.monotonic()
    world.up.set()
    line = Line(world)
    while True:
        answer = await line.ask("ready?", "GET", "/readyz", allowed=(200, 503))
        if answer.status == 200:
            break
        if time.monotonic() - begun > HANG_S:
            world.fault("a service that is never ready", f"{answer.body}")
            break
        await asyncio.sleep(0.1)
    line.close()
    return time.monotonic() - begun


async def as_it_was(world, line, rng):
    """Jobs that had ended and results that were there are as they were."""
    for number in rng.sample(list(world.jobs), min(20, len(world.jobs))):
        was = world.jobs[number]
        job = (await line.ask("ask of a job", "GET", f"/v1/jobs/{number}")).json()
        now = (job["state"], (job["result"] or {}).get("digest"))
        # Its result may have been evicted.
        if now[0] != was[0] or now[1] and was[1] and now[1] != was[1]:
            world.fault("a job that has changed after its end", f"{number}: {was}, now {now}")
    there = 0
    for land in world.lands:
        there += bool(land.href) and await world.whole(line, land.href)
    return there


async def running(world, line, rng):
    """A job that runs, and its recipe."""
    text = recipe(rng.randrange(1 << 31), 384, 1)
    begun = time.monotonic()
    job = await world.post(line, text)
    while job["state"] == "queued" and time.monotonic() - begun < 20:
        await asyncio.sleep(0.05)
        job = (await line.ask("ask of a job", "GET", f"/v1/jobs/{job['id']}")).json()
    await asyncio.sleep(rng.uniform(0, 0.7))
    return job, text


def run_alone(world, text):
    """The files of `thalweg run`."""
    with tempfile.TemporaryDirectory(dir=world.service.home) as folder:
        pathlib.Path(folder, "recipe.toml").write_text(text)
        command = [world.service.program, "run", "recipe.toml", "-o", "out", "-q"]
        subprocess.run([*command, "--device", "cpu"], cwd=folder, check=True)
        return {path.name: path.read_bytes() for path in pathlib.Path(folder, "out").iterdir()}


async def stopped(world, rng, number):
    """SIGKILL or SIGTERM, and a start on the same state."""
    line = Line(world)
    job, text = await running(world, line, rng)
    line.close()
    state = job["state"]
    code, took = await stop(world, number)
    if number == signal.SIGTERM and (code != 0 or took > STOP_S):
        world.fault("an end that is not in order", f"code {code} after {took:.1f} s")
    await in_thread(results_verify, world, 8)
    if number == signal.SIGKILL and rng.random() < 0.4:
        # Once more, while it starts.
        await in_thread(world.service.start)
        await asyncio.sleep(rng.uniform(0, 0.3))
        await stop(world, number)
    ready = await start(world)
    begun = time.monotonic()
    there = await as_it_was(world, line, rng)
    job = (await line.ask("ask of a job", "GET", f"/v1/jobs/{job['id']}")).json()
    if job["state"] not in ("queued", "running", "succeeded"):
        world.fault("a job that does not go on", f"it was {state}: {job}")
    job = await world.ended(line, job, begun)
    result = world.succeeded(job, world.begun, text)
    again = time.monotonic() - begun
    alone = await in_thread(run_alone, world, text)
    for file in result["files"]:
        got = await line.ask("a file", "GET", file["href"], allowed=(200, 404))
        if got.status == 200 and got.body != alone[file["name"]]:
            world.fault("other bytes than those of thalweg run", file["href"])
    line.close()
    what = f"ended in {took:.1f} s, ready after {ready:.1f} s, its {state} job done after "
    return f"{what}{again:.1f} s, {there} of {len(LANDS)} lands there", ready


async def killed(world, rng):
    return await stopped(world, rng, signal.SIGKILL)


async def asked_to_end(world, rng):
    return await stopped(world, rng, signal.SIGTERM)


def refused(world, state, port):
    """What a service says that must not start."""
    process = world.service.spawn(state, port, subprocess.PIPE)
    try:
        said = b"".join(process.communicate(timeout=HANG_S))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        said = b"it runs"
    world.service.gone(process)
    return process.returncode, said.decode()


async def second(world, rng):
    """A second service on the same state, and one on the same port."""
    begun = time.monotonic()
    service, line = world.service, Line(world)
    code, said = await in_thread(refused, world, service.state, 0)
    if code in (0, -9) or "another thalweg serve works in this folder" not in said:
        world.fault("a second service that is not refused", f"same state: code {code}: {said}")
    other = tempfile.mkdtemp(dir=service.home)
    code, said = await in_thread(refused, world, other, service.port)
    if code in (0, -9) or str(service.port) not in said or "in use" not in said:
        world.fault("a second service that is not refused", f"same port: code {code}: {said}")
    await world.result(line, recipe(rng.randrange(1 << 31), 64))
    there = await as_it_was(world, line, rng)
    line.close()
    return f"both refused, and the first ran a job; {there} lands there", time.monotonic() - begun


async def full(world, rng):
    """A disk without room, and with room again."""
    line, begun = Line(world), time.monotonic()
    world.is_full = True
    await in_thread(world.disk.fill, world.service.process.pid)
    seen = collections.Counter()
    end = begun + rng.uniform(8, 15)
    while time.monotonic() < end:
        for method, path, body, headers, allowed in [
            ("POST", "/v1/jobs", recipe(rng.randrange(1 << 31), 256), TOML, (202, 429, 507)),
            ("POST", "/v1/inputs?name=x.r32", upload(rng.randrange(1 << 20), 256), {}, (200, 507)),
            ("GET", "/readyz", b"", {}, (200, 503)),
            ("GET", "/healthz", b"", {}, (200,)),
        ]:
            answer = await line.ask("when full", method, path, body, headers, allowed)
            seen[answer.status] += 1
            if answer.status == 202:
                job = await world.ended(line, answer.json(), begun)
                seen[job["state"], (job["error"] or {}).get("status")] += 1
                if job["state"] == "failed" and job["error"]["status"] != 507:
                    world.fault("a job that ended otherwise than it should", json.dumps(job))
        # What is there is served.
        for land in world.lands[2:]:
            if land.href:
                await world.whole(line, land.href)
        await asyncio.sleep(0.5)
    if not seen[507] and not seen["failed", 507]:
        world.fault("a full disk that nobody was told of", f"{dict(seen)}")
    await in_thread(world.disk.free, world.service.process.pid)
    world.is_full, world.was_full = False, time.monotonic()
    begun = time.monotonic()
    while True:
        try:
            await world.result(line, recipe(rng.randrange(1 << 31), 96))
            break
        except (Refused, Interrupted):
            if time.monotonic() - begun > HANG_S:
                world.fault("a service that does not recover from a full disk", f"{dict(seen)}")
                break
            await asyncio.sleep(0.2)
    recovered = time.monotonic() - begun
    there = await as_it_was(world, line, rng)
    line.close()
    told = ", ".join(f"{key}: {n}" for key, n in seen.items())
    return f"{told}; {there} lands there", recovered


INCIDENTS = {
    "SIGKILL": killed,
    "SIGTERM": asked_to_end,
    "a second service": second,
    "a full disk": full,
}


async def incidents(world, rng, seconds):
    """A phase of incidents: all kinds as often, one after the other, with pauses by chance."""
    rounds = max(1, round(seconds / 30 / len(INCIDENTS)))
    names = [name for name in INCIDENTS for _ in range(rounds)]
    rng.shuffle(names)
    end = time.monotonic() + seconds
    for n, name in enumerate(names):
        left = max(0, end - time.monotonic()) / (len(names) - n)
        await asyncio.sleep(rng.uniform(0.1, 0.9) * left)
        world.say(name)
        try:
            text, recovery = await INCIDENTS[name](world, rng)
            world.incidents.append((name, recovery))
            world.say(f"    {text}")
        except (Interrupted, Refused) as error:
            # The fault has been noted, or the disk was full a moment ago.
            world.incidents.append((name, None))
            world.say(f"    not followed to its end ({type(error).__name__})")
        finally:
            if world.is_full:
                await in_thread(world.disk.free, world.service.process.pid)
                world.is_full, world.was_full = False, time.monotonic()


class Disk:
    """A disk that can be filled: a file system of its own, or a limit of the size of files."""

    def __init__(self, way, home, state):
        self.way, self.home, self.mounted = way, home, None
        self.state = state or f"{home}/disk/state"
        if way == "limit":
            os.makedirs(self.state, exist_ok=True)
            return
        place = f"{home}/disk"
        os.makedirs(place)
        size = FILE_SYSTEM_MIB << 20
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
        if way == "ext4":
            with open(f"{home}/image", "wb") as image:
                image.truncate(size)
            subprocess.run(["mkfs.ext4", "-q", f"{home}/image"], check=True)
            command = ["mount", "-o", "loop", f"{home}/image", place]
        subprocess.run(command, check=True, capture_output=True)
        self.mounted = place

    def fill(self, pid):
        if self.mounted:
            with open(f"{self.mounted}/filler", "wb", buffering=0) as file:
                for size in (1 << 20, 4096):
                    try:
                        while True:
                            file.write(b"\1" * size)
                    except OSError:
                        pass
        else:
            _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, most))

    def free(self, pid):
        if self.mounted:
            pathlib.Path(self.mounted, "filler").unlink(missing_ok=True)
        else:
            _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))

    def close(self):
        if self.mounted and subprocess.run(["umount", self.mounted], check=False).returncode:
            subprocess.run(["umount", "-l", self.mounted], check=False)


# The whole.


async def prepare(world):
    """What clients need to know, and a look at the clock."""
    line = Line(world)
    for land in world.lands:
        await land.get(line)
    world.rest = figures(world.service.process.pid)
    told = (await line.ask("ask of a job", "GET", "/v1/jobs?most=1")).json()["jobs"][0]
    away = abs(told["ended_at"] - world.service.clock())
    if away > 10 * world.service.scale:
        raise SystemExit(f"the service's clock is off by {away:.0f} s: libfaketime does not work")
    headers = {"content-type": "application/json"}
    body = json.dumps(fuzz_service.GOOD)
    job = await line.ask("post a job", "POST", "/v1/jobs", body, headers, (200, 202))
    job = await world.ended(line, job.json(), time.monotonic())
    href = job["result"]["href"]
    file = (await line.ask("a file", "GET", f"{href}height.tif")).body
    toml = await line.ask(
        "check a recipe", "POST", "/v1/recipes", body, headers | {"accept": "application/toml"}
    )
    sent = (await line.ask("send a file", "POST", "/v1/inputs?name=h.tif", file)).json()
    world.known["fuzz"] = {
        "toml": toml.body,
        "file": file,
        "upload": sent["digest"],
        "paths": [
            *[href, f"{href}manifest.json", f"{href}bundle.zip", f"{href}fields/flow.png"],
            *[f"{href}tiles/height/0/0/0.png", f"{href}tiles/height/tilejson.json"],
            *["/v1/jobs", f"/v1/jobs/{job['id']}", f"/v1/jobs/{job['id']}/events"],
            *[f"/v1/jobs/{job['id']}/levels/1/height.r32", "/v1/stages", "/v1/presets"],
            *[f"/v1/inputs/{sent['digest']}/height.r32", "/openapi.json", "/healthz", "/metrics"],
            *["/", f"{href}timelapse/0.png"],
        ],
    }
    line.close()


def third(samples, which):
    """The samples of a stretch's first or last third, after it has settled."""
    settled = samples[len(samples) // 5 :]
    count = len(settled) // 3
    return settled[:count] if which == 0 else settled[-count:]


def trend(world):
    """Compares the first and the last third of each quiet stretch, and the stretches' last."""
    rows, ends = [], []
    for number, (begun, end) in enumerate(world.stretches, 1):
        inside = [s for s in world.samples if begun <= s["at"] <= end]
        if len(inside) < 12 or len({s["pid"] for s in inside}) != 1:
            world.fault("a stretch that says nothing", f"stretch {number}: {len(inside)} samples")
            continue
        first, last = third(inside, 0), third(inside, 1)
        ends.append(last)
        pairs = [(f"stretch {number}", first, last)]
        if len(ends) == 2:
            pairs.append(("both ends", *ends))
        for name, before, after in pairs:
            for what, share, more in [
                ("memory", world.given.growth, 4),
                ("threads", 0.1, 4),
                ("pool", 0.1, 4),
                ("sockets", 0.1, 10),
                ("files", 0.1, 4),
            ]:
                a, b = (statistics.median(s[what] for s in part) for part in (before, after))
                grown = b > a * (1 + share) + more
                if what == "pool" and world.service.scale != 1:
                    # Its threads do not end under libfaketime: there are as many as there ever was
                    # work for, and at most one for each client.
                    grown = b > world.given.clients + 16
                rows.append((name, what, a, b, max(s[what] for s in after), grown))
                if grown:
                    world.fault(f"{what}: more in the end", f"{name}: from {a:.1f} to {b:.1f}")
    return rows


async def settle(world):
    """After the last client all must be given back."""
    line, begun = Line(world), time.monotonic()
    while True:
        told = await metrics(world, line)
        now = figures(world.service.process.pid)
        # As before the first client, when there was one connection, too.
        at_rest = told["connections"] <= 1 and now["sockets"] <= world.rest["sockets"]
        at_rest = at_rest and now["files"] <= world.rest["files"] + 4
        if at_rest and not told["queued"] and not told["running"]:
            break
        waited = time.monotonic() - begun
        if waited > JOB_HANG_S or waited > HANG_S + world.service.patience_s and not (
            told["queued"] or told["running"]
        ):
            world.fault("what is not given back in the end", f"{told} {now}")
            break
        await asyncio.sleep(1)
    seconds = time.monotonic() - begun
    jobs = (await line.ask("tables and lists", "GET", "/v1/jobs?most=1000")).json()["jobs"]
    there = await as_it_was(world, line, random.Random(0))
    line.close()
    live = {job["id"] for job in jobs if job["state"] in LIVE}
    state = pathlib.Path(world.service.state)
    left = [path for path in (state / "work").iterdir() if path.stem not in live]
    left += [p for p in (state / "results").iterdir() if not (p / "result.json").exists()]
    left += list((state / "uploads").glob(".part*"))
    if left:
        names = ", ".join(str(path.relative_to(state)) for path in left[:8])
        world.fault("what is left over in the state", f"{len(left)}: {names}")
    # What a killed process was writing inside a result is weighed, and goes with the result.
    inside = [p for p in (state / "results").glob("*/*") if p.name.startswith("bundle.zip.")]
    inside += list((state / "results").glob("*/pyramids/new-*"))
    world.notes["pieces that killed services left within results"] = len(inside)
    size = sum(path.stat().st_size for path in state.rglob("*") if path.is_file())
    world.notes["bytes of the state in the end"] = size
    world.notes["bytes of its index"] = (state / "index.sqlite").stat().st_size
    return seconds, told, now, there


def log_lines(world):
    """Kinds of lines of the log, and what must not be there."""
    text = pathlib.Path(world.service.home, "log").read_text(errors="replace")
    kinds = collections.Counter()
    for row in text.splitlines():
        if "panicked" in row or " fault" in row:
            world.fault("a line of the log", row)
        plain = re.sub(r"[0-9a-f]{8,}|\d+", "N", re.sub(r"^\S+\s+", "", row))
        kinds[re.sub(r'"[^"]*"', '"…"', plain)[:90]] += 1
    return kinds


def report(world, rows, rest, log, hours):
    scale = world.service.scale
    print(f"\n{world.given.clients} clients, {hours:.2f} h, a clock x{scale:g}: ", end="")
    print(f"{hours * scale:.1f} h of the service's time\n")
    print("| requests | statuses | median ms | p99 ms | longest ms |\n|---|---|---|---|---|")
    for kind in sorted({kind for kind, _ in world.counts}):
        all_ = sorted(world.times.get(kind, []))
        told = {status: n for (name, status), n in world.counts.items() if name == kind}
        told = ", ".join(f"{status}: {n}" for status, n in sorted(told.items(), key=str))
        at = [all_[int((len(all_) - 1) * share)] for share in (0.5, 0.99, 1) if all_]
        print(f"| {kind} | {told} | {' | '.join(f'{ms:.1f}' for ms in at) or ' | | '} |")
    print("\n| incident | times | followed to the end | recovery s, median | longest |")
    print("|---|---|---|---|---|")
    for name in INCIDENTS:
        all_ = [took for kind, took in world.incidents if kind == name]
        done = [took for took in all_ if took is not None]
        middle = f"{statistics.median(done):.1f} | {max(done):.1f}" if done else " | "
        print(f"| {name} | {len(all_)} | {len(done)} | {middle} |")
    print("\n| quiet stretch | figure | first third | last third | most there | |")
    print("|---|---|---|---|---|---|")
    for name, what, a, b, most, grown in rows:
        print(f"| {name} | {what} | {a:.1f} | {b:.1f} | {most:.1f} | {'GROWS' if grown else ''} |")
    samples = world.samples
    for a, b in world.stretches:
        inside = [s for s in samples if a <= s["at"] <= b]
        if len(inside) > 1:
            cpu = inside[-1]["cpu"] - inside[0]["cpu"]
            cpu /= inside[-1]["at"] - inside[0]["at"]
            print(f"the service took {cpu:.2f} cores over {(b - a) / 60:.1f} quiet minutes")
    if rest:
        seconds, told, now, there = rest
        print(f"\n{seconds:.0f} s after the last client: {now['sockets']} sockets, ", end="")
        print(f"{now['files']} other open files, {now['threads']} threads ", end="")
        print(f"and {now['pool']} of the pool, ", end="")
        print(f"{now['memory']:.0f} MiB; ", end="")
        print(f"{told['stored']:.1f} MiB stored of {DISK_MIB}; {there} lands there")
    for what, n in world.notes.items():
        print(f"{what}: {n}")
    print("\nthe log:")
    for what, n in log.most_common(12):
        print(f"{n:6} {what}")
    print()
    for kind, n in world.faults.most_common():
        print(f"WRONG {n} times: {kind}")
        for text in world.said[kind][:3]:
            print(f"    {text}")
    if not world.faults:
        print("all held")


async def soak(given, service, disk):
    world = World(given, service, disk)
    rng = random.Random(given.seed)
    await start(world)
    await prepare(world)
    world.say(f"prepared; the state is in {service.state}")
    total = sum(share for _, share, _ in CLIENTS)
    kinds = []
    for turn, share, pause in CLIENTS:
        kinds += [(turn, pause)] * max(1, round(share * given.clients / total))
    tasks = [
        asyncio.create_task(client(world, turn, pause, n)) for n, (turn, pause) in enumerate(kinds)
    ]
    watched = Line(world)
    watcher = asyncio.create_task(watch(world, watched))
    whole, begun = given.hours * 3600, time.monotonic()
    rows, rest = [], None
    try:
        # Incidents, quiet, incidents, quiet.
        for stir, calm in [(0.19, 0.31), (0.17, 0.33)]:
            await incidents(world, rng, stir * whole)
            world.say("quiet")
            world.stretches.append((time.monotonic(), time.monotonic() + calm * whole))
            await asyncio.sleep(calm * whole)
    except Dead:
        world.say("the service does not start any more")
    hours = (time.monotonic() - begun) / 3600
    left = {*tasks, watcher}
    while left:
        # More than once: before Python 3.12 `wait_for` can lose what comes as its wait is over.
        [task.cancel() for task in left]
        _, left = await asyncio.wait(left, timeout=5)
    ended = await asyncio.gather(*tasks, watcher, return_exceptions=True)
    watched.close()
    for error in ended:
        if not isinstance(error, asyncio.CancelledError):
            world.fault("a client that failed", repr(error))
    if world.up.is_set():
        rows = trend(world)
        world.say("the clients are gone")
        rest = await settle(world)
        code, took = await stop(world, signal.SIGTERM)
        if code != 0 or took > STOP_S:
            world.fault("an end that is not in order", f"code {code} after {took:.1f} s")
    await in_thread(results_verify, world, 10_000)
    service.logger.stdin.close()
    service.logger.wait()
    report(world, rows, rest, log_lines(world), hours)
    return 1 if world.faults else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("thalweg")
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--scale", type=float, default=24)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--growth", type=float, default=0.15, help="share that memory may grow by")
    parser.add_argument("--full", choices=["tmpfs", "ext4", "limit"], default="tmpfs")
    parser.add_argument("--state", help="an empty folder; without it a file system of its own")
    given = parser.parse_args()
    found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    if given.scale != 1 and not found:
        print("libfaketime is missing: apt-get install faketime, or give --scale 1")
        return 2
    if given.state and os.path.isdir(given.state) and os.listdir(given.state):
        print(f"--state {given.state}: the folder must be empty")
        return 2
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files[1], files[1]))
    home = tempfile.mkdtemp(prefix="thalweg-soak-")
    try:
        disk = Disk("limit" if given.state else given.full, home, given.state)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"no file system can be mounted ({error}): a limit of the size of files instead")
        disk = Disk("limit", home, None)
    preload = found[0] if given.scale != 1 else None
    program = os.path.abspath(given.thalweg)
    service = Service(program, os.path.abspath(disk.state), home, given.scale, preload)
    try:
        code = asyncio.run(soak(given, service, disk))
    finally:
        if service.process and service.process.poll() is None:
            service.process.kill()
            service.process.wait()
            service.gone(service.process)
        service.logger.kill()
        service.logger.wait()
        disk.close()
    if code == 0:
        shutil.rmtree(home)
    else:
        print(f"the log is {home}/log")
    return code


if __name__ == "__main__":
    sys.exit(main())

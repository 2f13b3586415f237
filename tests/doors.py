#!/usr/bin/env python3
"""Five doors, one digest: the same recipes through the library, the command, Python, C and the
service, on the CPU and on a graphics adapter if there is one.

cargo build --release --bins --examples && cargo build --release -p thalweg-c
python3 tests/doors.py target/release
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import thalweg

SIDE = 64
# Levels, layers and rivers; a coast; particles of every kind; biomes; lakes and rivers.
RECIPES = ["mountains", "canyon", "coast", "boulders", "snowballs", "desert", "biomes", "valley"]
# The adapter's words are held against the CPU's elsewhere, for every recipe: here each door has
# one.
ON_ADAPTER = ["mountains", "snowballs", "biomes"]
SHORT = {"boulders": {"droplets.rain": 0.25}, "desert": {"wind.rain": 4}}

built = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(tempfile.mkdtemp())


def said(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def of_manifest(text):
    return {entry["name"]: entry["words_blake3"] for entry in json.loads(text)["maps"]}


def by_library(path, device):
    return dict(
        line.split() for line in said(built / "examples" / "digests", path, device).splitlines()
    )


def by_command(path, device):
    out = root / f"{path.stem}-{device}"
    said(built / "thalweg", "run", path, "-o", out, "--device", device, "-q", "--force")
    return of_manifest((out / "manifest.json").read_text())


def by_python(path, device):
    land = thalweg.run(path, device=device)
    return {name: land.digest(name) for name in land}


class Library:
    """The C interface, of which every handle is a pointer and every call gives a status."""

    def __init__(self):
        # `cargo build` leaves it beside the command, and `cargo test` among what it depends on.
        names = ["libthalweg_c.so", "libthalweg_c.dylib"]
        places = [place / name for place in [built, built / "deps"] for name in names]
        self.c = ctypes.CDLL(str(next(path for path in places if path.exists())))
        self.c.thalweg_land_map_name.restype = ctypes.c_char_p
        self.c.thalweg_land_map_name.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def call(self, name, *words):
        assert getattr(self.c, name)(*words) == 0, name

    def digests(self, path, device):
        recipe, job, land = (ctypes.c_void_p() for _ in range(3))
        text = path.read_text().encode()
        self.call("thalweg_recipe_parse", text, str(path.parent).encode(), ctypes.byref(recipe))
        self.call("thalweg_job_new", recipe, None, device.encode(), 0, ctypes.byref(job))
        self.call("thalweg_job_run", job, None, None, ctypes.byref(land))
        found, name = {}, self.c.thalweg_land_map_name(land, 0)
        while name:
            digest = ctypes.create_string_buffer(65)
            self.call("thalweg_land_digest", land, name, digest, ctypes.c_size_t(65))
            found[name.decode()] = digest.value.decode()
            name = self.c.thalweg_land_map_name(land, len(found))
        self.c.thalweg_land_free(land)
        self.c.thalweg_job_free(job)
        self.c.thalweg_recipe_free(recipe)
        return found


class Service:
    """A service on a free port with a store of its own."""

    def __init__(self, device):
        store = root / f"store-{device}"
        words = [built / "thalweg", "serve", "--port", "0", "--state", store, "--device", device]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http://\S+", self.process.stdout.readline())[0].rstrip("/")

    def get(self, href):
        with urllib.request.urlopen(self.address + href) as answer:
            return answer.read().decode()

    def digests(self, path, _device):
        kind = {"Content-Type": "application/toml"}
        request = urllib.request.Request(f"{self.address}/v1/jobs", path.read_bytes(), kind)
        with urllib.request.urlopen(request) as answer:
            job = json.load(answer)
        while job["state"] in {"queued", "running"}:
            time.sleep(0.02)
            job = json.loads(self.get(f"/v1/jobs/{job['id']}"))
        assert job["state"] == "succeeded", job
        [manifest] = [f for f in job["result"]["files"] if f["name"] == "manifest.json"]
        return of_manifest(self.get(manifest["href"]))

    def end(self):
        self.process.terminate()
        self.process.wait()


def recipe(name):
    """An example of a small size, as a file that all doors read."""
    path = root / f"{name}.toml"
    path.write_text(thalweg.Recipe(name).changed(SHORT.get(name), size=SIDE).to_toml())
    return path


listed = json.loads(said(built / "thalweg", "devices", "--json"))["adapters"]
devices = ["cpu", *(["gpu"] if listed else [])]
if not listed:
    print("LEFT OUT: there is no graphics adapter here")
for device in devices:
    service = Service(device)
    doors = {
        "library": by_library,
        "command": by_command,
        "Python": by_python,
        "C": Library().digests,
        "service": service.digests,
    }
    try:
        for name in RECIPES if device == "cpu" else ON_ADAPTER:
            path = recipe(name)
            expected = by_command(path, "cpu")
            assert "height" in expected, expected
            for door, digests in doors.items():
                # A land may have maps that only its picture needs: files are of those asked for.
                found = digests(path, device)
                found = {map: found.get(map) for map in expected}
                assert found == expected, f"{name} on {device} by {door}: {found}, not {expected}"
            print(f"{name} on {device}: {len(expected)} maps, one digest by {len(doors)} doors")
    finally:
        service.end()

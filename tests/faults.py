#!/usr/bin/env python3
"""Hurts runs of the command and looks at what they leave.

    python3 tests/faults.py target/release/thalweg [runs that are killed]

A run is killed at a random time, again and again, over a folder that has an earlier run; then runs
by tiles, over a store. Then every write, sync, rename, opening and removal of a run fails once
(strace puts the errors in), first in an empty folder and then over an earlier run. Whatever
happens, the folder has either no manifest or one that `thalweg verify` finds true, a later run
leaves nothing half-written behind, and no run panics. The seed of the random times is fixed. Needs
Linux and strace.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

RECIPE = """
schema = 2
seed = {seed}
width = 256
height = 256
spacing_m = 10
levels = "auto"
[[stage]]
kind = "diamond_square"
[[stage]]
kind = "droplets"
lifetime = 24
[output]
maps = {maps}
format = "tif"
"""
# The second recipe has fewer maps, so a run with --force has files of the first to remove.
MAPS = ['["height", "flow", "erosion"]', '["height"]']
FILES = [
    {"height.tif", "flow.tif", "erosion.tif", "preview.png", "manifest.json"},
    {"height.tif", "preview.png", "manifest.json"},
]


def killed_tiles(program, env, draw, kills):
    """Tiles that are killed again and again, with a store, end with the bytes of those that are
    not."""
    tiles = [program, "tiles", "0.toml", "--device", "cpu", "--tile-size", "64", "-q", "--force"]
    began = time.time()
    subprocess.run([*tiles, "-o", "whole.tif"], env=env, check=True)
    whole = time.time() - began
    with open("whole.tif", "rb") as file:
        expected = file.read()
    rounds = 0
    for n in range(kills):
        child = subprocess.Popen([*tiles, "-o", "land.tif", "--store", "store"], env=env)
        time.sleep(draw.uniform(0, 0.4 * whole))
        child.send_signal(signal.SIGKILL)
        ended = child.wait() == 0
        if os.path.exists("store/thalweg-store"):
            done = subprocess.run(
                [program, "store", "verify", "store"], env=env, capture_output=True, text=True
            )
            assert done.returncode == 0, f"kill {n}: {done.stdout}{done.stderr}"
        if os.path.exists("land.tif"):
            with open("land.tif", "rb") as file:
                assert file.read() == expected, f"kill {n}: another land"
        if ended:
            rounds += 1
            shutil.rmtree("store")
            os.remove("land.tif")
    subprocess.run([*tiles, "-o", "land.tif", "--store", "store"], env=env, check=True)
    with open("land.tif", "rb") as file:
        assert file.read() == expected, "another land at the end"
    print(
        f"{kills} runs by tiles killed: {rounds} stores were filled, every tile whole, the same bytes"
    )


def main():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    home = tempfile.mkdtemp(prefix="thalweg-faults-")
    os.chdir(home)
    env = {"PATH": os.environ["PATH"], "HOME": home}
    for i, maps in enumerate(MAPS):
        with open(f"{i}.toml", "w") as recipe:
            recipe.write(RECIPE.format(seed=i + 1, maps=maps))

    def command(i, *before):
        return [
            *before,
            program,
            "run",
            f"{i}.toml",
            "-o",
            "out",
            "--device",
            "cpu",
            "--force",
            "-q",
        ]

    def verifies():
        done = subprocess.run([program, "verify", "out"], env=env, capture_output=True, text=True)
        assert "panicked" not in done.stderr, done.stderr
        return done.returncode == 0, done.stdout + done.stderr

    def whole_or_none(what):
        if os.path.exists("out/manifest.json"):
            right, said = verifies()
            assert right, f"{what}: {said}"

    def complete(i, what, foreign=False):
        subprocess.run(command(i), env=env, check=True)
        right, said = verifies()
        assert right, f"{what}: {said}"
        # A killed run of the other recipe may have left whole files that this one does not know.
        other = FILES[1 - i] if foreign else set()
        left = {
            name
            for name in os.listdir("out")
            if name not in other and name[1:-7] not in other - FILES[i]
        }
        assert left == FILES[i] - other, f"{what}: {sorted(os.listdir('out'))}"

    began = time.time()
    complete(0, "at first")
    whole = time.time() - began
    draw = random.Random(1)
    ended, without = 0, 0
    for n in range(kills):
        child = subprocess.Popen(command(n % 2), env=env)
        time.sleep(draw.uniform(0, 1.2 * whole))
        child.send_signal(signal.SIGKILL)
        ended += child.wait() == 0
        whole_or_none(f"kill {n}")
        without += not os.path.exists("out/manifest.json")
        if n % 20 == 19:
            complete(n // 20 % 2, f"after kill {n}", foreign=True)
    print(f"{kills} runs killed: {ended} had ended, {without} left no manifest, none a wrong one")

    killed_tiles(program, env, draw, kills)
    faults = 0
    for earlier in [False, True]:
        for call, error in [
            ("write,pwrite64,writev", "ENOSPC"),
            ("fsync,fdatasync", "EIO"),
            ("rename,renameat,renameat2", "EXDEV"),
            ("openat", "EMFILE"),
            ("unlink,unlinkat", "EACCES"),
            ("mkdir,mkdirat", "EACCES"),
            ("flock,fcntl", "ENOLCK"),
        ]:
            for n in range(1, 400):
                shutil.rmtree("out", ignore_errors=True)
                if earlier:
                    complete(0, "an earlier run")
                inject = f"inject={call}:error={error}:when={n}"
                done = subprocess.run(
                    command(
                        1,
                        "strace",
                        "-f",
                        "-qq",
                        "-o",
                        "trace",
                        "-e",
                        f"trace={call}",
                        "-e",
                        inject,
                        "--",
                    ),
                    env=env,
                    capture_output=True,
                    text=True,
                )
                with open("trace") as trace:
                    hit = "(INJECTED)" in trace.read()
                if not hit:
                    break
                what = f"{call} {error} at {n}, earlier run {earlier}: code {done.returncode}, {done.stderr.strip()}"
                # Before main, the system ends a program its own way.
                early = call == "openat"
                assert "panicked" not in done.stderr, what
                assert early or done.returncode in (0, 1, 2), what
                whole_or_none(what)
                if done.returncode == 0:
                    right, said = verifies()
                    assert right, f"{what}: {said}"
                else:
                    assert early or done.stderr or call.startswith("write"), what
                    left = [
                        name
                        for name in (os.listdir("out") if os.path.exists("out") else [])
                        if name not in FILES[0]
                    ]
                    assert not left or call.startswith("unlink"), f"{what}: left {left}"
                    if not earlier and os.path.exists("out"):
                        # What is whole may stay, but no folder that is empty.
                        assert os.listdir("out") or call.startswith("unlink"), what
                faults += 1
            print(
                f"{call}: {error} at each of {n - 1} calls, {'over an earlier run' if earlier else 'in an empty folder'}"
            )
            complete(1, "afterwards")
    print(f"{faults} faults: no panic, nothing half-written")
    os.chdir("/")
    shutil.rmtree(home)


if __name__ == "__main__":
    main()

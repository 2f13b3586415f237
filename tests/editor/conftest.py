"""A service and a browser for the tests of the editor."""

import base64
import contextlib
import io
import json
import os
import pathlib
import subprocess
import time
import urllib.parse
import zlib

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import sync_playwright

# A software driver: the same everywhere. Newer browsers give no WebGL by it unless they are told
# to.
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
# No test measures time: what is waited for comes within seconds, and late on a machine that does
# much else.
PATIENCE_S = int(os.environ.get("PATIENCE_S", "300"))
# A small land, so that a run takes seconds on a slow machine.
SMALL = {
    "schema": 2,
    "name": "small",
    "seed": 3,
    "width": 257,
    "height": 257,
    "spacing_m": 20,
    "levels": "auto",
    "stage": [
        {
            "kind": "diamond_square",
            "world_cells": 256,
            "edge": "constant",
            "edge_height": 0,
            "gain": 0.55,
            "normalise": True,
            "square": True,
            "base_m": -200,
            "relief_m": 1200,
        },
        {"kind": "droplets", "lifetime": {"from": 96, "to": 32}, "rain": {"from": 1, "to": 0.5}},
    ],
    "output": {
        "maps": ["height", "flow", "erosion", "deposition"],
        "format": "tif",
        "sea_level_m": 0,
    },
}


def pytest_addoption(parser):
    parser.addoption("--thalweg", default="target/release/thalweg", help="the command to test")
    parser.addoption("--pictures", default=None, help="a folder for pictures")


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "story: a person's whole way through the editor, and what must not go wrong on it: .ci/run has these",
    )


@pytest.fixture(scope="session")
def thalweg(request):
    path = pathlib.Path(request.config.getoption("--thalweg")).resolve()
    assert path.is_file(), f"{path}: build it first, or say where it is with --thalweg"
    return path


class Served:
    """A service that works in a folder. A second one there goes on where the first one was."""

    def __init__(self, thalweg, state, *options, port=0):
        command = [
            thalweg,
            "serve",
            "--port",
            str(port),
            "--state",
            state,
            "--device",
            "cpu",
            "--json",
            *options,
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line, f"the service did not start: {command}"
        self.url = json.loads(line)["url"]

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def kill(self):
        """As a power cut would."""
        self.process.kill()
        self.process.wait(PATIENCE_S)


@pytest.fixture(scope="session")
def service(thalweg, tmp_path_factory):
    """The address of a service that runs as long as the tests do."""
    served = Served(thalweg, tmp_path_factory.mktemp("state"))
    yield served.url
    served.end()


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as found:
        yield found


def launch(playwright, flags=FLAGS):
    path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    return playwright.chromium.launch(executable_path=path, args=flags)


@pytest.fixture(scope="session")
def browser(playwright):
    found = launch(playwright)
    yield found
    found.close()


def link(recipe):
    """What stands behind `#land=` in a link to a land."""
    deflate = zlib.compressobj(wbits=-15)
    land = {"recipe": recipe, "name": recipe["name"], "look": {}}
    packed = deflate.compress(json.dumps(land).encode()) + deflate.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


class Editor:
    """A page with the editor, and what people do with it."""

    def __init__(self, page, service):
        self.page, self.service = page, service
        self.faults = []
        page.on("pageerror", lambda e: self.faults.append(str(e)))
        page.on("console", lambda m: self.faults.append(m.text) if m.type == "error" else None)

    def state(self):
        return self.page.evaluate("thalweg.state()")

    def until(self, what, holds, seconds=PATIENCE_S):
        """Waits until something holds of the state."""
        end = time.time() + seconds
        while time.time() < end:
            state = self.state()
            if holds(state):
                return state
            self.page.wait_for_timeout(50)
        raise AssertionError(
            f"not within {seconds} s: {what}; the console: {self.faults}; the state: {json.dumps(self.state())[:800]}"
        )

    def settled(self):
        return self.until(
            "the preview is done", lambda s: s["done"] and not s["busy"] and s["live"]
        )

    def drop(self, recipe):
        """Drops a recipe on the page, as from the desktop."""
        self.page.evaluate(DROP, json.dumps(recipe))
        self.until("the recipe is open", lambda s: s["recipe"].get("name") == recipe["name"])
        return self.settled()

    def simulate(self):
        self.page.click("#simulate")
        self.until("progress", lambda s: s["job"] in ("queued", "running", "succeeded"))
        return self.until("the run is done and shown", lambda s: s["result"] and s["mode"] == "run")

    def scrub(self, place):
        """Moves the slider of time: 0 is the block-out, 1 the finest level."""
        self.page.evaluate(
            "(t) => { const w = document.getElementById('when'); w.value = t; w.dispatchEvent(new Event('input')); }",
            place,
        )
        return self.heights()

    def floats(self, expression):
        """A Float32Array of the page. (As a list of numbers it would take seconds.)"""
        return np.frombuffer(
            base64.b64decode(self.page.evaluate(f"({AS_BASE64})({expression})")), np.float32
        )

    def heights(self):
        return self.floats("thalweg.heights()")

    def before(self):
        """The heights on the left of the line between before and after."""
        return self.floats("thalweg.before()")

    def wait(self, expression, seconds=PATIENCE_S):
        """Waits until an expression is true. (Playwright's own waiting evaluates text in the page,
        which its policy forbids.)"""
        end = time.time() + seconds
        while not self.page.evaluate(f"!!({expression})"):
            assert time.time() < end, (
                f"not within {seconds} s: {expression}; the console: {self.faults}"
            )
            self.page.wait_for_timeout(50)

    def copied(self, holds):
        """What the clipboard has, once something holds of it."""
        end = time.time() + PATIENCE_S
        while not holds(text := self.page.evaluate("navigator.clipboard.readText()")):
            assert time.time() < end, f"the clipboard has {text[:200]!r}"
            self.page.wait_for_timeout(50)
        return text

    def kept(self, holds):
        """Waits until something holds of the lands that the browser keeps."""
        end = time.time() + PATIENCE_S
        while not holds(kept := self.page.evaluate(KEPT)):
            assert time.time() < end, f"not kept: {json.dumps(kept)[:800]}"
            self.page.wait_for_timeout(50)
        return kept

    def colours(self):
        """The picture of the window, as numbers: always of one size, and when all is drawn."""
        # Nothing is answered: playwright would take a second to copy the view.
        self.page.evaluate("void Object.assign(thalweg.view ?? {}, { pinned: true })")
        self.wait("!thalweg.view?.wake && !document.querySelector('.toast')")
        return np.asarray(
            Image.open(io.BytesIO(self.page.screenshot(scale="css"))).convert("RGB")
        ).astype(int)

    def at(self, x, y):
        """A place on the land, 0 to 1 each way, in pixels of the window."""
        return self.page.evaluate(f"thalweg.view.project({x}, {y})")

    def draw(self, *places, keys=(), steps=6):
        """Drags over places on the land with the left button, when the view has come to rest."""
        self.wait("!thalweg.view.wake")
        for key in keys:
            self.page.keyboard.down(key)
        self.page.mouse.move(*self.at(*places[0]))
        self.page.mouse.down()
        for place in places[1:]:
            self.page.mouse.move(*self.at(*place), steps=steps)
        self.page.mouse.up()
        for key in keys:
            self.page.keyboard.up(key)


@contextlib.contextmanager
def editors(browser, service):
    """Opens editors in one fresh profile: what one keeps, the next one finds. `at` is the address
    of another service."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 720},
        device_scale_factor=0.5,
        accept_downloads=True,
        color_scheme="dark",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_S * 1000)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    # Nobody is led round but by the test of it.
    context.add_init_script("localStorage.setItem('thalweg-tour', 'seen')")
    opened = []

    def open_page(recipe=SMALL, path="", at=service):
        page = context.new_page()
        editor = Editor(page, at)
        opened.append(editor)
        # By a link, so that no other land is made first.
        page.goto(at + path + (f"#land={link(recipe)}" if recipe is not None and not path else ""))
        if recipe is not None and not path:
            editor.until("it is open", lambda s: s["recipe"].get("name") == recipe["name"])
            editor.settled()
        return editor

    open_page.context = context
    yield open_page
    for editor in opened:
        assert not editor.faults, editor.faults
    context.close()


@pytest.fixture
def window(browser, service):
    with editors(browser, service) as open_page:
        yield open_page


# The recipes and runs of the projects that the browser keeps.
KEPT = """new Promise((done, failed) => {
  const opened = indexedDB.open('thalweg', 1);
  opened.onerror = failed;
  opened.onsuccess = () => {
    const all = opened.result.transaction('projects').objectStore('projects').getAll();
    all.onerror = failed;
    all.onsuccess = () => { opened.result.close(); done(all.result.map((p) => ({ recipe: p.history.entries[p.history.at].recipe, job: p.job }))); };
  };
})"""
# The bytes of an array.
AS_BASE64 = """(array) => {
  let text = '';
  for (const byte of new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
    text += String.fromCharCode(byte);
  return btoa(text);
}"""
# Drops a recipe on the page, as from the desktop.
DROP = """(text) => {
  const data = new DataTransfer();
  data.items.add(new File([text], 'small.json', { type: 'application/json' }));
  for (const kind of ['dragenter', 'dragover', 'drop']) document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def keep(request):
    """Keeps a picture where `--pictures` says."""
    folder = request.config.getoption("--pictures")

    def shot(editor, name):
        """A picture of the window, which must show something."""
        colours = editor.colours()
        assert len(np.unique(colours // 8 @ [1024, 32, 1])) > 100, f"{name}: the window is blank"
        if folder:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            editor.page.screenshot(path=f"{folder}/{name}.png")

    return shot

"""Pages that load the module, and Node."""

import functools
import http.server
import json
import os
import pathlib
import subprocess
import threading

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
NPM = ROOT / "crates/web/npm"
# WebGPU by a software driver. Newer browsers give none unless they are told to.
FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu"]


def pytest_addoption(parser):
    parser.addoption("--thalweg", default="target/release/thalweg", help="the command to test by")


@pytest.fixture(scope="session")
def thalweg(request):
    path = pathlib.Path(request.config.getoption("--thalweg")).resolve()
    assert path.is_file(), f"{path}: build it first, or say where it is with --thalweg"
    return path


def digests(file):
    """The digests of a file of tests, by what stands before them in their lines."""
    lines = (ROOT / "tests" / file).read_text().splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


class Host(http.server.SimpleHTTPRequestHandler):
    """A file host. Under /isolated it sends what makes a page isolated from other sites."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.isolated = self.path.startswith("/isolated/")
        self.path = self.path.removeprefix("/isolated")
        if self.path == "/":
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>thalweg</title>")
        else:
            super().do_GET()

    def end_headers(self):
        if self.isolated:
            self.send_header("cross-origin-opener-policy", "same-origin")
            self.send_header("cross-origin-embedder-policy", "require-corp")
        super().end_headers()


@pytest.fixture(scope="session")
def host():
    for name in [f"thalweg{kind}.wasm" for kind in ["", "-files", "-threads", "-files-threads"]]:
        assert (NPM / name).is_file(), f"{NPM / name}: build it with crates/web/build"
    handler = functools.partial(Host, directory=NPM)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM")
        opened = []

        def launch(*flags):
            found = playwright.chromium.launch(
                executable_path=executable, args=[*FLAGS, *flags]
            )
            opened.append(found)
            return found

        yield launch
        for browser in opened:
            browser.close()


class Page:
    """Evaluates JavaScript in a page, with the package as `t` and a value as `given`."""

    def __init__(self, browser, url):
        self.page = browser.new_page()
        self.page.set_default_timeout(300_000)
        self.page.goto(url)
        self.base = url

    def run(self, script, given=None):
        wrapped = f"""async ([base, given]) => {{
            const t = await import(base + 'index.js');
            {script}
        }}"""
        return self.page.evaluate(wrapped, [self.base, given])


class Node:
    """The same in Node."""

    def run(self, script, given=None):
        wrapped = f"""
            import * as t from {json.dumps((NPM / "index.js").as_uri())};
            const given = {json.dumps(given)};
            const made = await (async () => {{ {script} }})();
            console.log(JSON.stringify(made ?? null));
        """
        done = subprocess.run(
            ["node", "--input-type=module", "--eval", wrapped],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="session", params=["page", "isolated page", "Node"])
def place(request, host, chromium):
    """Where the module runs: on one thread, and on several twice."""
    if request.param == "Node":
        return Node()
    folder = "isolated/" if "isolated" in request.param else ""
    return Page(chromium(), f"{host}/{folder}")


@pytest.fixture(scope="session")
def page(host, chromium):
    return Page(chromium(), f"{host}/")

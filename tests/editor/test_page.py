"""The editor in a page of its own, which needs no service: the folder that `web/build` makes, on a
plain file host."""

import contextlib
import functools
import http.server
import io
import os
import pathlib
import subprocess
import threading

import numpy as np
import pytest

from conftest import FLAGS, SMALL, editors, launch
from test_story import heights_taken, the_same_by_the_command

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.story


class Quiet(http.server.SimpleHTTPRequestHandler):
    """What `python3 -m http.server` is, without its log."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def open_editors(playwright, url, flags=FLAGS):
    browser = launch(playwright, flags)
    with editors(browser, url) as opens:
        yield opens
    browser.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("page") / "editor"
    subprocess.run(
        [ROOT / "web/build", made], env={**os.environ, "MODULE": "built"}, check=True, cwd=ROOT
    )
    return made


@pytest.fixture
def host(folder):
    """The address of a host of the folder, which can be ended."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/"
    yield server
    server.shutdown()
    server.server_close()


def without_promise_integration(context):
    """As a browser that cannot suspend a module."""

    def cut(route):
        text = route.fetch().text()
        route.fulfill(
            body="delete WebAssembly.Suspending;" + text, content_type="text/javascript"
        )

    context.route("**/thalweg/worker.js", cut)


@pytest.mark.parametrize(
    ("kind", "side"), [("plain", 257), ("webgpu", 129), ("no promise integration", 257)]
)
def test_the_story_without_a_service(playwright, host, thalweg, tmp_path, kind, side):
    """Draw, water follows, simulate, before and after, download, the command's bytes."""
    gpu = ["--enable-unsafe-webgpu"] if kind == "webgpu" else []
    with open_editors(playwright, host.url, [*FLAGS, *gpu]) as opens:
        if kind == "no promise integration":
            without_promise_integration(opens.context)
        recipe = {**SMALL, "width": side, "height": side}
        editor = opens(recipe)
        page = editor.page
        assert not page.evaluate("crossOriginIsolated")
        ground = {"kind": "flat", "height_m": 20}
        flat = {**recipe, "name": "flat", "stage": [ground, SMALL["stage"][1]]}
        editor.drop(flat)
        assert np.ptp(editor.heights()) < 1
        page.keyboard.press("1")
        page.fill("#brush-amount", "150")
        editor.draw((0.3, 0.5), (0.6, 0.4), steps=3)
        page.keyboard.press("v")
        state = editor.settled()
        assert np.ptp(editor.heights()) > 20 and len(state["live"]) > 2
        if kind == "webgpu":
            # Unasked a software driver is not taken.
            page.click("#tab-view")
            page.select_option("#device", "webgpu")
        state = editor.simulate()
        assert state["run"][-1] == [0, side, side]
        assert state["checked"] > 1 and state["equal"] == state["checked"]
        done = editor.heights()
        page.keyboard.press("b")
        assert np.abs(editor.before() - editor.scrub(1)).max() > 1
        page.keyboard.press("b")
        made = heights_taken(editor)
        assert np.array_equal(made.ravel(), done), "the file has other heights than the view"
        the_same_by_the_command(editor, thalweg, tmp_path, made)
        result = state["result"]
        device = "WebGPU" if kind == "webgpu" else "CPU"
        assert result["device"].startswith(device), result["device"]

        # It is there again when the page is opened again, without its host.
        editor.kept(lambda all: any(one["recipe"] == state["recipe"] and one["job"] for one in all))
        editor.wait("navigator.serviceWorker.controller")
        if kind == "no promise integration":
            return
        host.shutdown()
        host.server_close()
        page.reload()
        editor.settled()
        again = editor.until("the run is here again", lambda s: s["result"] and s["mode"] == "run")
        assert np.array_equal(editor.heights(), done)
        # Now it is isolated, so the module has threads.
        assert page.evaluate("crossOriginIsolated")
        assert again["result"]["digest"] == result["digest"]
        with page.expect_download() as got:
            page.click("#tab-take")
            page.click("a[download$='.zip']")
        assert os.path.getsize(got.value.path()) > done.nbytes


def test_the_first_land_comes_before_the_module_with_files(playwright, host):
    """The module without is half as large. A run goes on after its tab was hidden."""
    held = []
    with open_editors(playwright, host.url) as opens:
        opens.context.route("**/thalweg-files.wasm", lambda route: held.append(route))
        editor = opens()
        page = editor.page
        assert len(editor.state()["live"]) > 2
        page.click("#simulate")
        editor.until("it waits for the module", lambda s: s["job"] and held)
        for route in held:
            route.continue_()
        opens.context.unroute("**/thalweg-files.wasm")
        # As a browser does with a tab that was hidden for long.
        protocol = opens.context.new_cdp_session(page)
        protocol.send("Page.setWebLifecycleState", {"state": "frozen"})
        other = opens.context.new_page()
        other.wait_for_timeout(3000)
        other.close()
        protocol.send("Page.setWebLifecycleState", {"state": "active"})
        state = editor.until("it is shown", lambda s: s["result"] and s["mode"] == "run")
        assert state["checked"] > 1 and state["equal"] == state["checked"]


def test_a_file_that_is_dropped_on_a_page(playwright, host, thalweg, tmp_path):
    """It is simulated, leaves with its land as an archive from which the command makes the same
    bytes, and is there when the page is opened again."""
    y, x = np.mgrid[0:70, 0:90]
    buffer = io.BytesIO()
    np.save(buffer, (200 + 100 * np.sin(x / 9) * np.cos(y / 13)).astype("<f4"))
    with open_editors(playwright, host.url, FLAGS) as opens:
        editor = opens(SMALL)
        page = editor.page
        page.evaluate(
            """([bytes, name]) => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], name));
                const kind = { dataTransfer: data, bubbles: true, cancelable: true };
                document.body.dispatchEvent(new DragEvent('drop', kind));
            }""",
            [list(buffer.getvalue()), "hill top.npy"],
        )
        editor.until("the file is open", lambda s: "input" in s["recipe"])
        editor.settled()
        editor.simulate()
        made = heights_taken(editor)
        with page.expect_download() as got:
            page.click("#save-toml")
        got.value.save_as(tmp_path / "land.zip")
        command = f"python3 -m zipfile -e land.zip land && {thalweg} run land/recipe.toml -q -o out"
        command += f" && {thalweg} convert out/height.tif height.npy -q"
        subprocess.run(["bash", "-ec", command], cwd=tmp_path, check=True)
        again = np.load(tmp_path / "height.npy").astype("<f4")
        assert np.array_equal(again, made.astype("<f4")), "the command makes other heights"
        recipe = editor.state()["recipe"]
        editor.kept(lambda all: any(one["recipe"] == recipe for one in all))
        page.reload()
        editor.until("the land is here again", lambda s: s["recipe"] == recipe)
        editor.settled()


def test_what_a_page_refuses_has_the_words_of_a_service(playwright, host, service):
    """The recipes that the service refuses, refused in the page with the same words."""
    wrong = [
        {**SMALL, "widht": 3},
        {**SMALL, "stage": [{"kind": "drops"}]},
        {**SMALL, "stage": [{"kind": "droplets", "rain": -1}]},
        {**SMALL, "width": 10**9},
        {**SMALL, "output": {"maps": ["hight"]}},
        {**SMALL, "width": 40000, "height": 40000, "levels": 3},
        {**SMALL, "stage": [{**SMALL["stage"][1], "lifetime": [1, 2, 3, 4, 5, 6, 7, "x"]}]},
    ]
    ask = """async ([url, recipe, path]) => {
        const { send } = await import(url);
        const response = await send(path, { method: 'POST', body: JSON.stringify(recipe),
            headers: { 'content-type': 'application/json', accept: 'application/json' } });
        return response.ok ? null : response.json();
    }"""
    with open_editors(playwright, host.url, FLAGS) as opens, open_editors(
        playwright, service, FLAGS
    ) as others:
        pages = [opens(SMALL), others(SMALL)]
        here, there = (editor.page for editor in pages)
        for path in ["v1/recipes", "v1/preview?cells=64", "v1/preview?cells=7&fields=height",
                     "v1/preview?cells=64&fields=hight", "v1/sheet?count=99"]:  # fmt: skip
            for recipe in wrong:
                told = [
                    page.evaluate(ask, [f"{url}js/back.js", recipe, path])
                    for page, url in [(here, host.url), (there, service)]
                ]
                assert told[0] == told[1], (path, recipe)
                assert told[0] is not None or path == "v1/recipes", (path, recipe)
        # A run that is too large is refused before it is made.
        large = {**SMALL, "width": 30000, "height": 30000}
        told = here.evaluate(ask, [f"{host.url}js/back.js", large, "v1/preview?cells=64"])
        assert told is None or told["status"] == 413
        # A run that is cancelled ends at once, also before its worker has begun, and says so.
        for wait_ms in [0, 300]:
            told = here.evaluate(
                """async ([url, recipe, wait]) => {
                    const { send } = await import(url + 'js/back.js');
                    const body = JSON.stringify(recipe);
                    const { id } = await (await send('v1/jobs', { method: 'POST', body })).json();
                    const lines = send(`v1/jobs/${id}/events`).then((answer) => answer.text());
                    await new Promise((done) => setTimeout(done, wait));
                    const job = await (await send(`v1/jobs/${id}`, { method: 'DELETE' })).json();
                    const found = (await lines).matchAll(/event: (\\w+)/g);
                    const kinds = [...found].map(([, kind]) => kind);
                    await new Promise((done) => setTimeout(done, 300));
                    const later = await (await send(`v1/jobs/${id}`)).json();
                    const ends = kinds.filter((kind) => kind === 'end').length;
                    return [job.state, later.state, kinds.at(-1), ends];
                }""",
                [host.url, {**SMALL, "width": 1025, "height": 1025}, wait_ms],
            )
            assert told == ["cancelled", "cancelled", "end", 1], told
        # Of the runs that are kept the six last stay, with their levels and maps and nothing else.
        names = here.evaluate(
            """async ([url, recipe]) => {
                const { send } = await import(url + 'js/back.js');
                for (let seed = 1; seed <= 8; seed++) {
                    const body = JSON.stringify({ ...recipe, seed });
                    const { id } = await (await send('v1/jobs', { method: 'POST', body })).json();
                    await (await send(`v1/jobs/${id}/events`)).text();
                }
                const root = await navigator.storage.getDirectory();
                const runs = await root.getDirectoryHandle('runs');
                return Array.fromAsync(runs.keys());
            }""",
            [host.url, {**SMALL, "width": 65, "height": 65}],
        )
        ids = sorted(name[:-5] for name in names if name.endswith(".json"))
        assert len(ids) == 6, names
        assert len({name.split("-")[0] for name in names if len(name) > 64}) == 6, names
        assert all(len(name) > 64 or name[:13] in ids for name in names), names
        # The service's refusals are what the console tells of, and nothing else.
        there_faults = pages[1].faults
        assert all("status of 4" in fault for fault in there_faults), there_faults
        there_faults.clear()

"""Lands that are made in pages and in Node: their bytes, what is refused, and what is cancelled."""

import functools
import http.server
import json
import re
import subprocess
import threading
import tomllib

import numpy as np
import pytest
from conftest import ROOT, Host, Page, digests

EXAMPLES = digests("examples.txt")
# Small and quick on a software driver, and of all kinds: levels, biomes, rivers, snow, slides.
QUICK = ["mountains", "island", "biomes", "snowballs", "game-small", "volcano"]

RUN = """
    const land = await t.run(given.recipe, { name: given.name, ...given.options });
    const { digest, device, width, height, instead } = land;
    land.close();
    return { digest, device, width, height, instead };
"""
FAILS = """
    try {
        await t.run(given.recipe, given.options ?? {});
    } catch (error) {
        return { ...error, message: error.message };
    }
    return null;
"""


def example(name):
    return (ROOT / f"examples/{name}.toml").read_text()


def run(place, recipe, name="land", **options):
    return place.run(RUN, {"recipe": recipe, "name": name, "options": options})


def refused(place, recipe, **options):
    return place.run(FAILS, {"recipe": recipe, "options": options})


def test_all_examples(place):
    """Every example has the digest of the command, on one thread and on several."""
    threads = set()
    for name, digest in EXAMPLES.items():
        made = run(place, example(name), name, size=128, device="cpu")
        assert made["digest"] == digest, name
        threads.add(made["device"])
    cores = place.run("return globalThis.navigator?.hardwareConcurrency ?? null")
    if isinstance(place, Page) and "isolated" not in place.base:
        assert threads == {"CPU, 1 thread"}
    elif cores and cores > 1:
        assert threads == {f"CPU, {cores} threads"}


def test_all_fixed_cases(place):
    known = [" ".join(item) for item in digests("vectors.txt").items()]
    assert place.run("return t.cases()") == known


def test_webgpu_has_the_same_words(page):
    for name in QUICK:
        made = run(page, example(name), name, size=128, device="webgpu")
        assert made["digest"] == EXAMPLES[name], name
        assert made["device"].startswith("WebGPU"), made


def test_fixed_cases_on_webgpu(page):
    known = [" ".join(item) for item in digests("vectors.txt").items()]
    assert page.run("return t.cases({ device: 'webgpu' })") == known


def test_a_device_is_compared(page):
    report = page.run("return t.compare(given, { size: 65 })", example("island"))
    assert report["equal"] and len(report["maps"]) > 1
    assert report["devices"][0].startswith("CPU") and report["devices"][1].startswith("WebGPU")


def test_a_software_driver_is_not_taken_unasked(page):
    made = run(page, example("island"), size=65)
    assert made["device"].startswith("CPU") and "software driver" in made["instead"]


def changed(page, file, change):
    """A page with another text of a file of the package."""
    text = change((ROOT / "crates/web/npm" / file).read_text())
    # A worker of an isolated page has to be isolated, too.
    headers = {"content-type": "text/javascript", "cross-origin-embedder-policy": "require-corp"}
    page.page.route(f"**/{file}", lambda route: route.fulfill(body=text, headers=headers))
    return page


def without_suspension(chromium, url):
    """A browser that cannot suspend the module, which looks for it when its worker begins."""
    cut = "delete WebAssembly.Suspending;"
    return changed(Page(chromium(), url), "worker.js", lambda text: cut + text)


def test_without_promise_integration(host, chromium):
    """The module runs on the processor then, and says so."""
    old = without_suspension(chromium, f"{host}/")
    made = run(old, example("island"), "island", size=128)
    assert made["digest"] == EXAMPLES["island"] and made["device"].startswith("CPU")
    assert "JavaScript Promise Integration" in made["instead"]
    error = refused(old, example("island"), device="webgpu")
    assert error["code"] == "device" and "Promise Integration" in error["message"]


def test_without_promise_integration_on_an_isolated_page(host, chromium):
    """There the device has a worker of its own, which the module waits for."""
    old = without_suspension(chromium, f"{host}/isolated/")
    for name in ["island", "mountains"]:
        made = run(old, example(name), name, size=128, device="webgpu")
        assert made["digest"] == EXAMPLES[name], name
        assert made["device"].startswith("WebGPU"), made
    known = [" ".join(item) for item in digests("vectors.txt").items()]
    assert old.run("return t.cases({ device: 'webgpu' })") == known


@pytest.mark.parametrize("can_suspend", [True, False])
@pytest.mark.parametrize(
    ("what", "does", "says"),
    [
        ("lost", "this.device.destroy()", "lost"),
        ("wrong", "this.device.createBuffer({ size: 4, usage: 0 })", "usage"),
        ("full", "throw new Error('no memory for buffers of 9 MiB: make it smaller')", "9 mib"),
    ],
)
def test_a_device_that_fails_on_the_way(host, chromium, what, does, says, can_suspend):
    """The processor takes over where nobody named the device, with the same words; and the next
    land has a new device."""
    url = f"{host}/isolated/"
    old = Page(chromium(), url) if can_suspend else without_suspension(chromium, url)

    def change(text):
        count = f"if ((globalThis.ran = (globalThis.ran ?? 0) + 1) === 3) {{ {does}; await 0; }}"
        changed = text.replace("  async run(from, to) {", "  async run(from, to) {" + count)
        assert changed != text
        # A driver that is taken unasked.
        return re.sub(r"this.isSoftware = .*", "this.isSoftware = false;", changed)

    page = changed(old, "gpu.js", change)
    made = run(page, example("mountains"), "mountains", size=128)
    assert made["digest"] == EXAMPLES["mountains"], what
    assert made["device"].startswith("CPU") and says in made["instead"].lower(), made
    # The worker and its counter stay.
    made = run(page, example("island"), "island", size=128)
    assert made["digest"] == EXAMPLES["island"] and made["device"].startswith("WebGPU"), made


@pytest.mark.parametrize("can_suspend", [True, False])
def test_a_named_device_that_fails_is_an_error(host, chromium, can_suspend):
    url = f"{host}/isolated/"
    page = Page(chromium(), url) if can_suspend else without_suspension(chromium, url)
    lose = "async run(from, to) { this.device.destroy();"
    page = changed(page, "gpu.js", lambda text: text.replace("async run(from, to) {", lose))
    error = refused(page, example("mountains"), size=128, device="webgpu")
    assert error["code"] == "device" and "lost" in error["message"], error


def test_no_adapter(host, chromium):
    bare = Page(chromium("--disable-gpu", "--disable-software-rasterizer"), f"{host}/")
    none = "Object.defineProperty(navigator, 'gpu', { value: undefined });"
    changed(bare, "gpu.js", lambda text: none + text)
    assert "no WebGPU" in run(bare, example("island"), size=65)["instead"]
    assert refused(bare, example("island"), device="webgpu")["code"] == "device"


def test_bad_recipes_have_the_words_of_the_command(place, thalweg, tmp_path):
    good = example("island")
    bad = {
        "nothing": "",
        "no schema": "width = 3",
        "a wrong word": good.replace("seed", "sead", 1),
        "a wrong value": good.replace("width = 1025", "width = -3"),
        "not TOML": "schema = [",
        "not JSON": '{"schema": 2,',
        "an input": 'schema = 2\ninput = "nowhere.tif"\n[[stage]]\nkind = "droplets"\n',
    }
    for what, text in bad.items():
        file = tmp_path / "land.toml"
        file.write_text(text)
        if text.startswith("{"):
            file = file.rename(tmp_path / "land.json")
        done = subprocess.run(
            [thalweg, "run", file, "-o", "x", "--dry-run", "--json"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 1, (what, done.stdout)
        known = json.loads(done.stderr.splitlines()[-1])["error"]
        error = refused(place, text)
        if what == "an input":
            # A page has no files but those that it is given.
            assert error["code"] == known["code"], error
            assert "nowhere.tif" in error["message"] and "give its bytes" in error["message"]
            continue
        assert error["code"] == known["code"], what
        assert error["message"] in known["message"], (what, error, known)
        assert error.get("pointer") == known.get("pointer"), what


def test_a_land_that_does_not_fit_is_refused_before_it_is_made(place):
    error = refused(place, example("island"), size=20001, device="cpu")
    assert error["code"] == "limit" and "MiB" in error["message"], error
    # And the next land is made.
    assert run(place, example("island"), "island", size=128)["digest"] == EXAMPLES["island"]


def test_heights_of_ones_own(place, thalweg, tmp_path):
    y, x = np.mgrid[0:65, 0:80]
    heights = (100 + 30 * np.sin(x / 9) + 20 * np.cos(y / 7)).astype("f4")
    np.save(tmp_path / "hills.npy", heights)
    stages = 'schema = 2\n[[stage]]\nkind = "droplets"\nrain = 0.5\n'
    (tmp_path / "r.toml").write_text(
        stages.replace("[[", 'input = "hills.npy"\nspacing_m = 5\n[[', 1)
    )
    subprocess.run(
        [thalweg, "run", "r.toml", "-o", "out", "--device", "cpu", "-q"], cwd=tmp_path, check=True
    )
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    script = """
        const values = Float32Array.from(given.heights);
        const heights = { width: 80, height: 65, spacing_m: 5, values };
        const land = await t.run(given.recipe, { heights });
        const map = await land.map('height');
        const first = [...map.values.slice(0, 3)];
        const told = [land.digest, map.width, map.height, map.spacing_m, first];
        land.close();
        return told;
    """
    given = {"recipe": stages, "heights": heights.ravel().tolist()}
    digest, width, height, spacing_m, first = place.run(script, given)
    maps = {one["name"]: one for one in manifest["maps"]}
    assert digest == maps["height"]["words_blake3"]
    assert [width, height, spacing_m] == [80, 65, 5]
    assert np.isfinite(first).all()
    # The recipe itself, with the file that it names.
    script = """
        const files = { 'hills.npy': Uint8Array.from(given.bytes) };
        const land = await t.run(given.recipe, { files });
        const told = land.digest;
        land.close();
        return told;
    """
    given = {
        "recipe": (tmp_path / "r.toml").read_text(),
        "bytes": list((tmp_path / "hills.npy").read_bytes()),
    }
    assert place.run(script, given) == digest
    given["bytes"] = given["bytes"][:1000]
    with pytest.raises(Exception, match="damaged|cut off"):
        place.run(script, given)


def test_windows_of_a_world(place, thalweg, tmp_path):
    """A window of an endless world has the bytes of the command's part."""
    recipe = example("world")
    part = ["--part", "700", "-300", "64", "48", "--level", "1"]
    subprocess.run(
        [thalweg, "run", ROOT / "examples/world.toml", *part, "-o", "out", "--device", "cpu", "-q"],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    maps = json.loads((tmp_path / "out/manifest.json").read_text())["maps"]
    known = next(one["words_blake3"] for one in maps if one["name"] == "height")
    script = """
        const land = await t.window(given, { x: 700, y: -300, width: 64, height: 48, level: 1 });
        return land.digest;
    """
    assert place.run(script, recipe) == known


def test_levels_progress_and_changes(place):
    """Levels come from the coarsest on; seed, size, extent and relief are as for the command."""
    script = """
        const levels = [], at = [];
        const land = await t.run(given, {
            size: 257, seed: 18446744073709551615n, set: ['incision.creep=0.1'],
            extent_m: 2560, relief: 0.5,
            onLevel: ({ level, width, values }) => levels.push([level, width, values.length]),
            onProgress: ({ stage, done, passes }) => at.push([stage, done / passes]),
        });
        const told = [String(land.seed), land.spacing_m, levels, at.length];
        land.close();
        return told;
    """
    seed, spacing_m, levels, told = place.run(script, example("island"))
    assert seed == "18446744073709551615" and spacing_m == 10
    assert [level for level, *_ in levels] == [2, 1, 0] and told > 3
    assert all(count == width * width for _, width, count in levels)
    assert levels[-1][1] == 257


def test_a_run_is_cancelled(place):
    """A signal ends a run at once, and the next one works."""
    script = """
        const stop = new AbortController();
        const begun = performance.now();
        let why = null;
        try {
            await t.run(given, { size: 1025, device: 'cpu', signal: stop.signal,
                onProgress: () => stop.abort() });
        } catch (error) {
            why = error.name;
        }
        const land = await t.run(given, { size: 128, name: 'island' });
        return [why, land.digest];
    """
    assert place.run(script, example("island")) == ["AbortError", EXAMPLES["island"]]


@pytest.mark.parametrize("wait_ms", [0, 5, 50])
def test_a_run_that_is_cancelled_while_the_module_is_compiled(host, chromium, wait_ms):
    """The run beside it compiles the module then."""
    fresh = Page(chromium(), f"{host}/")
    script = """
        const stop = new AbortController();
        const first = t.run(given.recipe, { name: 'island', size: 128, signal: stop.signal });
        setTimeout(() => stop.abort(), given.wait);
        const second = t.run(given.recipe, { name: 'island', size: 128 });
        const [a, b] = await Promise.allSettled([first, second]);
        const third = await t.run(given.recipe, { name: 'island', size: 128 });
        return [a.reason?.name, b.value?.digest ?? String(b.reason), third.digest];
    """
    told = fresh.run(script, {"recipe": example("island"), "wait": wait_ms})
    assert told == ["AbortError", EXAMPLES["island"], EXAMPLES["island"]]


def test_a_module_that_is_missing(host, chromium):
    """Each run says so, and does not wait for ever."""
    bare = Page(chromium(), f"{host}/")
    bare.page.route("**/*.wasm", lambda route: route.fulfill(status=404))
    for _ in range(2):
        with pytest.raises(Exception, match="404"):
            run(bare, example("island"), size=65)
    bare.page.unroute("**/*.wasm")
    assert run(bare, example("island"), "island", size=128)["digest"] == EXAMPLES["island"]


def test_lands_side_by_side(place):
    """Several runs at once, and maps of lands that were made before others."""
    script = """
        const lands = await Promise.all([1, 2, 3].map((seed) => t.run(given, { size: 65, seed })));
        const digests = await Promise.all(lands.map((land) => land.digestOf('height')));
        lands.forEach((land) => land.close());
        const again = await t.run(given, { size: 65, seed: 2 });
        let closed = null;
        try { await lands[0].map('height'); } catch (error) { closed = error.message; }
        return [digests, again.digest, closed, lands.map((land) => land.digest)];
    """
    digests_of, again, closed, own = place.run(script, example("island"))
    assert len(set(digests_of)) == 3 and digests_of == own
    assert again == digests_of[1] and closed == "the land was closed"


def test_the_catalogue(place):
    told = place.run("return t.catalogue()")
    assert {one["name"] for one in told["examples"]} == set(EXAMPLES)
    assert "default" in told["presets"]
    described = place.run("return t.check(given)", example("island"))
    assert described["width"] == tomllib.loads(example("island"))["width"]


@pytest.mark.parametrize("device", ["gpu", "CPU", 3])
def test_unknown_devices(page, device):
    error = refused(page, example("island"), device=device)
    assert error["code"] == "param" and "allowed auto, cpu, webgpu" in error["message"]


def example_page(chromium, file, library, stand_in):
    """A page of the package's examples, with a stand-in for the library that it loads."""
    handler = functools.partial(Host, directory=ROOT / "crates/web")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = chromium().new_page()
    faults = []
    page.on("pageerror", lambda e: faults.append(str(e)))
    page.route(
        f"https://**/{library}**",
        lambda route: route.fulfill(
            body=stand_in if "js" in route.request.url.rsplit(".", 1)[-1] else "",
            content_type="text/javascript" if "js" in route.request.url[-3:] else "text/css",
            headers={"access-control-allow-origin": "*"},
        ),
    )
    page.goto(f"http://127.0.0.1:{server.server_port}/examples/{file}")
    return page, faults


def by_the_command(thalweg, tmp_path, x, y, width, height):
    """Heights of a window of the endless world."""
    recipe = ROOT / "examples/world.toml"
    part = [str(number) for number in (x, y, width, height)]
    command = [thalweg, "run", recipe, "--part", *part, "-o", "window", "--device", "cpu", "-q"]
    subprocess.run([*command, "--set", "output.format=npy"], cwd=tmp_path, check=True)
    return np.load(tmp_path / "window/height.npy")


def test_the_example_for_maplibre(chromium, thalweg, tmp_path):
    """Its tiles have the heights that the command makes there, to the 256th of a metre."""
    stand_in = """
        export const addProtocol = (name, tile) => (globalThis.tile = tile);
        export class Map { constructor(options) { this.options = options; } }
    """
    page, faults = example_page(chromium, "maplibre.html", "maplibre-gl", stand_in)
    page.wait_for_function("!!globalThis.map && !!globalThis.tile")
    assert page.evaluate("map.options.style.sources.terrain.tiles") == ["thalweg://{x}/{y}"]
    levels = page.evaluate("""async () => {
        const { data } = await tile({ url: 'thalweg://418/172' }, new AbortController());
        const picture = await createImageBitmap(new Blob([data], { type: 'image/png' }));
        const context = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
        context.drawImage(picture, 0, 0);
        return [picture.width, ...context.getImageData(0, 0, picture.width, picture.height).data];
    }""")
    width, *bytes_ = levels
    red, green, blue, _ = np.array(bytes_, float).reshape(-1, width, 4).transpose(2, 0, 1)
    metres = red * 256 + green + blue / 256 - 32768
    known = by_the_command(thalweg, tmp_path, 418 * 256, 172 * 256, 256, 256)
    assert np.abs(np.floor(known * 256) / 256 - metres).max() == 0
    assert not faults


def test_the_example_for_three(chromium, thalweg, tmp_path):
    """Its first chunk has the heights that the command makes there."""
    stand_in = """
        class Part {
            position = { x: 0, y: 0, z: 0, set(x, y, z) { Object.assign(this, { x, y, z }); } };
            rotation = {};
            updateProjectionMatrix() {}
        }
        export class WebGLRenderer {
            domElement = document.createElement('canvas');
            setSize() {}
            render() {}
            setAnimationLoop(each) { setInterval(() => each(performance.now()), 50); }
        }
        export class Color {}
        export { Color as Fog, Color as MeshLambertMaterial };
        export { Part as HemisphereLight, Part as DirectionalLight, Part as PerspectiveCamera };
        export class BufferAttribute { constructor(array) { this.array = array; } }
        export class BufferGeometry {
            parts = {};
            setAttribute(name, part) { this.parts[name] = part; }
            setIndex() {}
            computeVertexNormals() {}
            dispose() {}
        }
        export class Mesh extends Part {
            constructor(geometry) { super(); this.geometry = geometry; }
        }
        globalThis.meshes = [];
        export class Scene {
            add(part) { if (part.geometry) meshes.push(part); }
            remove() {}
        }
    """
    page, faults = example_page(chromium, "endless.html", "three", stand_in)
    page.wait_for_function("globalThis.meshes?.length > 0", timeout=120_000)
    places = page.evaluate("Array.from(meshes[0].geometry.parts.position.array)")
    heights = np.array(places, "f4").reshape(257, 257, 3)[:, :, 1]
    # The nearest one lies before the camera, to the north.
    known = by_the_command(thalweg, tmp_path, 106900, 44200 - 256, 257, 257)
    assert np.array_equal(heights, known)
    assert not faults

"""A person's way through the editor."""

import io
import json
import pathlib
import subprocess
import zipfile

import numpy as np
import pytest
from PIL import Image

from conftest import SMALL


def test_the_first_screen_shows_land(window, keep):
    editor = window(recipe=None)
    state = editor.settled()
    assert [width for _, width, _ in state["live"]][-1] >= 257, state["live"]
    picture = editor.colours()
    middle = picture[150:600, 100:900].reshape(-1, 3)
    assert len(np.unique(middle // 8, axis=0)) > 300, "the land has few colours: is it drawn?"
    # The sea is bluer than red, the land is not.
    assert (middle[:, 2] > middle[:, 0] + 30).mean() > 0.2 and (
        middle[:, 0] > middle[:, 2]
    ).mean() > 0.05
    keep(editor, "first")


def test_the_brush_acts_at_once_and_water_follows(window):
    editor = window()
    before = editor.heights()
    editor.page.keyboard.press("1")
    x, y = editor.at(0.5, 0.5)
    editor.page.mouse.move(x, y)
    editor.page.mouse.down()
    editor.page.mouse.move(x + 30, y, steps=3)
    # The button is still down: what the brush did, and then levels of the land with the stroke that
    # is being drawn.
    at_once = editor.heights()
    assert (at_once - before).max() > 20, "nothing rose under the brush"
    editor.until("a coarse level comes while drawing", lambda s: len(s["live"]) > 1)
    editor.page.mouse.move(x + 60, y + 10, steps=3)
    editor.page.mouse.up()
    state = editor.settled()
    strokes = state["recipe"]["stage"][1]
    assert strokes["kind"] == "strokes" and strokes["stroke"][0]["tool"] == "raise", strokes
    # What the service makes of the stroke is what the brush showed, worn by water.
    rise = editor.heights() - before
    assert rise.max() > 20 and np.abs(rise).mean() < 40


def test_keys_invert_and_smooth(window):
    editor = window()
    editor.page.keyboard.press("1")
    editor.draw((0.45, 0.5), (0.55, 0.5), keys=["Control"])
    editor.draw((0.45, 0.4), (0.55, 0.4), keys=["Shift"])
    editor.page.keyboard.press("3")
    editor.draw((0.4, 0.6), (0.5, 0.6))
    editor.page.keyboard.press("5")
    editor.draw((0.3, 0.5), (0.5, 0.45))
    editor.page.keyboard.press("7")
    editor.draw((0.5, 0.5), (0.6, 0.5))
    state = editor.settled()
    drawn = state["recipe"]["stage"][1]["stroke"]
    assert [s["tool"] for s in drawn] == ["lower", "smooth", "flatten", "ramp", "raise"]
    assert drawn[4]["layer"] == "hardness" and len(drawn[3]["height_m"]) == 2
    size = drawn[0]["radius_m"]
    editor.page.keyboard.press("1")
    editor.page.keyboard.press("]")
    editor.draw((0.5, 0.5), (0.52, 0.5))
    assert editor.settled()["recipe"]["stage"][1]["stroke"][5]["radius_m"] > size


def test_the_keyboard_draws(window):
    editor = window()
    editor.page.keyboard.press("2")
    editor.page.focus("canvas")
    editor.page.keyboard.press("ArrowRight")
    editor.page.keyboard.press("Enter")
    state = editor.settled()
    assert state["recipe"]["stage"][1]["stroke"][0]["tool"] == "lower"


def test_a_stamp_is_a_picture_from_the_disk(window, tmp_path):
    editor = window()
    before = editor.heights()
    y, x = np.mgrid[0:48, 0:64]
    Image.fromarray(((np.hypot(x - 32, y - 24) * 1500) % 65536).astype(np.uint16)).save(
        tmp_path / "rings.png"
    )
    editor.page.keyboard.press("0")
    # Without a picture there is nothing to stamp, and it says so.
    editor.draw((0.5, 0.5))
    assert len(editor.state()["recipe"]["stage"]) == len(SMALL["stage"])
    editor.page.set_input_files("#brush-picture", tmp_path / "rings.png")
    editor.wait("document.querySelector('#brush button').textContent.includes('rings.png')")
    for _ in range(6):
        editor.page.keyboard.press("]")
    editor.draw((0.3, 0.4), (0.5, 0.5))
    editor.draw((0.6, 0.35), keys=["Control"])
    drawn = editor.settled()["recipe"]["stage"][1]["stroke"]
    assert [(s["tool"], len(s["at_m"]), s["amount_m"] > 0) for s in drawn] == [
        ("stamp", 1, True),
        ("stamp", 1, False),
    ]
    assert len(drawn[0]["file"]["upload"]) == 64 and (editor.heights() - before).max() > 20
    # What the brush showed is what the service makes of it.
    assert editor.page.evaluate(BLOCK_OUT_IS_OFF_BY) < 1
    # The picture is there again after a reload.
    editor.page.reload()
    editor.settled()
    assert editor.page.evaluate(BLOCK_OUT_IS_OFF_BY) < 1


# By how many metres the block-out in the page is off from the one that the service makes.
BLOCK_OUT_IS_OFF_BY = """async () => {
  const [api, E, R, L] = await Promise.all(['api', 'editor', 'recipe', 'land'].map((name) => import(`./js/${name}.js`)));
  const recipe = E.recipe(), bare = { ...R.plain(recipe), stage: [...recipe.stage.slice(0, 2), { kind: 'droplets', rain: 0 }] };
  let last = null;
  for await (const record of api.preview(bare, { cells: E.cellsOf(), fields: ['height'] })) last = record;
  const { width, height, step } = E.live.grid;
  const made = L.resample(L.frameOf(last, recipe), last.data.height, width, height, step);
  return made.reduce((most, h, i) => Math.max(most, Math.abs(h - E.ground[i])), 0);
}"""


def test_undo_and_redo_take_strokes_and_settings(window):
    editor = window()
    first = editor.settled()["digest"]
    editor.page.keyboard.press("1")
    editor.draw((0.5, 0.5), (0.6, 0.55))
    second = editor.settled()["digest"]
    editor.page.fill("#seed", "4")
    third = editor.settled()["digest"]
    assert len({first, second, third}) == 3
    editor.page.keyboard.press("Escape")
    editor.page.focus("canvas")
    editor.page.keyboard.press("Control+z")
    assert editor.settled()["digest"] == second
    editor.page.keyboard.press("Control+z")
    assert editor.settled()["digest"] == first
    editor.page.keyboard.press("Control+Shift+z")
    editor.page.keyboard.press("Control+y")
    assert editor.settled()["digest"] == third


def test_another_seed_is_another_island(window):
    editor = window()
    first = editor.settled()
    editor.page.focus("canvas")
    editor.page.keyboard.press("n")
    second = editor.until(
        "another land", lambda s: s["done"] and not s["busy"] and s["digest"] != first["digest"]
    )
    assert second["recipe"]["seed"] == first["recipe"]["seed"] + 1


@pytest.mark.story
def test_seeds_keep_their_digits(window):
    """JavaScript's numbers have 53 bits, and seeds 64."""
    editor = window({**SMALL, "name": "huge", "seed": 18446744073709551615})
    state = editor.settled()
    assert (
        state["recipe"]["seed"] == "18446744073709551615"
        and editor.page.input_value("#seed") == "18446744073709551615"
    )
    editor.page.focus("canvas")
    editor.page.keyboard.press("n")
    assert editor.settled()["recipe"]["seed"] == 0, "behind the last seed comes the first"
    seen = set()
    for seed in ["9007199254740992", "9007199254740993"]:
        editor.page.fill("#seed", seed)
        state = editor.until(
            "the seed is taken",
            lambda s: str(s["recipe"]["seed"]) == seed and s["done"] and not s["busy"],
        )
        seen.add(state["digest"])
    assert len(seen) == 2, "they differ in the last digit alone"
    editor.page.fill("#seed", "18446744073709551616")
    assert (
        editor.page.get_attribute("#seed", "aria-invalid") == "true"
        and editor.state()["recipe"]["seed"] == "9007199254740993"
    )


def test_the_noise_brush_shows_the_bumps_of_the_engine(window, thalweg, tmp_path):
    flat = {
        **SMALL,
        "name": "bumps",
        "origin": [-70000, 4294967296],
        "stage": [{"kind": "flat", "height_m": 20}],
        "output": {"format": "npy"},
    }
    # No stage would change heights on them.
    del flat["levels"]
    editor = window(flat)
    editor.page.keyboard.press("6")
    editor.page.fill("#brush-amount", "300")
    editor.page.fill("#brush-size", "1500")
    editor.draw((0.3, 0.5), (0.6, 0.45), steps=3)
    recipe = editor.settled()["recipe"]
    assert recipe["stage"][1]["stroke"][0]["tool"] == "noise"
    shown = editor.heights()
    (tmp_path / "land.json").write_text(json.dumps(recipe))
    subprocess.run(
        [thalweg, "run", "land.json", "-o", "out", "-q", "--device", "cpu"],
        cwd=tmp_path,
        check=True,
    )
    made = np.load(tmp_path / "out/height.npy").ravel()
    assert np.ptp(made) > 200
    # The brush computes in floats, and the engine's weights have 16 bits.
    assert np.abs(made - shown).max() < 1, np.abs(made - shown).max()


@pytest.mark.parametrize("encodes", [True, False])
def test_a_time_lapse_is_taken_away(window, encodes):
    """A film where the browser encodes one, else an animated PNG; neither has more than 8 MB."""
    editor = window()
    page = editor.page
    if not encodes:
        page.evaluate("delete window.MediaRecorder")
    page.click("#tab-take")
    with page.expect_download(timeout=90000) as got:
        page.click("#timelapse")
    bytes_ = pathlib.Path(got.value.path()).read_bytes()
    assert 50_000 < len(bytes_) < 8_000_000, len(bytes_)
    if encodes:
        # The head of a Matroska file, and of WebM among them.
        assert got.value.suggested_filename.endswith(".webm")
        assert bytes_[:4] == b"\x1a\x45\xdf\xa3" and b"webm" in bytes_[:64]
        assert bytes_.count(b"V_VP") == 1
    else:
        animation = Image.open(io.BytesIO(bytes_))
        assert animation.format == "PNG" and animation.n_frames == 48
        first = np.asarray(animation.convert("RGB")).astype(int)
        animation.seek(47)
        assert np.abs(np.asarray(animation.convert("RGB")) - first).mean() > 1
    editor.wait("document.getElementById('timelapse').textContent.includes('48 pictures')")


def test_simulate_compare_and_time(window, keep):
    editor = window()
    editor.page.keyboard.press("1")
    editor.draw((0.3, 0.6), (0.45, 0.7), (0.6, 0.65))
    editor.settled()
    state = editor.simulate()
    assert state["mode"] == "run" and state["run"][-1] == [0, 257, 257]
    # Levels of the run were held against those of the preview in the browser.
    assert state["checked"] > 1 and state["equal"] == state["checked"], (
        state["equal"],
        state["checked"],
    )
    whole = editor.colours()
    editor.page.keyboard.press("Escape")
    editor.page.focus("canvas")
    editor.page.keyboard.press("b")
    halves = editor.colours()
    left, right = (slice(150, 600), slice(100, 610)), (slice(150, 600), slice(670, 940))
    assert np.abs(halves[left] - whole[left]).mean() > 1, "the left half should show the block-out"
    assert np.abs(halves[right] - whole[right]).mean() < 0.5, "the right half should not change"
    before = editor.before()
    keep(editor, "compare")
    editor.page.keyboard.press("b")
    done = editor.heights()
    block_out, between, last = editor.scrub(0), editor.scrub(0.5), editor.scrub(1)
    assert np.array_equal(last, done) and np.array_equal(before, block_out)
    assert (
        np.abs(block_out - done).max() > 1
        and np.abs(between - done).max() > 0.1
        and not np.array_equal(between, block_out)
    )


def test_cancel(window):
    editor = window({**SMALL, "name": "large", "width": 2049, "height": 2049})
    editor.page.click("#simulate")
    editor.until("it runs", lambda s: s["job"] in ("queued", "running"))
    editor.page.wait_for_selector("#progress progress")
    editor.page.click("#simulate")
    editor.until("it is cancelled", lambda s: s["job"] == "cancelled")


def test_downloads_and_the_same_bytes_from_the_command(window, thalweg, tmp_path):
    editor = window()
    editor.page.keyboard.press("1")
    editor.draw((0.35, 0.4), (0.5, 0.5), (0.62, 0.42))
    editor.page.keyboard.press("7")
    editor.draw((0.4, 0.6), (0.6, 0.6))
    editor.settled()
    editor.simulate()
    page = editor.page
    page.click("#tab-take")
    page.select_option("#format", "npy")
    with page.expect_download() as got:
        page.click("a[download$='-height.npy']")
    made = np.load(io.BytesIO(open(got.value.path(), "rb").read()))
    assert np.array_equal(made.ravel(), editor.heights()), (
        "the file has other heights than the view"
    )
    # The recipe, replayed by the command.
    page.click("#copy-toml")
    copied = editor.copied(lambda text: "[[stage]]" in text)
    (tmp_path / "land.toml").write_text(copied)
    subprocess.run(
        [thalweg, "run", "land.toml", "-o", "out", "-q", "--device", "cpu"],
        cwd=tmp_path,
        check=True,
    )
    subprocess.run(
        [thalweg, "convert", "out/height.tif", "height.npy", "-q"], cwd=tmp_path, check=True
    )
    again = np.load(tmp_path / "height.npy")
    assert again.astype("<f4").tobytes() == made.astype("<f4").tobytes(), (
        "the command makes other bytes"
    )
    # The command line itself.
    page.click("#copy-command")
    copied = editor.copied(lambda text: text.startswith("thalweg run"))
    command = copied.replace("thalweg run", f"'{thalweg}' run --quiet --device cpu", 1)
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    digests = [
        json.loads((tmp_path / name / "manifest.json").read_text())["maps"][0]["words_blake3"]
        for name in ("out", "small")
    ]
    assert digests[0] == digests[1]
    page.click("#copy-curl")
    copied = editor.copied(lambda text: text.startswith("curl"))
    job = json.loads(subprocess.run(["bash", "-c", copied], check=True, capture_output=True).stdout)
    assert (
        job["state"] == "succeeded"
        and job["result"]["digest"] == editor.state()["result"]["digest"]
    ), "curl should find the run in the store"
    with page.expect_download() as got:
        page.click("a[href$='bundle.zip']")
    assert {"manifest.json", "height.tif"} <= {
        name.split("/")[-1] for name in zipfile.ZipFile(got.value.path()).namelist()
    }
    with page.expect_download() as got:
        page.click("#picture")
    assert open(got.value.path(), "rb").read(8) == b"\x89PNG\r\n\x1a\n"


def test_reload_restores(window):
    editor = window()
    editor.page.keyboard.press("1")
    editor.draw((0.5, 0.5), (0.6, 0.55))
    before = editor.settled()
    editor.simulate()
    editor.kept(lambda all: any(one["recipe"] == before["recipe"] and one["job"] for one in all))
    editor.page.reload()
    after = editor.settled()
    assert after["recipe"] == before["recipe"] and after["digest"] == before["digest"]
    editor.until("the run is here again", lambda s: s["result"])
    editor.page.focus("canvas")
    editor.page.keyboard.press("Control+z")
    assert all(s["kind"] != "strokes" for s in editor.settled()["recipe"]["stage"]), (
        "undo should reach behind the reload"
    )


def test_a_link_opens_the_same_land(window):
    editor = window()
    editor.page.keyboard.press("1")
    editor.draw((0.5, 0.5), (0.6, 0.55))
    state = editor.settled()
    editor.page.click("#tab-take")
    editor.page.click("#copy-link")
    link = editor.copied(lambda text: "#land=" in text)
    other = window(path=link.removeprefix(editor.service))
    again = other.settled()
    assert again["recipe"] == state["recipe"] and again["digest"] == state["digest"]


def test_a_height_map_is_dropped(window):
    editor = window()
    rows = "\n".join(
        " ".join(f"{100 + 80 * np.sin(x / 9) * np.cos(y / 7):.2f}" for x in range(96))
        for y in range(96)
    )
    text = f"ncols 96\nnrows 96\nxllcorner 0\nyllcorner 0\ncellsize 10\n{rows}\n"
    editor.page.evaluate(
        """(text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'hills.asc'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    }""",
        text,
    )
    state = editor.until(
        "the file is the land",
        lambda s: isinstance(s["recipe"].get("input"), dict) and s["done"] and not s["busy"],
    )
    assert (
        state["live"][-1][1:] == [96, 96] and editor.page.evaluate("thalweg.view.extent[0]") == 950
    )
    # What water finds there is what the file says, to its last digit.
    editor.page.focus("canvas")
    editor.page.keyboard.press("b")
    assert [f"{height:.2f}" for height in editor.before()] == rows.split()


def test_maps_are_drawn_in_their_colours(window):
    editor = window()
    ground = editor.colours()
    editor.page.click("#tab-view")
    seen = [ground]
    for name in ["Flow", "Slope", "Erosion and deposition", "Height", "Clay"]:
        editor.page.click(f"#page button:text-is('{name}')")
        now = editor.colours()
        assert all(
            np.abs(now[150:550, 300:900] - other[150:550, 300:900]).mean() > 2 for other in seen
        ), f"{name} looks like another"
        seen.append(now)
    assert editor.page.inner_text("#legend") == "" or editor.page.is_hidden("#legend")
    editor.page.click("#page button:text-is('Flow')")
    assert "Flow" in editor.page.inner_text("#legend")


def test_the_palette_finds_settings_and_actions(window):
    editor = window()
    page = editor.page
    page.keyboard.press("Control+k")
    page.keyboard.type("free capacity")
    assert "Erosion" in page.inner_text("#palette-list")
    page.keyboard.press("Enter")
    editor.wait("document.activeElement.id.endsWith('-erosion')")
    page.keyboard.press("Control+k")
    page.keyboard.type("contours")
    page.keyboard.press("Enter")
    assert "Contours every" in page.inner_text("#legend")


def test_what_is_wrong_is_said(window):
    editor = window()
    editor.page.fill("#stage-1-lifetime-from", "-5")
    editor.page.wait_for_selector("#problem:not([hidden])")
    assert "lifetime" in editor.page.inner_text("#problem")
    editor.page.fill("#stage-1-lifetime-from", "96")
    editor.page.wait_for_selector("#problem", state="hidden")
    editor.settled()
    # The browser logs the refusal itself.
    editor.faults[:] = [f for f in editor.faults if "422" not in f]


def test_a_tablet(browser, service, keep):
    from conftest import Editor

    context = browser.new_context(
        viewport={"width": 820, "height": 1100},
        has_touch=True,
        color_scheme="light",
        reduced_motion="reduce",
    )
    editor = Editor(context.new_page(), service)
    editor.page.goto(service)
    editor.settled()
    assert editor.page.evaluate("document.body.scrollWidth") <= 820
    eye = editor.page.evaluate("thalweg.view.getEye()")
    x, y = editor.at(0.5, 0.5)
    touch = context.new_cdp_session(editor.page)
    finger = lambda kind, *at: touch.send(
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": a, "y": b, "id": i} for i, (a, b) in enumerate(at)]},
    )
    finger("touchStart", (x, y))
    finger("touchMove", (x + 60, y))
    finger("touchEnd")
    assert editor.page.evaluate("thalweg.view.getEye()")["azimuth"] != eye["azimuth"], (
        "a finger should turn the view"
    )
    far = editor.page.evaluate("thalweg.view.getEye()")["distance"]
    finger("touchStart", (x - 40, y), (x + 40, y))
    finger("touchMove", (x - 120, y), (x + 120, y))
    finger("touchEnd")
    assert editor.page.evaluate("thalweg.view.getEye()")["distance"] < far, (
        "two fingers should bring it nearer"
    )
    editor.page.tap("#tools [data-tool=raise]")
    finger("touchStart", (x, y))
    finger("touchMove", (x + 40, y))
    finger("touchEnd")
    assert editor.settled()["recipe"]["stage"][1]["kind"] == "strokes", "a finger should draw"
    editor.page.tap("#panel-toggle")
    assert editor.page.is_visible("#panel")
    keep(editor, "tablet")
    assert not editor.faults, editor.faults
    context.close()


def test_names_and_order_for_those_who_do_not_see(window):
    editor = window()
    nameless = editor.page.evaluate("""[...document.querySelectorAll('button, input, select, a')].filter((e) => e.checkVisibility() && e.getAttribute('aria-hidden') !== 'true' &&
      !(e.getAttribute('aria-label') || e.textContent.trim() || (e.id && document.querySelector(`label[for="${CSS.escape(e.id)}"]`)))).map((e) => e.outerHTML.slice(0, 120))""")
    assert nameless == []
    twice = editor.page.evaluate(
        "[...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)"
    )
    assert twice == []
    seen = set()
    for _ in range(25):
        editor.page.keyboard.press("Tab")
        seen.add(
            editor.page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim() || document.activeElement.id"
            )
        )
    assert {"Raise", "Undo", "Search settings and actions"} & seen and len(seen) > 15, seen


def test_dungeons(window, keep):
    editor = window(path="dungeons.html#kind=isaac&seed=7&level=4")
    page = editor.page
    editor.wait("thalweg.state().rooms > 0")
    first = page.evaluate("thalweg.state()")
    for kind in ["Rebirth", "TinyKeep"]:
        page.click(f"#settings button:text-is('{kind}')")
        editor.wait(f"thalweg.state().kind === '{kind.lower()}' && thalweg.state().rooms > 0")
    page.evaluate(
        "(() => { const w = document.getElementById('when'); w.value = 1e9; w.dispatchEvent(new Event('input')); })()"
    )
    assert len(np.unique(editor.colours()[100:600, 50:900].reshape(-1, 3), axis=0)) > 20
    keep(editor, "dungeons")
    with page.expect_download() as got:
        page.click("#settings button:text-is('JSON')")
    assert json.load(open(got.value.path()))["seed"] == first["seed"]


def test_all_rooms_of_tinykeep_are_thrown(window):
    editor = window(path="dungeons.html#kind=tinykeep&seed=7&room_count=120")
    editor.wait("thalweg.state().rooms > 0")

    def shown(step):
        editor.page.evaluate(
            "(n) => { const w = document.getElementById('when'); w.value = n; w.dispatchEvent(new Event('input')); }",
            step,
        )
        return editor.page.evaluate(
            "[thalweg.state(), document.getElementById('caption').textContent]"
        )

    first, said = shown(1)
    assert first["thrown"] == 120 > first["rooms"] and "120 rooms" in said
    captions = [shown(step) for step in range(1, first["steps"] + 1)]
    dropped = next(i for i, (_, text) in enumerate(captions) if "are dropped" in text)
    assert f"{120 - first['rooms']} rooms" in captions[dropped][1]
    assert all(
        state["thrown"] == (120 if i < dropped else 0) for i, (state, _) in enumerate(captions)
    )


def test_biomes(window, keep):
    editor = window(path="biomes.html#cells=160")
    editor.wait("thalweg.state().made.length === 4")
    maps = editor.page.evaluate(
        "[...document.querySelectorAll('#sheet canvas')].map((c) => Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data))"
    )
    for i in range(4):
        assert len(set(maps[i])) > 30
        assert all(maps[i] != maps[j] for j in range(i))
    keep(editor, "biomes")

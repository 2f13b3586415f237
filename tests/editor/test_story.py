"""The story that has to hold: draw, let water run, take the land away, find it again; also when the
service dies or asks for a token."""

import functools
import http.server
import io
import json
import math
import os
import pathlib
import subprocess
import threading
import tomllib
import zipfile

import numpy as np
import pytest

from conftest import PATIENCE_S, SMALL, Editor, Served

pytestmark = pytest.mark.story


def the_same_by_the_command(editor, thalweg, folder, made):
    """The recipe that the page hands over, run by the command, has the bytes of a file from the
    page."""
    editor.page.click("#tab-take")
    editor.page.click("#copy-toml")
    # The clipboard may still have the recipe of another page.
    name = f'name = "{editor.state()["recipe"]["name"]}"'
    (folder / "land.toml").write_text(
        editor.copied(lambda text: "[[stage]]" in text and name in text)
    )
    subprocess.run(
        [thalweg, "run", "land.toml", "-o", "out", "-q", "--device", "cpu"], cwd=folder, check=True
    )
    subprocess.run(
        [thalweg, "convert", "out/height.tif", "height.npy", "-q"], cwd=folder, check=True
    )
    again = np.load(folder / "height.npy")
    # Compared here: pytest would spend minutes on how long bytes differ.
    same = (
        again.shape == made.shape and again.astype("<f4").tobytes() == made.astype("<f4").tobytes()
    )
    assert same, "the command makes other bytes"


def heights_taken(editor):
    """The heights as one downloads them."""
    editor.page.click("#tab-take")
    editor.page.select_option("#format", "npy")
    with editor.page.expect_download() as got:
        editor.page.click("a[download$='-height.npy']")
    return np.load(io.BytesIO(open(got.value.path(), "rb").read()))


def test_draw_simulate_compare_take_away_and_find_again(window, thalweg, tmp_path, keep):
    editor = window(recipe=None)
    editor.settled()
    middle = editor.colours()[150:600, 100:900].reshape(-1, 3)
    assert len(np.unique(middle // 8, axis=0)) > 300, "the land has few colours: is it drawn?"
    keep(editor, "story-open")

    # A block-out on flat ground, with the mouse.
    flat = {**SMALL, "name": "flat", "stage": [{"kind": "flat", "height_m": 20}, SMALL["stage"][1]]}
    editor.drop(flat)
    assert np.ptp(editor.heights()) < 1
    bare = editor.colours()
    page = editor.page
    page.keyboard.press("1")
    page.fill("#brush-amount", "150")
    page.mouse.move(*editor.at(0.3, 0.5))
    page.mouse.down()
    page.mouse.move(*editor.at(0.5, 0.5), steps=4)
    # The button is still down. The ground has risen, and then water wears what is drawn so far.
    block_out = editor.heights()
    assert np.ptp(block_out) > 20, "nothing rose under the brush"
    drawing = editor.until(
        "a coarse level with the stroke comes while it is drawn", lambda s: len(s["live"]) > 1
    )
    assert drawing["live"][1][1] < SMALL["width"], "the first level is a coarse one"
    worn = editor.heights()
    editor.until(
        "water changes the coarse land", lambda _: np.abs(editor.heights() - block_out).max() > 1
    )
    page.mouse.move(*editor.at(0.6, 0.4), steps=3)
    page.mouse.up()
    page.keyboard.press("5")
    editor.draw((0.3, 0.75), (0.48, 0.55), steps=2)
    page.keyboard.press("7")
    editor.draw((0.4, 0.4), (0.6, 0.6), steps=2)
    page.keyboard.press("v")
    state = editor.settled()
    strokes = state["recipe"]["stage"][1]
    assert strokes["kind"] == "strokes" and [s["tool"] for s in strokes["stroke"]] == [
        "raise",
        "ramp",
        "raise",
    ]
    assert np.ptp(editor.heights()) > 20 and worn.shape == editor.heights().shape
    assert np.abs(editor.colours() - bare)[150:600, 100:900].mean() > 2, (
        "the picture does not change"
    )
    keep(editor, "story-drawn")

    # Simulate, with progress.
    page.click("#simulate")
    page.wait_for_selector("#progress progress")
    state = editor.until("the run is done and shown", lambda s: s["result"] and s["mode"] == "run")
    assert state["run"][-1] == [0, 257, 257]
    assert state["checked"] > 1 and state["equal"] == state["checked"], (
        "levels of the run have other bytes than the preview"
    )

    # Before and after, and time.
    done, whole = editor.heights(), editor.colours()
    page.keyboard.press("Escape")
    page.focus("canvas")
    page.keyboard.press("b")
    halves = editor.colours()
    left, right = (slice(150, 600), slice(100, 610)), (slice(150, 600), slice(670, 940))
    assert np.abs(halves[left] - whole[left]).mean() > 1, "the left half should show the block-out"
    assert np.abs(halves[right] - whole[right]).mean() < 0.5, "the right half should not change"
    before = editor.before()
    keep(editor, "story-compare")
    page.keyboard.press("b")
    block_out, between, last = editor.scrub(0), editor.scrub(0.5), editor.scrub(1)
    assert np.array_equal(last, done) and np.array_equal(before, block_out)
    assert (
        np.abs(block_out - done).max() > 1
        and np.abs(between - done).max() > 0.1
        and not np.array_equal(between, block_out)
    )

    # Away with it: the file, and the same bytes by the command.
    made = heights_taken(editor)
    assert np.array_equal(made.ravel(), done), "the file has other heights than the view"
    the_same_by_the_command(editor, thalweg, tmp_path, made)

    # It is there again when the page is opened again.
    editor.kept(lambda all: any(one["recipe"] == state["recipe"] and one["job"] for one in all))
    page.reload()
    again = editor.settled()
    assert again["recipe"] == state["recipe"] and again["digest"] == state["digest"]
    editor.until("the run is here again", lambda s: s["result"] and s["mode"] == "run")
    assert np.array_equal(editor.heights(), done)
    keep(editor, "story-again")


def test_lakes_and_rivers_that_are_drawn_stay(window, thalweg, tmp_path, keep):
    """A range, a lake and a river are drawn, and rivers cut the land: at the end the lake stands at
    its level and the river runs where it was drawn, by the maps of the command, with the bytes of
    the page."""
    land = {
        **SMALL,
        "name": "waters",
        "stage": [
            {"kind": "noise", "feature_cells": 90, "relief_m": 240},
            {"kind": "incision", "steps": 24, "uplift_m": 1, "repose_deg": 38},
        ],
    }
    editor = window(land)
    page = editor.page
    page.keyboard.press("1")
    page.fill("#brush-amount", "300")
    editor.draw((0.25, 0.3), (0.7, 0.25), steps=3)
    page.keyboard.press("l")
    shore = [(0.42, 0.52), (0.5, 0.47), (0.58, 0.52), (0.6, 0.6), (0.52, 0.66), (0.43, 0.62)]
    editor.draw(*shore, steps=3)
    page.keyboard.press("i")
    page.fill("#brush-size", "300")
    editor.draw((0.3, 0.35), (0.28, 0.5), (0.34, 0.7), (0.3, 0.85), steps=3)
    page.keyboard.press("v")
    state = editor.settled()
    strokes = state["recipe"]["stage"][1]["stroke"]
    assert [stroke["tool"] for stroke in strokes] == ["raise", "lake", "river", "river"]
    assert state["recipe"]["water"] == {"sea_level_m": 0}, "what was drawn as water is to be seen"
    _, lake, outflow, river = strokes
    assert outflow["height_m"][0] <= lake["level_m"], "a river leaves the lake"
    assert river["height_m"] == sorted(river["height_m"], reverse=True)
    editor.simulate()
    editor.wait("thalweg.view.after.hasWater")
    keep(editor, "story-waters")
    made = heights_taken(editor)
    the_same_by_the_command(editor, thalweg, tmp_path, made)

    maps = '["height","water_level","water_depth","river_width"]'
    command = ["run", "land.toml", "-o", "wet", "-q", "--device", "cpu", "--set"]
    formats = ["--set", "output.format=npy"]
    subprocess.run([thalweg, *command, f"output.maps={maps}", *formats], cwd=tmp_path, check=True)
    level, depth, width = (
        np.load(tmp_path / f"wet/{name}.npy")
        for name in ("water_level", "water_depth", "river_width")
    )
    at = [round(sum(point[k] for point in lake["at_m"]) / len(lake["at_m"]) / 20) for k in (0, 1)]
    assert abs(level[at[1], at[0]] - lake["level_m"]) < 0.001 and depth[at[1], at[0]] > 1
    # Corners are cut until a quadratic B-spline is left, which passes each corner here (R.
    # Riesenfeld, On Chaikin's algorithm, 1975).
    path = np.array(river["at_m"])
    cells = np.round((path[:-2] + 6 * path[1:-1] + path[2:]) / 8 / 20).astype(int).tolist()
    near = [width[y - 2 : y + 3, x - 2 : x + 3].max() > 0 for x, y in cells]
    assert len(near) > 1 and all(near), f"no river at some of {cells}: {near}; {river}"


def test_water_is_where_the_map_has_it(window, thalweg, tmp_path):
    """By pixels, from above: what the view draws blue is what the command's maps of the same level
    call a lake or a river."""
    text = (pathlib.Path(__file__).parents[2] / "examples/coast.toml").read_text()
    recipe = tomllib.loads(text)
    recipe["name"] = "water"
    editor = window(recipe)
    level, width, height = editor.state()["live"][-1]
    recipe["water"] = {"sea_level_m": 0} | recipe.get("water", {})
    recipe["output"] |= {"maps": ["height", "water_depth", "river_width"], "format": "npy"}
    (tmp_path / "land.json").write_text(json.dumps(recipe))
    command = ["run", "land.json", "-o", "out", "-q", "--device", "cpu", "--level", str(level)]
    subprocess.run([thalweg, *command], cwd=tmp_path, check=True)
    maps = {name: np.load(tmp_path / f"out/{name}.npy") for name in recipe["output"]["maps"]}
    assert maps["height"].shape == (height, width)
    deep, sea = maps["water_depth"] > 0, maps["height"] < 0
    lake = deep & (maps["height"] + maps["water_depth"] > 0.01)
    river = (maps["river_width"] > 0) & ~deep & ~sea

    def grown(mask, cells):
        """Where something is within so many cells."""
        padded = np.pad(mask, cells)
        rows, columns = mask.shape
        return functools.reduce(
            np.logical_or,
            (
                padded[y : y + rows, x : x + columns]
                for y in range(2 * cells + 1)
                for x in range(2 * cells + 1)
            ),
        )

    inner = lake & ~grown(~lake, 1)
    dry = ~grown(lake | river | sea | deep, 4)
    assert inner.sum() > 20 and dry.sum() > 1000 and river.sum() > 100

    # The panels lie over parts of the land.
    free = np.zeros((720, 1280), bool)
    free[70:640, 80:950] = True

    def look(distance, x, y):
        """From above a cell: gives the share of cells of a mask, of those in sight, within whose
        half a cell or so the water changes a pixel."""
        editor.page.evaluate(
            f"""(() => {{
                const {{ view }} = thalweg, {{ x, y }} = view.u.uExtent.value;
                const target = [({x / (width - 1)} - 0.5) * x, 0, ({y / (height - 1)} - 0.5) * y];
                view.after.hasWater = 1;
                view.setEye({{ azimuth: 180, tilt: 88, distance: {distance}, target }});
            }})()"""
        )
        with_water = editor.colours()
        editor.page.evaluate("thalweg.view.after.hasWater = 0; thalweg.view.draw()")
        drawn = np.abs(with_water - editor.colours()).max(axis=2) > 8

        def share(mask):
            seen = []
            for y, x in np.argwhere(mask)[:: max(mask.sum() // 600, 1)]:
                left, top = map(int, editor.at(x / (width - 1), y / (height - 1)))
                if 0 <= top < 720 and 0 <= left < 1280 and free[top, left]:
                    seen.append(drawn[top - 4 : top + 5, left - 4 : left + 5].any())
            assert len(seen) > 10
            return np.mean(seen)

        return share

    whole = look(24, width // 2, height // 2)
    assert whole(inner) == 1, "a lake is not drawn"
    assert whole(dry) == 0, "water is drawn where there is none"
    y, x = np.argwhere(river)[np.argsort(maps["river_width"][river])[-20]]
    assert look(5, x, y)(river) > 0.9, "rivers are not drawn"


def test_rivers_begin_where_the_command_has_them(window, thalweg, tmp_path):
    """The panel shows the catchment that a recipe without one has in the command."""
    editor = window()
    shown = float(editor.page.input_value("#rivers-from"))
    (tmp_path / "land.json").write_text(json.dumps(SMALL))
    command = ["run", "land.json", "-o", "out", "-q", "--device", "cpu"]
    maps = ["--set", "output.maps=basin", "--set", "water.runoff_mm=500"]
    subprocess.run([thalweg, *command, *maps], cwd=tmp_path, check=True)
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert f"{shown:.3g}" == f"{manifest['water']['channel_area_km2']:.3g}"


def test_the_first_use(browser, service):
    """A tour of five steps, each beside what it is about and nothing under it; it can be closed,
    and does not come again. Level ground says what to do, until something is drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, device_scale_factor=0.5)
    context.set_default_timeout(PATIENCE_S * 1000)
    editor = Editor(context.new_page(), service)
    page = editor.page
    page.goto(service)
    for step, about in enumerate(["tools", "panel", "time", "simulate", "tab-take"]):
        page.wait_for_selector(f"#tour:has-text('{step + 1} of 5')")
        box, target = (page.locator(f"#{name}").bounding_box() for name in ["tour", about])
        assert 0 <= box["x"] <= 1280 - box["width"] and 0 <= box["y"] <= 720 - box["height"]
        apart = (
            box["x"] >= target["x"] + target["width"]
            or target["x"] >= box["x"] + box["width"]
            or box["y"] >= target["y"] + target["height"]
            or target["y"] >= box["y"] + box["height"]
        )
        assert apart, f"step {step + 1} lies on what it is about"
        page.click("#tour-next")
    assert page.locator("#tour").is_hidden()
    editor.settled()
    assert page.locator("#empty").is_hidden()
    page.reload()
    editor.settled()
    assert page.locator("#tour").is_hidden()
    page.evaluate("localStorage.removeItem('thalweg-tour')")
    page.reload()
    page.click("#tour [aria-label='Close the tour']")
    assert page.locator("#tour").is_hidden()
    page.click("#open-new")
    page.click("#new button:has(b:text-is('Flat ground'))")
    page.wait_for_selector("#empty:not([hidden])")
    editor.settled()
    page.keyboard.press("1")
    editor.draw((0.4, 0.5), (0.6, 0.5))
    editor.wait("document.getElementById('empty').hidden")
    assert not editor.faults, editor.faults
    context.close()


def test_variants_to_choose_from(window, keep):
    """Twelve seeds as pictures; one is chosen, and undone."""
    editor = window()
    page = editor.page
    page.keyboard.press("m")
    page.wait_for_selector("#variants[open]")
    cards = "#variants .variant"
    editor.wait(f"document.querySelectorAll('{cards} img').length === 12")
    seeds = page.eval_on_selector_all(cards, "all => all.map((card) => card.dataset.seed)")
    assert seeds == [str(n) for n in range(3, 15)]
    keep(editor, "variants")
    sizes = f"[...document.querySelectorAll('{cards} img')].map((i) => i.naturalWidth)"
    assert page.evaluate(sizes) == [129] * 12, "each is the level of at most 192 cells"
    # The next twelve, and one of them.
    page.click("#more-variants")
    page.wait_for_selector(f"{cards}[data-seed='17'] img")
    page.click(f"{cards}[data-seed='17']")
    editor.until("the seed", lambda s: s["recipe"]["seed"] == 17)
    assert not page.evaluate("document.getElementById('variants').open")
    page.keyboard.press("Control+z")
    editor.until("the seed is undone", lambda s: s["recipe"]["seed"] == 3)
    # What the service refuses is said, and the page stays.
    page.route("**/v1/sheet*", lambda route: route.abort())
    editor.settled()
    page.keyboard.press("m")
    page.wait_for_selector(".toast.bad")
    editor.faults.clear()


def test_trees_and_rocks(window, thalweg, tmp_path):
    """Trees are switched on, set apart and taken away: the bundle has the places of the command."""
    editor = window()
    page = editor.page
    page.check("#things-trees")
    page.check("#things-rocks")
    page.fill("#things-trees-distance", "40")
    page.keyboard.press("Tab")
    editor.until("the distance", lambda s: s["recipe"]["scatter"][0]["distance_m"] == 40)
    page.uncheck("#things-rocks")
    state = editor.until("one table", lambda s: len(s["recipe"]["scatter"]) == 1)
    editor.settled()
    editor.simulate()
    places = "thalweg.view.things.children.map(c => [...c.geometry.attributes.place.array])"
    editor.wait("thalweg.view.things.children.length")
    (drawn,) = page.evaluate(places)
    with page.expect_download() as download:
        page.click("a[download$='.zip']")
    bundle = zipfile.ZipFile(download.value.path())
    (tmp_path / "land.json").write_text(json.dumps(state["recipe"]))
    subprocess.run([thalweg, "run", "land.json", "-o", "land", "-q"], cwd=tmp_path, check=True)
    table = np.genfromtxt(tmp_path / "land/scatter_trees.csv", delimiter=",", names=True)
    # The land has 257 samples a side, and the view counts turns in radians.
    turn = table["turn_deg"] * np.pi / 180
    known = np.transpose([table["x"] / 256, table["y"] / 256, table["size"], turn])
    assert np.array_equal(np.reshape(drawn, (-1, 4)), known.astype("f4"))
    # They stand where the picture has changed, and no longer once the recipe is another one.
    page.evaluate("thalweg.view.goal.distance = 2; thalweg.view.jump()")
    editor.wait("!thalweg.view.wake")
    trees = editor.colours()
    page.click("#tab-view")
    page.uncheck("#shows-things")
    editor.wait("!thalweg.view.wake")
    page.click("#tab-take")
    assert (np.abs(trees - editor.colours()).max(axis=2) > 20).sum() > 200
    for name in ["scatter_trees.csv", "scatter_trees.glb"]:
        made = (tmp_path / "land" / name).read_bytes()
        assert len(made) > 1000 and bundle.read(name) == made, name
    assert not any("rocks" in name for name in bundle.namelist())
    page.click("#tab-recipe")
    page.uncheck("#things-trees")
    editor.settled()
    assert page.evaluate(places) == []


def test_a_game_map_for_unreal_in_six_clicks(window, thalweg, tmp_path, keep):
    """2 km, 1009², a river and a lake: the bundle's folder is that of the command, to the byte."""
    editor = window()
    page = editor.page
    page.click("#open-new")
    page.click("#new button:has(b:text-is('game-medium'))")
    editor.until("the land is open", lambda s: s["recipe"].get("name") == "game-medium")
    editor.settled()
    page.click("#tab-take")
    page.select_option("#program", "unreal")
    editor.simulate()
    editor.wait("thalweg.view.after.hasWater && thalweg.view.after.hasMaterials")
    keep(editor, "game")
    # Rivers are drawn in the beds that are carved for them, and the ground is that of the masks.
    drawn = "(r) => r.data.filter((v, i) => i % 4 === 0 && v > 128).length / (r.data.length / 4)"
    rivers = page.evaluate(f"({drawn})(thalweg.view.after.rivers.image)")
    with page.expect_download() as download:
        page.click("a[download$='.zip']")
    bundle = zipfile.ZipFile(download.value.path())
    run = [thalweg, "run", "game-medium", "-o", "known", "--engine", "unreal", "-q"]
    subprocess.run(run, cwd=tmp_path, check=True)
    subprocess.run(
        [thalweg, "convert", "known/river_width.tif", "width.npy", "-q"], cwd=tmp_path, check=True
    )
    # Ribbons cover the cells of rivers, and are a little broader than they are.
    share = (np.load(tmp_path / "width.npy") > 0).mean()
    assert share <= rivers < 5 * share, (share, rivers)
    known = sorted((tmp_path / "known/unreal").iterdir())
    assert len(known) > 12
    for file in known:
        assert bundle.read(f"unreal/{file.name}") == file.read_bytes(), file.name


@pytest.mark.parametrize("program", ["unity", "godot"])
def test_files_for_an_engine(window, thalweg, tmp_path, program):
    """The folder of a program has the files of the command, to the byte, and a text with the
    numbers to type there."""
    editor = window()
    editor.page.click("#tab-take")
    editor.page.select_option("#program", program)
    editor.until("the recipe has it", lambda s: s["recipe"]["output"].get("program") == program)
    recipe = editor.settled()["recipe"]
    editor.simulate()
    editor.page.click("#tab-take")
    with editor.page.expect_download() as got:
        editor.page.click("a[download$='.zip']")
    (tmp_path / "land.json").write_text(json.dumps(recipe))
    subprocess.run([thalweg, "run", "land.json", "-o", "land", "-q"], cwd=tmp_path, check=True)
    known = {file.name: file.read_bytes() for file in (tmp_path / "land" / program).iterdir()}
    with zipfile.ZipFile(got.value.path()) as bundle:
        names = [name for name in bundle.namelist() if name.startswith(f"{program}/")]
        made = {name.split("/")[1]: bundle.read(name) for name in names}
    assert len(made) > 2 and made == known
    assert {"unity": b"257", "godot": b"20"}[program] in made["README.txt"]


def test_the_service_dies_in_mid_job(window, thalweg, tmp_path, keep):
    """It is killed while a job runs and started again; the page waits, goes on, and ends with the
    bytes of the command."""
    state = tmp_path / "state"
    served = Served(thalweg, state, "--snapshots", "0")
    # Its last stage takes long and has no levels, so it is killed there, when all levels are done.
    slides = {"kind": "thermal", "steps": 8000, "finest_only": True, "repose_deg": 25}
    editor = window({**SMALL, "name": "long", "stage": [*SMALL["stage"], slides]}, at=served.url)
    page = editor.page
    page.click("#simulate")
    editor.until(
        "it is in its last stage",
        lambda s: (
            s["progress"] and s["progress"]["stage"] == "thermal" and s["progress"]["step"] > 0
        ),
    )
    served.kill()
    editor.until("the page notices", lambda s: s["waiting"])
    assert "does not answer" in page.inner_text("#progress")
    keep(editor, "story-waiting")
    served = Served(thalweg, state, "--snapshots", "0", port=served.port)
    try:
        editor.until("it goes on", lambda s: not s["waiting"])
        editor.until("the run is done and shown", lambda s: s["result"] and s["mode"] == "run")
        made = heights_taken(editor)
        assert np.array_equal(made.ravel(), editor.heights())
        the_same_by_the_command(editor, thalweg, tmp_path, made)
        # It went on from its snapshot, and was not begun anew by the page.
        assert (
            page.evaluate("fetch('v1/jobs').then((r) => r.json()).then((r) => r.jobs.length)") == 1
        )
        # The browser itself logs that nobody answered.
        editor.faults[:] = [
            fault for fault in editor.faults if "Failed to load resource: net::ERR_" not in fault
        ]
    finally:
        served.end()


def test_a_token_is_asked_for(window, thalweg, tmp_path, keep):
    (tmp_path / "token").write_text("a-token-of-more-than-16\n")
    served = Served(thalweg, tmp_path / "state", "--token-file", tmp_path / "token")
    try:
        editor = window(recipe=None, at=served.url)
        page = editor.page
        for wrong, told in [
            ("short", "16 or more"),
            ("another-token-of-16-letters", "does not take"),
        ]:
            page.wait_for_selector("#token")
            page.fill("#token", wrong)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"#token-problem:has-text('{told}')")
        page.fill("#token", "a-token-of-more-than-16")
        page.keyboard.press("Enter")
        editor.settled()
        editor.drop(SMALL)
        editor.simulate()
        keep(editor, "story-token")
        made = heights_taken(editor)
        assert np.array_equal(made.ravel(), editor.heights())
        # The request for curl has the token's place, and not the token.
        page.click("#copy-curl")
        copied = editor.copied(lambda text: text.startswith("curl"))
        assert "a-token" not in copied and "Authorization: Bearer $THALWEG_TOKEN" in copied
        answer = subprocess.run(
            ["bash", "-c", copied],
            env={"THALWEG_TOKEN": "a-token-of-more-than-16", "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )
        assert json.loads(answer.stdout)["result"]["digest"] == editor.state()["result"]["digest"]
        # A page of the same window needs to ask no more.
        page.goto(served.url + "dungeons.html")
        editor.wait("thalweg.state().rooms > 0")
        # The browser itself logs refusals.
        editor.faults[:] = [fault for fault in editor.faults if "401" not in fault]
    finally:
        served.end()


def test_the_brush_keeps_its_metres(window):
    """What was typed is what strokes have, however high they make the land."""
    editor = window()
    page = editor.page
    editor.drop({**SMALL, "name": "level", "stage": [{"kind": "flat", "height_m": 20}]})
    page.keyboard.press("1")
    for name, value in [("amount", "312.5"), ("size", "432.1"), ("falloff", "0.333")]:
        page.fill(f"#brush-{name}", value)
        page.locator(f"#brush-{name}").press("Enter")
    page.evaluate("document.activeElement.blur()")
    # Each lies on the one before.
    for n in range(1, 5):
        editor.draw((0.5, 0.5), (0.52, 0.5), steps=2)
        state = editor.settled()
        stroke = state["recipe"]["stage"][1]["stroke"][-1]
        assert (stroke["amount_m"], stroke["radius_m"], stroke["falloff"]) == (
            312.5,
            432.1,
            0.333,
        ), f"stroke {n}: {stroke}"
        assert (page.input_value("#brush-amount"), page.input_value("#brush-size")) == (
            "312.5",
            "432.1",
        ), f"after stroke {n}"
    assert np.ptp(editor.heights()) > 1000
    # A default stays, too, once it was seen. The bumps are no share of a brush that changes.
    page.keyboard.press("6")
    page.fill("#brush-feature", "77")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("]")
    assert (
        page.input_value("#brush-feature") == "77"
        and float(page.input_value("#brush-size")) > 432.1
    )


def test_small_windows_and_keys(window):
    """Nothing hides anything, keys come back from where they went, and snow is high up."""
    editor = window({**SMALL, "name": "shapes", "stage": [*SMALL["stage"], {"kind": "blur"}]})
    page = editor.page
    box = lambda selector: page.evaluate(
        "(s) => { const { left, right, top, bottom } = document.querySelector(s).getBoundingClientRect(); return [left, right, top, bottom]; }",
        selector,
    )

    # The slider of the sea ends where the land does.
    assert page.evaluate(
        "(([low, high], slider) => slider.min == Math.floor(low) && slider.max == Math.ceil(high))"
        "(thalweg.view.range, document.getElementById('sea-level').previousSibling)"
    )
    # One Escape, also when something is typed.
    page.keyboard.press("Control+k")
    page.keyboard.type("rain")
    page.keyboard.press("Escape")
    assert not page.evaluate("document.getElementById('palette').open")
    # H, and H again.
    colours = lambda: page.evaluate(
        "document.querySelector('.chip[role=radio][aria-checked=true]').textContent"
    )
    page.click("#tab-view")
    page.click(".chip:has-text('Slope')")
    page.focus("canvas")
    page.keyboard.press("h")
    assert colours() == "Flow"
    page.keyboard.press("h")
    assert colours() == "Slope"
    # The legend is above what is told of the place under the pointer, with all its lines, at any
    # height of the window.
    page.keyboard.press("c")
    page.keyboard.press("7")
    for width, height in [(1280, 633), (1280, 720), (1000, 633), (820, 1100)]:
        page.set_viewport_size({"width": width, "height": height})
        page.mouse.move(*editor.at(0.5, 0.5))
        page.mouse.move(*editor.at(0.51, 0.5))
        editor.wait("document.getElementById('readout').textContent.includes('slope')")
        legend, told, time = box("#legend"), box("#readout"), box("#time")
        assert legend[3] <= told[2], (
            f"{width} x {height}: the legend covers the readout: {legend}, {told}"
        )
        assert told[1] <= time[0] or told[3] <= time[2], (
            f"{width} x {height}: the timeline covers the readout: {told}, {time}"
        )
    # In narrow windows all of the bar is there, and nothing below it is hidden by it.
    for width in [1080, 820, 600, 390, 360]:
        page.set_viewport_size({"width": width, "height": 800})
        editor.wait(
            "document.getElementById('bar').getBoundingClientRect().bottom <= document.getElementById('tools').getBoundingClientRect().top"
        )
        for what in [
            "#simulate",
            "#find",
            "#page-buttons",
            *(f"nav a:nth-child({n})" for n in [1, 2, 3]),
        ]:
            left, right, top, bottom = box(what)
            assert 0 <= left < right <= width and 0 <= top < bottom, (
                f"{width}: {what} is at {left} to {right}"
            )
            assert page.evaluate(
                "([s, x, y]) => document.querySelector(s).contains(document.elementFromPoint(x, y))",
                [what, (left + right) / 2, (top + bottom) / 2],
            ), f"{width}: {what} is covered"
    page.set_viewport_size({"width": 1280, "height": 720})
    # No label is cut.
    page.click("#tab-recipe")
    page.evaluate("document.querySelectorAll('.pages details').forEach((d) => (d.open = true))")
    cut = "[...document.querySelectorAll('.pages label')].filter((l) => l.checkVisibility() && !l.matches('.hidden') && (l.scrollWidth > l.clientWidth || l.scrollHeight > l.clientHeight + 1)).map((l) => l.textContent)"
    assert page.evaluate(cut) == []
    # A stroke that begins below the box of the brush is one.
    page.click("#tools [data-tool=raise]")
    page.evaluate("thalweg.view.setEye({ ...thalweg.view.getEye(), distance: 5 })")
    editor.wait("!thalweg.view.wake")
    left, right, top, bottom = box("#brush p")
    before = sum(len(s.get("stroke", [])) for s in editor.state()["recipe"]["stage"])
    page.mouse.move(left + 30, (top + bottom) / 2)
    page.mouse.down()
    page.mouse.move(right + 60, (top + bottom) / 2, steps=3)
    page.mouse.up()
    assert sum(len(s.get("stroke", [])) for s in editor.settled()["recipe"]["stage"]) == before + 1

    # Snow lies by metres: the same land has it 3 km higher, and not by the sea.
    def white(base_m):
        shape = {**SMALL["stage"][0], "base_m": base_m}
        editor.drop({**SMALL, "name": f"at {base_m}", "stage": [shape]})
        return (editor.colours()[150:600, 350:900].min(axis=2) > 170).sum()

    low, high = white(-200), white(2800)
    assert low * 20 < high, f"{low} white pixels at the sea, {high} high up"


def test_two_tabs_have_two_lands(window):
    """A second tab does not keep its changes over those of the first."""
    first = window()
    first.kept(lambda all: any(one["recipe"].get("name") == "small" for one in all))
    second = window(recipe=None)
    second.until("it is open", lambda s: s["recipe"].get("name") == "small")
    second.settled()
    assert "(copy)" in second.page.input_value("#name")
    for editor, seed in [(second, 77), (first, 55)]:
        editor.page.fill("#seed", str(seed))
        editor.settled()
    first.kept(lambda all: {55, 77} <= {one["recipe"]["seed"] for one in all})
    # Each finds its own again.
    for editor, seed in [(first, 55), (second, 77)]:
        editor.page.reload(wait_until="commit")
        editor.wait("window.thalweg?.state")
        assert editor.settled()["recipe"]["seed"] == seed


def test_a_dropped_file_leaves_with_its_land(window, thalweg, tmp_path):
    """The command of a land that begins with a file runs, beside the archive that comes with
    it, and makes the same bytes."""
    editor = window()
    page = editor.page
    y, x = np.mgrid[0:90, 0:120]
    buffer = io.BytesIO()
    np.save(buffer, (200 + 100 * np.sin(x / 9) * np.cos(y / 13)).astype("<f4"))
    page.evaluate(
        "([bytes, name]) => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array(bytes)], name));"
        " document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); }",
        [list(buffer.getvalue()), "hill top.npy"],
    )
    editor.until("the file is open", lambda s: "input" in s["recipe"])
    editor.settled()
    editor.simulate()
    made = heights_taken(editor)
    assert page.inner_text("#save-toml") == "Recipe and files"
    with page.expect_download() as got:
        page.click("#copy-command")
    command = editor.copied(lambda text: "thalweg run" in text)
    got.value.save_as(tmp_path / got.value.suggested_filename)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "thalweg").symlink_to(thalweg)
    # As unzip does it, which a machine may lack.
    (tools / "unzip").write_text('#!/bin/sh\nexec python3 -m zipfile -e "$2" "$4"\n')
    (tools / "unzip").chmod(0o755)
    subprocess.run(
        ["bash", "-ec", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        check=True,
    )
    subprocess.run(
        [thalweg, "convert", "hill-top/height.tif", "height.npy", "-q"], cwd=tmp_path, check=True
    )
    again = np.load(tmp_path / "height.npy")
    same = (
        again.shape == made.shape and again.astype("<f4").tobytes() == made.astype("<f4").tobytes()
    )
    assert same, "the command makes other bytes"
    # Those who copy the text alone are told.
    page.click("#copy-toml")
    page.wait_for_selector(".toast:has-text('on this service alone')")


# A stand-in for MapLibre GL, which is large: it keeps what it was given.
STAND_IN = "window.maplibregl = { Map: class { constructor(options) { this.options = options; } addControl() {} }, NavigationControl: class {}, ScaleControl: class {} };"


def test_a_page_of_another_site_shows_the_land(browser, thalweg, tmp_path):
    """The page in examples/ is let in from its own site, its style leads to tiles that fit the
    land, and their pixels are its heights."""
    examples = pathlib.Path(__file__).resolve().parents[2] / "examples"
    folder = tmp_path / "site"
    (folder / "node_modules/maplibre-gl/dist").mkdir(parents=True)
    for name in ["maplibre.html", "maplibre.json"]:
        (folder / name).write_text((examples / name).read_text())
    (folder / "node_modules/maplibre-gl/dist/maplibre-gl.js").write_text(STAND_IN)
    (folder / "node_modules/maplibre-gl/dist/maplibre-gl.css").write_text("")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    handler.log_message = lambda *_: None
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    origin = f"http://localhost:{site.server_port}"
    served = Served(thalweg, tmp_path / "state", "--allow-origin", origin)
    closed = Served(thalweg, tmp_path / "closed")
    try:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_S * 1000)
        # From the page itself: posting a recipe, with what browsers ask beforehand, and waiting for
        # its result.
        page.goto(f"{origin}/maplibre.html")
        page.wait_for_selector("#problem:has-text('--allow-origin')")
        post = """async ([service, recipe]) => {
          let job = await (await fetch(`${service}v1/jobs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: recipe })).json();
          while (['queued', 'running'].includes(job.state)) { await new Promise((r) => setTimeout(r, 100)); job = await (await fetch(`${service}v1/jobs/${job.id}`)).json(); }
          return job.result; }"""
        result = page.evaluate(post, [served.url, json.dumps(SMALL)])
        page.goto(f"{origin}/maplibre.html?service={served.url}#{result['digest']}")
        # A browser calls the element `map` by that name until the page's own map takes its place.
        while not page.evaluate("!!window.map?.options"):
            assert not page.inner_text("#problem")
            page.wait_for_timeout(50)
        style = page.evaluate("window.map.options.style")
        west, south, east, north = page.evaluate("window.map.options.bounds")
        # A cell of 20 m is a pixel of zoom 13, which is nearest to it at the equator: 40 075 km /
        # 2²¹ = 19.1 m.
        round_earth = 256 * 2**13
        mercator = lambda latitude: math.asinh(math.tan(math.radians(latitude)))
        wide, high = (
            (east - west) / 360 * round_earth,
            (mercator(north) - mercator(south)) / (2 * math.pi) * round_earth,
        )
        assert [west, north, round(wide, 6), round(high, 6)] == [0, 0, 257, 257]
        pixel_m = 2 * math.pi * 6378137 * math.cos(math.radians((north + south) / 2)) / round_earth
        assert style["terrain"]["exaggeration"] == float(f"{pixel_m / 20:.6e}"), (
            "heights do not fit the width"
        )
        pixels = """async ([address, service, digest]) => {
          const told = await (await fetch(address)).json(), z = told.maxzoom, at = 2 ** (z - 1);
          const tile = await fetch(told.tiles[0].replace('{z}', z).replace('{x}', at).replace('{y}', at));
          const picture = await createImageBitmap(await tile.blob()), canvas = new OffscreenCanvas(256, 256), g = canvas.getContext('2d');
          g.drawImage(picture, 0, 0);
          const heights = new Float32Array(await (await fetch(`${service}v1/results/${digest}/fields/height.r32`)).arrayBuffer());
          return [[...g.getImageData(0, 0, 256, 256).data], [...heights], tile.headers.get('etag'),
              tile.headers.get('thalweg-spacing')]; }"""
        rgba, heights, tag, spacing = page.evaluate(
            pixels, [style["sources"]["height"]["url"], served.url, result["digest"]]
        )
        red, green, blue, _ = (
            np.array(rgba, dtype=np.float64).reshape(256, 256, 4).transpose(2, 0, 1)
        )
        off = np.abs(
            red * 256 + green + blue / 256 - 32768 - np.array(heights).reshape(257, 257)[:256, :256]
        ).max()
        assert off <= 0.5 / 256, f"off by {off} m"
        assert tag and spacing == "20", "a page sees what answers say of themselves"
        assert page.evaluate("async (a) => (await fetch(a)).ok", style["sources"]["colours"]["url"])
        # A service that was not told of the site lets nothing be read, and nothing be sent.
        for path, options in [
            ("v1/stages", {}),
            ("v1/recipes", {"method": "POST", "body": json.dumps(SMALL)}),
        ]:
            refused = page.evaluate(
                "([a, o]) => fetch(a, o).then(() => false, () => true)",
                [closed.url + path, options],
            )
            assert refused, path
        page.close()
    finally:
        site.shutdown()
        served.end()
        closed.end()

"""The story that has to hold: draw, let water run, take the land away, find it again; also when the service dies or asks for a token."""
import io
import json
import subprocess

import numpy as np
import pytest

from conftest import SMALL, Served

pytestmark = pytest.mark.story


def the_same_by_the_command(editor, thalweg, folder, made):
    """The recipe that the page hands over, run by the command, has the bytes of a file from the page."""
    editor.page.click("#tab-take")
    editor.page.click("#copy-toml")
    # The clipboard may still have the recipe of another page.
    name = f'name = "{editor.state()["recipe"]["name"]}"'
    (folder / "land.toml").write_text(editor.copied(lambda text: "[[stage]]" in text and name in text))
    subprocess.run([thalweg, "run", "land.toml", "-o", "out", "-q", "--device", "cpu"], cwd=folder, check=True)
    subprocess.run([thalweg, "convert", "out/height.tif", "height.npy", "-q"], cwd=folder, check=True)
    again = np.load(folder / "height.npy")
    # Compared here: pytest would spend minutes on how long bytes differ.
    same = again.shape == made.shape and again.astype("<f4").tobytes() == made.astype("<f4").tobytes()
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
    drawing = editor.until("a coarse level with the stroke comes while it is drawn", lambda s: len(s["live"]) > 1)
    assert drawing["live"][1][1] < SMALL["width"], "the first level is a coarse one"
    worn = editor.heights()
    editor.until("water changes the coarse land", lambda _: np.abs(editor.heights() - block_out).max() > 1)
    page.mouse.move(*editor.at(0.6, 0.4), steps=3)
    page.mouse.up()
    page.keyboard.press("5")
    editor.draw((0.3, 0.75), (0.48, 0.55), steps=2)
    page.keyboard.press("7")
    editor.draw((0.4, 0.4), (0.6, 0.6), steps=2)
    page.keyboard.press("v")
    state = editor.settled()
    strokes = state["recipe"]["stage"][1]
    assert strokes["kind"] == "strokes" and [s["tool"] for s in strokes["stroke"]] == ["raise", "ramp", "raise"]
    assert np.ptp(editor.heights()) > 20 and worn.shape == editor.heights().shape
    assert np.abs(editor.colours() - bare)[150:600, 100:900].mean() > 2, "the picture does not change"
    keep(editor, "story-drawn")

    # Simulate, with progress.
    page.click("#simulate")
    page.wait_for_selector("#progress progress")
    state = editor.until("the run is done and shown", lambda s: s["result"] and s["mode"] == "run")
    assert state["run"][-1] == [0, 257, 257]
    assert state["checked"] > 1 and state["equal"] == state["checked"], "levels of the run have other bytes than the preview"

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
    assert np.abs(block_out - done).max() > 1 and np.abs(between - done).max() > 0.1 and not np.array_equal(between, block_out)

    # Away with it: the file, and the same bytes by the command.
    made = heights_taken(editor)
    assert np.array_equal(made.ravel(), done), "the file has other heights than the view"
    the_same_by_the_command(editor, thalweg, tmp_path, made)

    # It is there again when the page is opened again.
    page.wait_for_timeout(600)
    page.reload()
    again = editor.settled()
    assert again["recipe"] == state["recipe"] and again["digest"] == state["digest"]
    editor.until("the run is here again", lambda s: s["result"] and s["mode"] == "run")
    assert np.array_equal(editor.heights(), done)
    keep(editor, "story-again")


def test_the_service_dies_in_mid_job(window, thalweg, tmp_path, keep):
    """It is killed while a job runs and started again; the page waits, goes on, and ends with the bytes of the command."""
    state = tmp_path / "state"
    served = Served(thalweg, state, "--snapshots", "0")
    # Its last stage takes long and has no levels, so it is killed there, when all levels are done.
    slides = {"kind": "thermal", "steps": 8000, "levels": False, "repose_deg": 25}
    editor = window({**SMALL, "name": "long", "stage": [*SMALL["stage"], slides]}, at=served.url)
    page = editor.page
    page.click("#simulate")
    editor.until("it is in its last stage", lambda s: s["progress"] and s["progress"]["stage"] == "thermal" and s["progress"]["step"] > 0)
    served.kill()
    editor.until("the page notices", lambda s: s["waiting"])
    assert "does not answer" in page.inner_text("#progress")
    keep(editor, "story-waiting")
    served = Served(thalweg, state, "--snapshots", "0", port=served.port)
    try:
        editor.until("it goes on", lambda s: not s["waiting"])
        editor.until("the run is done and shown", lambda s: s["result"] and s["mode"] == "run", 180)
        made = heights_taken(editor)
        assert np.array_equal(made.ravel(), editor.heights())
        the_same_by_the_command(editor, thalweg, tmp_path, made)
        # It went on from its snapshot, and was not begun anew by the page.
        assert page.evaluate("fetch('v1/jobs').then((r) => r.json()).then((r) => r.jobs.length)") == 1
        # The browser itself logs that nobody answered.
        editor.faults[:] = [fault for fault in editor.faults if "Failed to load resource: net::ERR_" not in fault]
    finally:
        served.end()


def test_a_token_is_asked_for(window, thalweg, tmp_path, keep):
    (tmp_path / "token").write_text("a-token-of-more-than-16\n")
    served = Served(thalweg, tmp_path / "state", "--token-file", tmp_path / "token")
    try:
        editor = window(recipe=None, at=served.url)
        page = editor.page
        for wrong, told in [("short", "16 or more"), ("another-token-of-16-letters", "does not take")]:
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
        answer = subprocess.run(["bash", "-c", copied], env={"THALWEG_TOKEN": "a-token-of-more-than-16", "PATH": "/usr/bin:/bin"}, check=True, capture_output=True)
        assert json.loads(answer.stdout)["result"]["digest"] == editor.state()["result"]["digest"]
        # A page of the same window needs to ask no more.
        page.goto(served.url + "dungeons.html")
        editor.wait("thalweg.state().rooms > 0")
        # The browser itself logs refusals.
        editor.faults[:] = [fault for fault in editor.faults if "401" not in fault]
    finally:
        served.end()

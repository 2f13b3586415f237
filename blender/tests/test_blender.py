"""The add-on in Blender, installed from the zip: lands, meshes, images, undo, stopping, errors."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import hills


def points_of(mesh):
    found = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)


def attribute(mesh, name):
    found = np.empty(len(mesh.vertices), np.float32)
    mesh.attributes[name].data.foreach_get("value", found)
    return found


def contents(bpy):
    """What a file has, but for what Blender's own start brings."""
    kinds = ("objects", "meshes", "curves", "images", "textures", "materials")
    return {(kind, one.name) for kind in kinds for one in getattr(bpy.data, kind)}


def add_mesh(blender, points, quads, name="given"):
    bpy = blender.bpy
    mesh = blender.scene.new_mesh(name, np.asarray(points), np.asarray(quads))
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.collection.objects.link(thing)
    bpy.context.view_layer.objects.active = thing
    thing.select_set(True)
    return thing


def add_hills(blender, **changes):
    heights = hills()
    made = blender.grid.surface(heights, changes.pop("spacing_m", 10.0))
    return heights, add_mesh(blender, made.points, made.quads, **changes)


def refused(call):
    """What an operator says as an error, exactly."""
    with pytest.raises(RuntimeError) as error:
        call()
    text = str(error.value)
    assert text.startswith("Error: ")
    return text.removeprefix("Error: ").strip()


def test_blender_checks_and_installs_the_zip(installed):
    import bl_pkg
    import thalweg

    # The wheel came with the extension.
    assert str(installed.folder / "user") in thalweg.__file__
    tool = bl_pkg.__path__[0] + "/cli/blender_ext.py"
    said = subprocess.run(
        [sys.executable, tool, "validate", installed.archive],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    for name in ("VIEW3D_PT_thalweg", "VIEW3D_PT_thalweg_land", "VIEW3D_PT_thalweg_erode"):
        assert hasattr(installed.bpy.types, name)


def test_the_add_on_can_be_switched_off_and_on(blender):
    blender.addon.unregister()
    assert not hasattr(blender.bpy.types.Scene, "thalweg")
    blender.addon.register()
    assert blender.bpy.context.scene.thalweg.recipe == "mountains"


def test_every_choice_keeps_its_own_number(blender):
    settings = blender.settings
    for items in (settings.RECIPES, settings.PRESETS, settings._devices()):
        assert len({number for *_, number in items}) == len(items)
    # Files keep these numbers: they may not change.
    numbers = {key: number for key, *_, number in settings.RECIPES}
    assert (numbers["mountains"], numbers[settings.FILE]) == (444467394, 1560636882)


@pytest.mark.parametrize("unit", [1, 100])
def test_a_land_is_a_mesh_with_its_exact_heights(blender, unit):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    settings.recipe, settings.maps = "valley", "ALL"
    settings.own_seed, settings.seed, settings.metres_per_unit = True, 7, unit
    assert bpy.ops.thalweg.make_land() == {"FINISHED"}
    recipe = thalweg.Recipe("valley")
    land = thalweg.run(recipe, size=64, seed=7, maps=recipe.possible_maps, device="cpu")

    thing = bpy.context.active_object
    mesh = thing.data
    points = points_of(mesh)
    assert points[:, 2].tobytes() == (land["height"] / np.float32(unit)).tobytes()
    # The first row is the north, the first column the west.
    half = 63 / 2 * land.spacing_m / unit
    assert points[0, :2].tolist() == points_at(-half, half)
    assert points[63, :2].tolist() == points_at(half, half)
    assert points[-64, :2].tolist() == points_at(-half, -half)
    assert mesh["thalweg_height_blake3"] == land.digest("height")
    assert thalweg.Recipe(mesh["thalweg_recipe"]) == land.recipe

    names = set(recipe.possible_maps) - {"height"}
    assert names <= set(mesh.attributes.keys())
    for name in names:
        assert attribute(mesh, name).tobytes() == land[name].tobytes(), name
    assert len(mesh.polygons) == 63 * 63
    smooth = np.empty(len(mesh.polygons), bool)
    mesh.polygons.foreach_get("use_smooth", smooth)
    up = np.empty(3 * len(mesh.polygons), np.float32)
    mesh.polygons.foreach_get("normal", up)
    assert smooth.all() and (up[2::3] > 0).all()
    assert not mesh.validate()
    corner = mesh.uv_layers["UVMap"].uv[0].vector
    assert np.allclose(corner, (0.5 / 64, 1 - 0.5 / 64))
    assert [m.name for m in mesh.materials] == ["valley ground"]


def points_at(*numbers):
    return [float(np.float32(n)) for n in numbers]


def test_a_land_has_the_words_of_the_command(blender, command, tmp_path):
    bpy = blender.bpy
    for recipe in ("mountains", "island"):
        bpy.context.scene.thalweg.recipe = recipe
        bpy.ops.thalweg.make_land()
        mesh = bpy.context.active_object.data
        text = tmp_path / f"{recipe}.toml"
        text.write_text(mesh["thalweg_recipe"])
        out = tmp_path / recipe
        words = [command, "run", text, "-o", out, "--set", "output.format=npy"]
        subprocess.run(words, check=True, capture_output=True)
        manifest = json.loads((out / "manifest.json").read_text())
        height = next(m for m in manifest["maps"] if m["name"] == "height")
        assert mesh["thalweg_height_blake3"] == height["words_blake3"]
        stored = np.load(out / height["file"])
        assert points_of(mesh)[:, 2].tobytes() == stored.astype(np.float32).tobytes()


def test_a_land_of_a_file_that_the_panel_names(blender, tmp_path):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    settings.recipe = "FILE"
    assert refused(bpy.ops.thalweg.make_land) == "no recipe: choose a file, or one of the list"
    path = tmp_path / "own.toml"
    path.write_text(thalweg.Recipe("desert").to_toml())
    settings.recipe_file, settings.size = str(path), 48
    assert bpy.ops.thalweg.make_land() == {"FINISHED"}
    want = thalweg.run("desert", size=48)["height"]
    assert points_of(bpy.context.active_object.data)[:, 2].tobytes() == want.tobytes()


def test_biomes_are_a_colour(blender):
    import thalweg

    bpy = blender.bpy
    bpy.context.scene.thalweg.recipe = "biomes"
    bpy.ops.thalweg.make_land()
    mesh = bpy.context.active_object.data
    layer = mesh.color_attributes["biome_colour"]
    colours = np.empty(4 * len(layer.data), np.float32)
    layer.data.foreach_get("color_srgb", colours)
    bytes_ = np.rint(colours.reshape(-1, 4) * 255).astype(int)
    want = thalweg.run("biomes", size=64, maps=["biome_colour"])["biome_colour"].ravel()
    assert (bytes_[:, 0] * 65536 + bytes_[:, 1] * 256 + bytes_[:, 2] == want).all()


def test_a_plane_is_displaced_to_the_heights(blender):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    # 64 faces a side, so that each point is a sample.
    settings.form, settings.size, settings.metres_per_unit = "PLANE", 65, 1
    bpy.ops.thalweg.make_land()
    thing = bpy.context.active_object
    assert len(thing.data.vertices) == 4
    # Without interpolation a point has its own sample. Blender takes the mean of three equal
    # channels, which may differ in the last bit.
    thing.modifiers["Height"].texture.use_interpolation = False
    depsgraph = bpy.context.evaluated_depsgraph_get()
    points = points_of(thing.evaluated_get(depsgraph).to_mesh())
    land = thalweg.run("mountains", size=65)
    order = np.lexsort((points[:, 0].round(2), -points[:, 1].round(2)))
    bits = points[order][:, 2].view(np.int32) - land["height"].ravel().view(np.int32)
    assert np.abs(bits).max() <= 1
    assert np.ptp(points[:, 0]) == pytest.approx(64 * land.spacing_m, rel=1e-6)
    assert {("images", "mountains height"), ("textures", "mountains height")} <= contents(bpy)


def test_rivers_lakes_and_the_sea_are_objects(blender):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    settings.recipe, settings.size, settings.water = "rivers", 0, True
    settings.metres_per_unit, settings.river_times = 100, 2
    bpy.ops.thalweg.make_land()
    land = thalweg.run("rivers", water=True)
    thing = bpy.context.active_object
    water, rivers = bpy.data.objects["rivers water"], bpy.data.objects["rivers rivers"]
    assert water.parent == rivers.parent == thing

    levels = {f["properties"]["level_m"] for f in land.lakes()["features"]}
    heights = points_of(water.data)[:, 2]
    assert set(heights) == {np.float32(level) / np.float32(100) for level in levels} and 0 in levels
    assert (np.ptp(heights.reshape(-1, 4), axis=1) == 0).all()

    features = land.rivers()["features"]
    assert len(rivers.data.splines) == len(features) > 20
    rows, columns = land.shape
    width = land["river_width"]
    for spline, feature in zip(rivers.data.splines, features, strict=True):
        line = np.array(feature["geometry"]["coordinates"])
        # In the middle of a river, where a cell has its width.
        x, y, z = line[len(line) // 2]
        point = spline.points[len(line) // 2]
        want = (x / 100 - (columns - 1) * 0.1, y / 100 + (rows - 1) * 0.1, z / 100)
        assert np.allclose(point.co[:3], want, atol=1e-4)
        here = width[round(-y / 20), round(x / 20)] or feature["properties"]["width_m"]
        assert point.radius == pytest.approx(here / 100, rel=1e-6)

    settings.own_sea, settings.sea_level_m, settings.water = True, 100, False
    bpy.ops.thalweg.make_land()
    sea = next(t for t in bpy.context.active_object.children if t.type == "MESH")
    assert 1 in points_of(sea.data)[:, 2]


def test_a_grid_is_eroded_point_by_point(blender):
    import thalweg

    bpy = blender.bpy
    heights, old = add_hills(blender)
    material = bpy.data.materials.new("mine")
    old.data.materials.append(material)
    old.location, old.rotation_euler = (5, 6, 7), (0.3, 0.2, 1)
    settings = bpy.context.scene.thalweg
    settings.preset, settings.maps = "deep", "RECIPE"
    assert bpy.ops.thalweg.erode_mesh() == {"FINISHED"}
    land = thalweg.erode(heights, spacing_m=10, preset="deep", maps=["flow", "slope"])

    new = bpy.context.active_object
    assert new.name == "given eroded" and new.matrix_world == old.matrix_world
    assert points_of(new.data)[:, 2].tobytes() == land["height"].tobytes()
    assert (points_of(new.data)[:, :2] == points_of(old.data)[:, :2]).all()
    assert points_of(old.data)[:, 2].tobytes() == heights.tobytes()
    assert np.abs(land["height"] - heights).max() > 1
    assert attribute(new.data, "flow").tobytes() == land["flow"].tobytes()
    assert list(new.data.materials) == [material]
    assert old.hide_get() and old.hide_render and not new.hide_get()
    assert new.data["thalweg_height_blake3"] == land.digest("height")


def test_the_scale_of_an_object_and_of_the_scene_counts(blender):
    import thalweg

    bpy = blender.bpy
    heights, old = add_hills(blender, spacing_m=2.0)
    old.scale = (2, 2, 0.5)
    bpy.context.scene.thalweg.metres_per_unit = 4
    bpy.context.view_layer.update()
    bpy.ops.thalweg.erode_mesh()
    # 2 units of 2 · 4 m, and heights of 0.5 · 4 m.
    land = thalweg.erode(heights * 2, spacing_m=16)
    z = points_of(bpy.context.active_object.data)[:, 2]
    assert z.tobytes() == (land["height"] / 2).tobytes()


def test_the_grid_of_blender_and_its_modifiers_are_eroded(blender):
    import thalweg

    bpy = blender.bpy
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=40, y_subdivisions=40, size=400)
    thing = bpy.context.active_object
    texture = bpy.data.textures.new("noise", "CLOUDS")
    texture.noise_scale = 100
    modifier = thing.modifiers.new("d", "DISPLACE")
    modifier.texture, modifier.strength = texture, 100
    bpy.ops.thalweg.erode_mesh()
    points = points_of(thing.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh())
    # Blender's rows begin in the south.
    heights = points[:, 2].reshape(41, 41)[::-1]
    assert np.ptp(heights) > 10
    land = thalweg.erode(heights, spacing_m=10)
    new = bpy.context.active_object
    assert len(new.modifiers) == 0
    z = points_of(new.data)[:, 2].reshape(41, 41)[::-1]
    assert z.tobytes() == land["height"].tobytes()


def test_another_mesh_is_sampled_from_above(blender):
    import thalweg

    bpy = blender.bpy
    made = blender.grid.surface(hills(), 10)
    angle = 0.5
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    points = made.points.copy()
    points[:, :2] = points[:, :2] @ turn + [300, 0]
    old = add_mesh(blender, points, made.quads)
    old.data.materials.append(bpy.data.materials.new("mine"))
    bpy.context.scene.thalweg.sample_size = 50
    assert bpy.ops.thalweg.erode_mesh() == {"FINISHED"}

    quads = made.quads
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    seen = blender.grid.from_above(points_of(old.data), triangles, 50)
    inside = ~np.isnan(seen.heights)
    land = thalweg.erode(seen.heights, spacing_m=seen.spacing_m)
    new = bpy.context.active_object.data
    found = points_of(new)
    assert len(found) == inside.sum() < inside.size
    # Blender may cut a face along the other diagonal, so heights differ by less than a face does.
    assert np.abs(found[:, 2] - land["height"][inside]).max() < 5
    assert np.abs(found[:, 0].min() - points[:, 0].min()) < seen.spacing_m
    assert np.abs(found[:, 1].max() - points[:, 1].max()) < seen.spacing_m
    assert [m.name for m in new.materials] == ["mine"]


def test_what_is_no_terrain_is_refused(blender):
    bpy = blender.bpy
    erode = bpy.ops.thalweg.erode_mesh
    bpy.ops.object.camera_add()
    assert refused(erode) == "Camera is a camera: select a mesh"
    add_mesh(blender, np.zeros((0, 3)), np.zeros((0, 4), int), "nothing")
    assert refused(erode) == "nothing is empty: select a mesh with faces"
    wall = [[0, 0, 0], [9, 0, 0], [9, 0, 9], [0, 0, 9]]
    add_mesh(blender, wall, [[0, 1, 2, 3]])
    assert refused(erode) == "the mesh has no area seen from above, along its own Z axis"
    add_mesh(blender, [[0, 0, 0], [9, 1, 0], [9, 4, 9]], np.zeros((0, 4), int))
    assert "has no faces" in refused(erode)
    _, thing = add_hills(blender, name="mirrored")
    thing.scale = (1, -1, 1)
    bpy.context.view_layer.update()
    before = contents(bpy)
    assert "allowed is more than 0; apply the scale first" in refused(erode)
    assert contents(bpy) == before and not thing.hide_get()


def test_errors_of_thalweg_are_shown_as_they_are_and_leave_nothing(blender, tmp_path):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    before = contents(bpy)

    def own(call, *words, **options):
        with pytest.raises(thalweg.Error) as error:
            call(*words, **options)
        return str(error.value)

    settings.recipe, settings.size = "biomes", 1_000_000
    said = own(thalweg.run, "biomes", size=1_000_000, device="cpu")
    assert refused(bpy.ops.thalweg.make_land) == said
    settings.size, settings.recipe, settings.recipe_file = 64, "FILE", str(tmp_path / "no.toml")
    assert refused(bpy.ops.thalweg.make_land) == own(thalweg.Recipe, tmp_path / "no.toml")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(thalweg.Recipe("mountains").to_toml().replace("incision", "incission"))
    settings.recipe_file = str(wrong)
    assert refused(bpy.ops.thalweg.make_land) == own(thalweg.Recipe, wrong)
    assert contents(bpy) == before

    heights, thing = add_hills(blender, spacing_m=1e-6)
    before = contents(bpy)
    said = own(thalweg.erode, heights, spacing_m=1e-6)
    assert refused(bpy.ops.thalweg.erode_mesh) == said
    assert contents(bpy) == before and not thing.hide_get()


def test_a_failure_half_way_leaves_nothing(blender, monkeypatch):
    bpy = blender.bpy

    def fail(land, *rest):
        raise MemoryError("no room")

    settings = bpy.context.scene.thalweg
    settings.water = True
    before = contents(bpy)
    for name in ("ground_material", "water_object", "rivers_object", "say_origin"):
        with monkeypatch.context() as patch:
            patch.setattr(blender.scene, name, fail)
            assert refused(bpy.ops.thalweg.make_land) == "MemoryError: no room"
            assert contents(bpy) == before, name


def test_undo_takes_a_land_and_an_erosion_back(blender):
    bpy = blender.bpy
    before = contents(bpy)
    bpy.ops.thalweg.make_land("EXEC_DEFAULT", True)
    assert ("objects", "mountains") in contents(bpy)
    bpy.ops.thalweg.erode_mesh("EXEC_DEFAULT", True)
    assert bpy.data.objects["mountains"].hide_get()
    bpy.ops.ed.undo()
    assert not bpy.data.objects["mountains"].hide_get()
    assert ("objects", "mountains eroded") not in contents(bpy)
    bpy.ops.ed.undo()
    assert contents(bpy) == before
    bpy.ops.ed.redo()
    assert ("objects", "mountains") in contents(bpy)


class Window:
    """Stands in for a window, which Blender as a module has not: it passes events to `modal`."""

    def __init__(self, blender, monkeypatch):
        self.said, self.status, self.timers = [], None, []
        self.run = blender.operators.Run
        own = blender.bpy.context
        operators = blender.operators
        app = SimpleNamespace(background=False)
        monkeypatch.setattr(
            operators, "bpy", SimpleNamespace(app=app, data=own.blend_data, path=blender.bpy.path)
        )
        manager = SimpleNamespace(
            event_timer_add=lambda *a, **k: self.timers.append(1) or len(self.timers),
            event_timer_remove=lambda timer: self.timers.pop(),
            modal_handler_add=lambda operator: None,
            windows=[],
        )
        workspace = SimpleNamespace(status_text_set=lambda text: setattr(self, "status", text))

        class Context:
            window_manager, window = manager, None

            def __getattr__(self, name):
                return getattr(own, name)

        Context.workspace = workspace
        self.context = Context()

    def press(self, kind):
        """An operator that is run as the button runs it."""
        window = self

        class Pressed(self.run):
            prepare = kind.prepare

            def report(self, kinds, text):
                window.said.append((*kinds, text))

        pressed = Pressed()
        return pressed, pressed.invoke(self.context, None)

    def event(self, pressed, kind):
        return pressed.modal(self.context, SimpleNamespace(type=kind, value="PRESS"))

    def wait(self, pressed, tries=600):
        """Timer events until the job has ended."""
        for _ in range(tries):
            said = self.event(pressed, "TIMER")
            if said != {"PASS_THROUGH"}:
                return said
            pressed._job._thread.join(0.1)
        raise AssertionError("the job does not end")


def test_a_button_works_beside_the_window(blender, monkeypatch):
    import thalweg

    window = Window(blender, monkeypatch)
    operators = blender.operators
    pressed, said = window.press(operators.THALWEG_OT_make_land)
    assert said == {"RUNNING_MODAL"} and len(window.timers) == 1
    assert operators.running is pressed._job
    # Other events belong to Blender, and another run has to wait.
    assert window.event(pressed, "MOUSEMOVE") == {"PASS_THROUGH"}
    assert window.press(operators.THALWEG_OT_make_land)[1] == {"CANCELLED"}
    assert window.said == [("ERROR", "thalweg is at work: wait, or stop it with Esc")]
    assert window.wait(pressed) == {"FINISHED"}
    mesh = blender.bpy.data.objects["mountains"].data
    want = thalweg.run("mountains", size=64)["height"]
    assert points_of(mesh)[:, 2].tobytes() == want.tobytes()
    assert not window.timers and window.status is None and operators.running is None


@pytest.mark.parametrize("how", ["escape", "button", "another file"])
def test_a_run_is_stopped_and_leaves_nothing(blender, monkeypatch, how):
    bpy = blender.bpy
    window = Window(blender, monkeypatch)
    operators = blender.operators
    # Many seconds of work.
    bpy.context.scene.thalweg.size = 4096
    before = contents(bpy)
    pressed, _ = window.press(operators.THALWEG_OT_make_land)
    while pressed._job.at is None:
        assert window.event(pressed, "TIMER") == {"PASS_THROUGH"}
        pressed._job._thread.join(0.01)
    window.event(pressed, "TIMER")
    assert window.status.startswith("Thalweg: ") and "Esc" in window.status
    if how == "another file":
        pressed.cancel(window.context)
        with pytest.raises(blender.operators.Stopped):
            pressed._job.result()
    else:
        if how == "escape":
            assert window.event(pressed, "ESC") == {"RUNNING_MODAL"}
        else:
            operators.THALWEG_OT_stop.execute(None, None)
        assert window.wait(pressed) == {"CANCELLED"}
        assert window.said == [("INFO", "stopped: nothing was changed")]
    assert contents(bpy) == before
    assert not window.timers and window.status is None and operators.running is None


def test_an_error_in_the_thread_is_shown(blender, monkeypatch):
    window = Window(blender, monkeypatch)
    settings = blender.bpy.context.scene.thalweg
    settings.recipe, settings.size = "biomes", 1_000_000
    pressed, _ = window.press(blender.operators.THALWEG_OT_make_land)
    assert window.wait(pressed) == {"CANCELLED"}
    ((kind, text),) = window.said
    assert kind == "ERROR" and "1000000" in text.replace(" ", "")
    assert not window.timers and blender.operators.running is None


@pytest.mark.parametrize("how", ["moved", "removed"])
def test_a_mesh_that_changes_meanwhile_is_left_alone(blender, monkeypatch, how):
    bpy = blender.bpy
    _, thing = add_hills(blender)
    window = Window(blender, monkeypatch)
    pressed, _ = window.press(blender.operators.THALWEG_OT_erode_mesh)
    if how == "moved":
        thing.data.vertices[3].co.z += 1
        thing.data.update()
    else:
        bpy.data.objects.remove(thing)
    before = contents(bpy)
    assert window.wait(pressed) == {"CANCELLED"}
    assert window.said == [("ERROR", "given was changed while it was eroded: nothing was made")]
    assert contents(bpy) == before


def test_an_image_is_eroded_and_stored(blender, tmp_path):
    import thalweg

    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    given = (hills() / 1024).astype(np.float32)
    settings.image = blender.scene.new_image("given", given)
    settings.image_metres, settings.image_cell_m = 1024, 10
    assert bpy.ops.thalweg.erode_image() == {"FINISHED"}
    land = thalweg.erode(given * np.float32(1024), spacing_m=10)
    assert settings.image.name == "given eroded"
    # Nothing else uses it: it is stored all the same.
    settings.image = None
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    image = bpy.data.images["given eroded"]
    assert image.is_float and tuple(image.size) == (64, 48)
    assert blender.scene.read_image(image).tobytes() == (land["height"] / 1024).tobytes()
    # The bottom row of an image comes first in Blender.
    assert image.pixels[0] == np.float32(land["height"][-1, 0] / 1024)


def test_a_png_of_16_bits_is_eroded(blender, tmp_path):
    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    values = np.rint(hills() / 1024 * 65535).astype(np.uint16)
    path = tmp_path / "h.png"
    path.write_bytes(png16(values))
    image = bpy.data.images.load(str(path))
    settings.image = image
    assert "set it to Non-Color" in refused(bpy.ops.thalweg.erode_image)
    image.colorspace_settings.name = "Non-Color"
    read = blender.scene.read_image(image)
    assert (np.rint(read * 65535) == values).all()
    assert bpy.ops.thalweg.erode_image() == {"FINISHED"}


def png16(values):
    """A PNG of grey in 16 bits."""
    import struct
    import zlib

    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    rows, columns = values.shape
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">IIBBBBB", columns, rows, 16, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


def test_images_that_hold_no_heights_are_refused(blender):
    bpy = blender.bpy
    settings = bpy.context.scene.thalweg
    erode = bpy.ops.thalweg.erode_image
    assert refused(erode) == "no image: choose one"
    settings.image = bpy.data.images.new("bytes", 32, 32)
    assert refused(erode).startswith("bytes has 8 bits a channel: allowed are 16 bits")
    gone = bpy.data.images.new("gone", 32, 32, float_buffer=True, is_data=True)
    gone.source = "FILE"
    gone.filepath = "/nowhere/gone.exr"
    settings.image = gone
    assert refused(erode) == "gone has no pixels: its file may be missing"


def test_a_device_that_is_not_here_is_refused(blender):
    bpy = blender.bpy
    bpy.context.scene.thalweg["device"] = 12345
    if bpy.app.version >= (5, 0):
        bpy.context.scene.thalweg.bl_system_properties_get()["device"] = 12345
    said = refused(bpy.ops.thalweg.make_land)
    assert said == "the device that this file names is not here: choose another"


class Layout:
    """Stands in for Blender's layout: notes what is shown, and knows what Blender's takes."""

    def __init__(self, known, shown):
        self._known, self._shown = known, shown

    def __getattr__(self, name):
        parameters = self._known.functions[name].parameters.keys()

        def call(*given, **named):
            assert set(named) <= set(parameters), (name, named)
            if name in ("prop", "template_ID"):
                assert given[1] in given[0].bl_rna.properties, given[1]
                self._shown.add(given[1])
            if name == "operator":
                self._shown.add(given[0])
            return Layout(self._known, self._shown)

        return call


@pytest.mark.parametrize("at_work", [False, True])
def test_the_panel_shows_every_setting_and_button(blender, monkeypatch, at_work):
    from bl_ext.user_default.thalweg import panel

    bpy = blender.bpy
    if at_work:
        job = SimpleNamespace(fraction=0.5, text="incision (2 of 3)")
        monkeypatch.setattr(blender.operators, "running", job)
    bpy.context.scene.thalweg.recipe = "FILE"
    shown = set()
    for kind in panel.CLASSES:
        layout = Layout(bpy.types.UILayout.bl_rna, shown)
        kind.draw(SimpleNamespace(layout=layout), bpy.context)
    settings = set(bpy.context.scene.thalweg.bl_rna.properties.keys()) - {"rna_type", "name"}
    buttons = {kind.bl_idname for kind in blender.operators.CLASSES}
    assert shown == (settings | buttons if at_work else settings | buttons - {"thalweg.stop"})

"""The buttons. Each reads the scene, computes in a thread, and then changes the scene at once."""

import traceback
from typing import ClassVar, NamedTuple

import bpy
import numpy as np
import thalweg

from . import grid, scene
from .grid import Refused
from .job import Job, Stopped
from .settings import FILE

#: The job that runs, if any. There is one at a time.
running = None


class Plan(NamedTuple):
    """What a button does, in two halves."""

    #: Computes, given a function to call with its progress. It knows nothing of Blender.
    work: object
    #: Called with the context and what `work` returned: makes objects, and returns notes.
    finish: object


class Run:
    """A button that computes in a thread.

    `prepare` reads what it needs from Blender and returns a `Plan`.
    """

    # Without REGISTER: adjusting the last operation would compute again, and block the window.
    bl_options: ClassVar = {"UNDO"}

    def prepare(self, context) -> Plan:
        raise NotImplementedError

    def execute(self, context):
        """Runs at once, as scripts ask for it."""
        return self._tried(self._run, context)

    def invoke(self, context, event):
        """Runs beside the window."""
        return self._tried(self._run if bpy.app.background else self._start, context)

    def _run(self, context):
        plan = self.prepare(context)
        return self._finish(context, plan, plan.work(None))

    def _start(self, context):
        global running
        if running is not None:
            raise Refused("thalweg is at work: wait, or stop it with Esc")
        self._plan = self.prepare(context)
        self._job = running = Job(self._plan.work)
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.1, window=context.window)
        manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context, event):
        """Looks at the job ten times a second; all other events go on to Blender."""
        if event.type == "ESC" and event.value == "PRESS":
            self._job.stop()
            return {"RUNNING_MODAL"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        _redraw(context)
        context.workspace.status_text_set(
            f"Thalweg: {self._job.text}, {self._job.fraction:.0%}   Esc: stop"
        )
        if not self._job.done:
            return {"PASS_THROUGH"}
        self._end(context)
        return self._tried(lambda: self._finish(context, self._plan, self._job.result()))

    def cancel(self, context):
        """Blender calls this when it ends the operator, as when another file is opened."""
        self._job.stop()
        self._end(context)

    def _end(self, context):
        global running
        running = None
        context.window_manager.event_timer_remove(self._timer)
        context.workspace.status_text_set(None)
        _redraw(context)

    def _finish(self, context, plan, result):
        with scene.all_or_nothing():
            for kind, note in plan.finish(context, result):
                self.report({kind}, note)
        return {"FINISHED"}

    def _tried(self, step, *given):
        """What a step returns; if it fails, the user is told."""
        try:
            return step(*given)
        except Stopped:
            self.report({"INFO"}, "stopped: nothing was changed")
        except (thalweg.Error, Refused) as error:
            self.report({"ERROR"}, str(error))
        except Exception as error:  # noqa: BLE001 - the window goes on, whatever it is.
            traceback.print_exception(error)
            self.report({"ERROR"}, f"{type(error).__name__}: {error}")
        return {"CANCELLED"}


def _redraw(context):
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def _warnings(land):
    return [("WARNING", warning) for warning in land.report["warnings"]]


def _device(settings) -> str:
    """The device that the panel names."""
    if not settings.device:
        raise Refused("the device that this file names is not here: choose another")
    return settings.device


def _recipe(settings) -> thalweg.Recipe:
    """The recipe that the panel names, with its changes."""
    source = settings.recipe
    if source == FILE:
        if not settings.recipe_file:
            raise Refused("no recipe: choose a file, or one of the list")
        source = bpy.path.abspath(settings.recipe_file)
        if not source.lower().endswith((".toml", ".json")):
            raise Refused(f"{source}: allowed are recipes that end in .toml or .json")
    changes = {}
    if settings.own_sea:
        changes["water.sea_level_m"] = settings.sea_level_m
    return thalweg.Recipe(source).changed(
        changes or None,
        seed=settings.seed if settings.own_seed else None,
        size=settings.size or None,
        water=settings.water or settings.own_sea,
    )


def _shown_maps(recipe, settings) -> list[str]:
    """The maps that become attributes. The height is in the points."""
    names = {"NONE": [], "RECIPE": recipe.maps, "ALL": recipe.possible_maps}[settings.maps]
    if settings.material:
        names = names + [name for name in scene.GROUND_MAPS if name in recipe.possible_maps]
    return [name for name in dict.fromkeys(names) if name != "height"]


def _show(context, thing, parent=None):
    """Puts an object into the scene; without a parent it is the active one, at the 3D cursor."""
    context.collection.objects.link(thing)
    if parent is not None:
        thing.parent = parent
        return
    thing.location = context.scene.cursor.location
    _make_active(context, thing)


def _make_active(context, thing):
    for other in context.selected_objects:
        other.select_set(False)
    thing.select_set(True)
    context.view_layer.objects.active = thing


class THALWEG_OT_make_land(Run, bpy.types.Operator):
    """Make a new land of a recipe"""

    bl_idname = "thalweg.make_land"
    bl_label = "Make Land"

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT"

    def prepare(self, context):
        settings = context.scene.thalweg
        recipe = _recipe(settings)
        unit, times, form = settings.metres_per_unit, settings.river_times, settings.form
        water = settings.water or settings.own_sea
        material = settings.material
        shown = _shown_maps(recipe, settings) if form == "MESH" else []
        needed = dict.fromkeys(["height", *shown, *(scene.WATER_MAPS if water else ())])
        device = _device(settings)

        def work(progress):
            return thalweg.run(recipe, maps=list(needed), device=device, progress=progress)

        def finish(context, land):
            if form == "PLANE":
                thing = scene.land_plane(land, unit)
            else:
                mesh = scene.land_mesh(land, shown, unit)
                if material:
                    mesh.materials.append(scene.ground_material(land, shown))
                thing = bpy.data.objects.new(mesh.name, mesh)
            _show(context, thing)
            if water:
                for part in (
                    scene.water_object(land, unit),
                    scene.rivers_object(land, unit, times),
                ):
                    if part is not None:
                        _show(context, part, thing)
            return _warnings(land)

        return Plan(work, finish)


class _Seen(NamedTuple):
    """A mesh as arrays, and what an object does with it."""

    #: float32 (points, 3), in the object's own units.
    points: np.ndarray
    #: int32 (edges, 2) and (triangles, 3).
    edges: np.ndarray
    triangles: np.ndarray


def _see(thing, depsgraph) -> _Seen:
    """The mesh of an object, as its modifiers leave it."""
    evaluated = thing.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", points)
    edges = np.empty(2 * len(mesh.edges), np.int32)
    mesh.edges.foreach_get("vertices", edges)
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    evaluated.to_mesh_clear()
    return _Seen(points.reshape(-1, 3), edges.reshape(-1, 2), triangles.reshape(-1, 3))


class THALWEG_OT_erode_mesh(Run, bpy.types.Operator):
    """Erode the heights of the active mesh, as seen from above. The old object is hidden"""

    bl_idname = "thalweg.erode_mesh"
    bl_label = "Erode Active Mesh"

    @classmethod
    def poll(cls, context):
        return context.mode == "OBJECT" and context.active_object is not None

    def prepare(self, context):
        settings = context.scene.thalweg
        thing = context.active_object
        if thing.type != "MESH":
            raise Refused(f"{thing.name} is a {thing.type.lower()}: select a mesh")
        scale = np.array(thing.matrix_world.to_scale())
        if not (scale > 0).all():
            raise Refused(
                f"{thing.name} has the scale {tuple(scale.round(3).tolist())}: allowed is more "
                f"than 0; apply the scale first"
            )
        seen = _see(thing, context.evaluated_depsgraph_get())
        if not len(seen.points):
            raise Refused(f"{thing.name} is empty: select a mesh with faces")
        name, unit = thing.name, scale * settings.metres_per_unit
        side, preset, device = settings.sample_size, settings.preset, _device(settings)
        seed = settings.seed if settings.own_seed else 0
        recipe = thalweg.Recipe(preset)
        shown, material = _shown_maps(recipe, settings), settings.material

        def work(progress):
            points = seen.points * unit
            found = grid.lattice(points, seen.edges)
            if found is None:
                found = grid.from_above(points, seen.triangles, side)
            land = thalweg.erode(
                found.heights,
                spacing_m=found.spacing_m,
                preset=preset,
                seed=seed,
                maps=["height", *shown],
                device=device,
                progress=progress,
            )
            return found, land

        def finish(context, result):
            found, land = result
            old = bpy.data.objects.get(name)
            depsgraph = context.evaluated_depsgraph_get()
            if old is None or not np.array_equal(_see(old, depsgraph).points, seen.points):
                raise Refused(f"{name} was changed while it was eroded: nothing was made")
            notes = _warnings(land)
            if isinstance(found, grid.Lattice):
                mesh = bpy.data.meshes.new_from_object(
                    old.evaluated_get(depsgraph), preserve_all_data_layers=True, depsgraph=depsgraph
                )
                points, cells = seen.points.copy(), found.cells
                points[:, 2] = land["height"].ravel()[cells] / float(unit[2])
                mesh.vertices.foreach_set("co", points.ravel())
                mesh.update()
            else:
                surface = grid.surface(land["height"], land.spacing_m)
                middle = np.array([*found.middle, 0])
                mesh = scene.new_mesh(
                    name, (surface.points + middle) / unit, surface.quads, surface.uvs
                )
                for one in old.data.materials:
                    mesh.materials.append(one)
                cells = surface.cells
                outside = int(np.isnan(found.heights).sum())
                rows, columns = land.shape
                note = (
                    f"{name} is no regular grid: it was sampled from above in {columns} × {rows} "
                    f"cells, of which {outside} lie outside it and are left out"
                )
                notes.append(("INFO", note))
            mesh.name = f"{name} eroded"
            scene.add_maps(mesh, land, shown, cells)
            scene.say_origin(mesh, land)
            if material and not any(mesh.materials):
                mesh.materials.clear()
                mesh.materials.append(scene.ground_material(land, shown))
            new = old.copy()
            new.name = mesh.name
            new.modifiers.clear()
            new.data = mesh
            for collection in old.users_collection:
                collection.objects.link(new)
            old.hide_set(True)
            old.hide_render = True
            _make_active(context, new)
            return notes

        return Plan(work, finish)


class THALWEG_OT_erode_image(Run, bpy.types.Operator):
    """Erode a height image into a new one"""

    bl_idname = "thalweg.erode_image"
    bl_label = "Erode Image"

    def prepare(self, context):
        settings = context.scene.thalweg
        image = settings.image
        if image is None:
            raise Refused("no image: choose one")
        if not len(image.pixels):
            raise Refused(f"{image.name} has no pixels: its file may be missing")
        if not image.is_float:
            raise Refused(
                f"{image.name} has 8 bits a channel: allowed are 16 bits and floating point, since "
                f"256 heights are terraces"
            )
        if not image.colorspace_settings.is_data:
            raise Refused(
                f"{image.name} has the colour space {image.colorspace_settings.name}, which bends "
                f"heights: set it to Non-Color"
            )
        name, metres = image.name, settings.image_metres
        values = scene.read_image(image)
        preset, device, spacing_m = settings.preset, _device(settings), settings.image_cell_m
        seed = settings.seed if settings.own_seed else 0

        def work(progress):
            return thalweg.erode(
                values * metres,
                spacing_m=spacing_m,
                preset=preset,
                seed=seed,
                device=device,
                progress=progress,
            )

        def finish(context, land):
            new = scene.new_image(f"{name} eroded", land["height"] / metres)
            scene.say_origin(new, land)
            # Blender forgets an image that nothing uses.
            new.use_fake_user = True
            context.scene.thalweg.image = new
            return [*_warnings(land), ("INFO", f"made the image {new.name}")]

        return Plan(work, finish)


class THALWEG_OT_stop(bpy.types.Operator):
    """Stop what thalweg is at, as Esc does"""

    bl_idname = "thalweg.stop"
    bl_label = "Stop"

    @classmethod
    def poll(cls, context):
        return running is not None

    def execute(self, context):
        running.stop()
        return {"FINISHED"}


CLASSES = (THALWEG_OT_make_land, THALWEG_OT_erode_mesh, THALWEG_OT_erode_image, THALWEG_OT_stop)


def register():
    for one in CLASSES:
        bpy.utils.register_class(one)


def unregister():
    if running is not None:
        running.stop()
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)

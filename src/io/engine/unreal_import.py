

# Content paths of your own assets: what stands for things, and the material of the landscape.
MESHES = {}  # such as {"trees": "/Game/Trees/SM_Spruce"}
MATERIAL = ""  # such as "/Game/Materials/M_Landscape"

import csv
import json
import os

import unreal

HERE = os.path.dirname(os.path.abspath(__file__))
actors = unreal.get_editor_subsystem(unreal.EditorActorSubsystem)


def vector(x, y, z):
    return unreal.Vector(float(x), float(y), float(z))


def asset(path):
    found = unreal.load_asset(path)
    if found is None:
        raise RuntimeError(f"{path}: no such asset; give another path at the top of this script")
    return found


def landscape():
    """The landscape that was imported: the only one of the level, or the one that is selected."""
    found = [a for a in actors.get_all_level_actors() if isinstance(a, unreal.Landscape)]
    if len(found) > 1:
        chosen = actors.get_selected_level_actors()
        found = [a for a in found if a in chosen]
    if len(found) != 1:
        heights = LAND["heights"]
        raise RuntimeError(f"{len(found)} landscapes: import {heights} first, or select one")
    return found[0]


def place(land):
    land.set_actor_location(vector(*LAND["location"]), False, False)
    land.set_actor_scale3d(vector(*LAND["scale"]))
    if MATERIAL:
        land.set_editor_property("landscape_material", asset(MATERIAL))


def scatter(name):
    """One actor with an instance for each thing."""
    mesh = asset(MESHES[name]) if name in MESHES else asset("/Engine/BasicShapes/Cone")
    # That cone stands on its middle, 50 cm above its foot.
    foot = 0.0 if name in MESHES else 50.0
    actor = actors.spawn_actor_from_class(unreal.Actor, vector(0, 0, 0))
    actor.set_actor_label(name)
    systems = unreal.get_engine_subsystem(unreal.SubobjectDataSubsystem)
    root = systems.k2_gather_subobject_data_for_instance(actor)[0]
    kind = unreal.HierarchicalInstancedStaticMeshComponent
    added, why = systems.add_new_subobject(
        unreal.AddNewSubobjectParams(parent_handle=root, new_class=kind)
    )
    data = unreal.SubobjectDataBlueprintFunctionLibrary.get_data(added)
    component = unreal.SubobjectDataBlueprintFunctionLibrary.get_object(data)
    component.set_editor_property("static_mesh", mesh)
    with open(os.path.join(HERE, LAND["things"][name]), newline="") as table:
        for row in csv.DictReader(table):
            size = float(row["size"])
            turn = unreal.Rotator(roll=0.0, pitch=0.0, yaw=float(row["turn_deg"]))
            at = unreal.Transform(
                location=vector(row["x"], row["y"], float(row["z"]) + foot * size),
                rotation=turn,
                scale=vector(size, size, size),
            )
            component.add_instance(at, True)
    return component


def rivers():
    """A river of the plugin Water for each river; nothing where the plugin is off."""
    kind = getattr(unreal, "WaterBodyRiver", None)
    if kind is None or not LAND["rivers"]:
        return
    with open(os.path.join(HERE, LAND["rivers"])) as file:
        all_rivers = json.load(file)["rivers"]
    for river in all_rivers:
        points = [vector(p["x"], p["y"], p["z"]) for p in river["points"]]
        actor = actors.spawn_actor_from_class(kind, points[0])
        spline = actor.get_component_by_class(unreal.SplineComponent)
        world = unreal.SplineCoordinateSpace.WORLD
        spline.set_spline_points(points, world, True)


def main():
    place(landscape())
    for name in LAND["things"]:
        scatter(name)
    rivers()
    for x, y, z in LAND["lakes"]:
        unreal.log(f"A lake stands at Z = {z} by X = {x}, Y = {y}")


main()

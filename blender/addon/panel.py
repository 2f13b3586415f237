"""The tab in the sidebar of the 3D view."""

import bpy

from . import operators
from .settings import FILE


class _Panel:
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Thalweg"


class VIEW3D_PT_thalweg(_Panel, bpy.types.Panel):
    bl_label = "Thalweg"

    def draw(self, context):
        layout, settings = self.layout, context.scene.thalweg
        layout.use_property_split = True
        layout.use_property_decorate = False
        job = operators.running
        if job is not None:
            row = layout.row(align=True)
            row.progress(factor=job.fraction, text=job.text)
            row.operator("thalweg.stop", text="", icon="CANCEL")
        layout.prop(settings, "device")
        layout.prop(settings, "metres_per_unit")
        row = layout.row(heading="Seed")
        row.prop(settings, "own_seed", text="")
        column = row.column()
        column.enabled = settings.own_seed
        column.prop(settings, "seed", text="")
        layout.prop(settings, "maps")
        layout.prop(settings, "material")


class VIEW3D_PT_thalweg_land(_Panel, bpy.types.Panel):
    bl_label = "New Land"
    bl_parent_id = "VIEW3D_PT_thalweg"

    def draw(self, context):
        layout, settings = self.layout, context.scene.thalweg
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "recipe")
        if settings.recipe == FILE:
            layout.prop(settings, "recipe_file")
        layout.prop(settings, "size")
        layout.prop(settings, "form", expand=True)
        layout.prop(settings, "water")
        row = layout.row(heading="Sea Level (m)")
        row.prop(settings, "own_sea", text="")
        column = row.column()
        column.enabled = settings.own_sea
        column.prop(settings, "sea_level_m", text="")
        column = layout.column()
        column.enabled = settings.water or settings.own_sea
        column.prop(settings, "river_times")
        layout.operator("thalweg.make_land", icon="ADD")


class VIEW3D_PT_thalweg_erode(_Panel, bpy.types.Panel):
    bl_label = "Erode"
    bl_parent_id = "VIEW3D_PT_thalweg"

    def draw(self, context):
        layout, settings = self.layout, context.scene.thalweg
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(settings, "preset")
        layout.separator()
        layout.prop(settings, "sample_size")
        layout.operator("thalweg.erode_mesh", icon="MESH_GRID")
        layout.separator()
        layout.template_ID(settings, "image", open="image.open")
        layout.prop(settings, "image_metres")
        layout.prop(settings, "image_cell_m")
        layout.operator("thalweg.erode_image", icon="IMAGE_DATA")


CLASSES = (VIEW3D_PT_thalweg, VIEW3D_PT_thalweg_land, VIEW3D_PT_thalweg_erode)


def register():
    for one in CLASSES:
        bpy.utils.register_class(one)


def unregister():
    for one in reversed(CLASSES):
        bpy.utils.unregister_class(one)

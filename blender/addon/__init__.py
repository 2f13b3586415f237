"""Blender's door to thalweg: a panel that makes land and erodes meshes and images.

`grid` and `job` know nothing of Blender, and so are imported and tested without it. `scene` makes
objects of arrays, `settings` has what a file stores, `operators` the buttons, `panel` their place.
"""


def register():
    """Blender calls this when the add-on is switched on."""
    from . import operators, panel, settings

    settings.register()
    operators.register()
    panel.register()


def unregister():
    """Blender calls this when the add-on is switched off."""
    from . import operators, panel, settings

    panel.unregister()
    operators.unregister()
    settings.unregister()

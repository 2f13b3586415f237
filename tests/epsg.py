#!/usr/bin/env python3
"""Makes src/io/epsg.rs: which coordinate systems of EPSG's register do not measure in metres, from
the database of PROJ in rasterio's wheel.

    python tests/epsg.py > src/io/epsg.rs
"""

import pathlib
import sqlite3

import rasterio


def table():
    path = pathlib.Path(rasterio.__file__).parent / "proj_data" / "proj.db"
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    version = db.execute("SELECT value FROM metadata WHERE key = 'EPSG.VERSION'").fetchone()[0]
    # Keys of a GeoTIFF have 16 bits, and 32767 is no code.
    axes = """SELECT CAST(s.code AS INTEGER) AS code, CAST(a.uom_code AS INTEGER), a.orientation FROM {} s JOIN axis a
        ON a.coordinate_system_auth_name = s.coordinate_system_auth_name AND a.coordinate_system_code = s.coordinate_system_code
        AND a.coordinate_system_order = 1 WHERE s.auth_name = 'EPSG' AND CAST(s.code AS INTEGER) < 32767 {}"""
    plane = {code: unit for code, unit, _ in db.execute(axes.format("projected_crs", ""))}
    vertical = {code: unit for code, unit, _ in db.execute(axes.format("vertical_crs", ""))}
    depths = {
        code: 1 for code, _, way in db.execute(axes.format("vertical_crs", "")) if way == "down"
    }
    globe = {
        code: unit
        for code, unit, _ in db.execute(
            axes.format("geodetic_crs", "AND s.type LIKE 'geographic%'")
        )
    }
    # A compound system has the units of its parts.
    compound = """SELECT CAST(code AS INTEGER), CAST(horiz_crs_code AS INTEGER), CAST(vertical_crs_code AS INTEGER) FROM compound_crs
        WHERE auth_name = 'EPSG' AND horiz_crs_auth_name = 'EPSG' AND vertical_crs_auth_name = 'EPSG' AND CAST(code AS INTEGER) < 32767"""
    parts = {}
    for code, below, above in db.execute(compound):
        # Whose codes are in the keys of a GeoTIFF, or can be.
        if vertical.get(above, 9001) != 9001 and below < 32767:
            parts[code] = below
        for part, register in [(below, plane), (below, globe), (above, vertical), (above, depths)]:
            if part in register:
                register[code] = register[part]
    lengths = """SELECT CAST(u.code AS INTEGER), u.conv_factor, u.name, COALESCE(u.proj_short_name, ''), COALESCE(
        (SELECT alt_name FROM alias_name n WHERE n.table_name = 'unit_of_measure' AND n.code = u.code AND n.source = 'ESRI'), '')
        FROM unit_of_measure u WHERE u.auth_name = 'EPSG' AND u.type = ? AND u.conv_factor IS NOT NULL
        AND u.name NOT LIKE '% per %' AND u.name NOT LIKE 'Bin width%' ORDER BY 1"""

    def runs(register, usual):
        """From a code to a code, with a unit. What lies between and has no code does not matter."""
        out = []
        for code, unit in sorted(register.items()):
            if out and out[-1][2] == unit:
                out[-1][1] = code
            else:
                out.append([code, code, unit])
        return [run for run in out if run[2] != usual]

    def rows(words):
        line = ""
        for word in words:
            if len(line) + len(word) > 94:
                yield "    " + line.rstrip()
                line = ""
            line += word + ", "
        yield "    " + line.rstrip()

    def constant(text, name, kind, words):
        return [f"/// {text}", f"pub(super) const {name}: &[{kind}] = &[", *rows(words), "];"]

    quoted = lambda text: '"' + text + '"'
    # PROJ divides 12 by 39.37, which is off in the last bit.
    metres = lambda row: 1200 / 3937 if row[0] == 9003 else row[1]
    unit = lambda row: (
        f"({row[0]}, {metres(row)!r}, {quoted(row[2])}, {quoted(row[3])}, {quoted(row[4])})"
    )
    number = lambda n: f"{n:_}" if n > 99_999 else str(n)
    run = lambda r: "(" + ", ".join(map(number, r)) + ")"
    span = lambda r: run(r[:2])
    known = {code: 1 for code in globe} | {code: 0 for code in plane}
    lines = [
        f"//! Units of coordinate systems in EPSG's register, {version}. Made by `tests/epsg.py`; not to be",
        "//! edited.",
        "",
        *constant(
            "Units of length: code, metres, name, and the names that PROJ and ESRI have.",
            "LENGTHS",
            "(u16, f64, &str, &str, &str)",
            map(unit, db.execute(lengths, ["length"])),
        ),
        *constant(
            "Units of angles: code and radians.",
            "ANGLES",
            "(u16, f64)",
            (f"({row[0]}, {row[1]!r})" for row in db.execute(lengths, ["angle"])),
        ),
        *constant(
            "Systems on a plane that do not measure in metres: first code, last code, unit.",
            "PLANES",
            "(u16, u16, u16)",
            map(run, runs(plane, 9001)),
        ),
        *constant(
            "Systems whose heights are not in metres: first code, last code, unit.",
            "HEIGHTS",
            "(u16, u16, u16)",
            map(run, runs(vertical, 9001)),
        ),
        *constant(
            "Compound systems of them: code, and that of the horizontal part.",
            "PARTS",
            "(u16, u16)",
            map(run, sorted(parts.items())),
        ),
        *constant(
            "Systems that count downwards: first code, last code.",
            "DEPTHS",
            "(u16, u16)",
            map(span, runs({code: code in depths for code in vertical}, False)),
        ),
        *constant(
            "Systems of longitudes and latitudes: first code, last code.",
            "GLOBES",
            "(u16, u16)",
            map(span, runs(known, 0)),
        ),
        *constant(
            "Those of them that do not measure in degrees: first code, last code, unit.",
            "GRADS",
            "(u16, u16, u16)",
            map(
                run,
                runs({code: unit if unit == 9105 else 9122 for code, unit in globe.items()}, 9122),
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")

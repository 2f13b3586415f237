//! GeoPackage (OGC 12-128r18): layers in a database of SQLite.

use super::feature::{Column, Frame, Layer, Shape};
use crate::{Error, Result};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, params, params_from_iter};
use serde_json::Value;

/// The standard's number for a plane without a place on Earth.
const CARTESIAN: i64 = -1;

/// The number of a coordinate system without a code, which is the file's own. GDAL counts from here
/// too.
const OWN: i64 = 100_000;

/// "GPKG", and version 1.3 of the standard. Files have no dates but this one, so that the same land
/// has the same bytes.
const HEAD: &str = "
PRAGMA page_size = 4096;
PRAGMA application_id = 1196444487;
PRAGMA user_version = 10300;
BEGIN;
CREATE TABLE gpkg_spatial_ref_sys (
    srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY, organization TEXT NOT NULL, \
                    organization_coordsys_id INTEGER NOT NULL,
    definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (
    table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, \
                    description TEXT DEFAULT '',
    last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')), min_x DOUBLE, \
                    min_y DOUBLE, max_x DOUBLE, max_y DOUBLE,
    srs_id INTEGER, CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES \
                    gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (
    table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id \
                    INTEGER NOT NULL, z TINYINT NOT NULL,
    m TINYINT NOT NULL, CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
    CONSTRAINT uk_gc_table_name UNIQUE (table_name),
    CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
    CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
CREATE TABLE gpkg_extensions (
    table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL, \
                    scope TEXT NOT NULL,
    CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
INSERT INTO gpkg_spatial_ref_sys VALUES
    ('Undefined Cartesian', -1, 'NONE', -1, 'undefined', 'a plane without a place on Earth'),
    ('Undefined geographic', 0, 'NONE', 0, 'undefined', 'degrees without a datum'),
    ('WGS 84', 4326, 'EPSG', 4326, 'GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS \
                    84\",6378137,298.257223563,AUTHORITY[\"EPSG\",\"7030\"]],AUTHORITY[\"EPSG\",\"6326\"]],PRIMEM[\"Greenwich\",0,AUTHORITY[\"EPSG\",\"8901\"]],UNIT[\"degree\",0.0174532925199433,AUTHORITY[\"EPSG\",\"9122\"]],AUTHORITY[\"EPSG\",\"4326\"]]', 'longitude and latitude');
";
const DATE: &str = "1970-01-01T00:00:00.000Z";

/// The bytes of a GeoPackage.
///
/// # Errors
/// [`Error::Output`] with SQLite's reason.
pub(super) fn encode(layers: &[Layer], frame: &Frame) -> Result<Vec<u8>> {
    database(layers, frame)
        .map_err(|e| Error::output("water.gpkg", std::io::Error::other(e.to_string())))
}

fn database(layers: &[Layer], frame: &Frame) -> rusqlite::Result<Vec<u8>> {
    let mut file = Connection::open_in_memory()?;
    file.execute_batch(HEAD)?;
    let srs = frame.epsg.map_or(if frame.system.is_some() { OWN } else { CARTESIAN }, i64::from);
    if let Some(system) = &frame.system {
        let insert = "INSERT INTO gpkg_spatial_ref_sys VALUES (?1, ?2, 'NONE', ?2, ?3, NULL)";
        file.execute(insert, params![system.name, srs, system.text])?;
    } else if srs != CARTESIAN && srs != 4326 {
        // Readers know codes; the text of a definition is not known here, and the standard lets it
        // be undefined.
        let insert =
            "INSERT INTO gpkg_spatial_ref_sys VALUES (?1, ?2, 'EPSG', ?2, 'undefined', NULL)";
        file.execute(insert, params![format!("EPSG:{srs}"), srs])?;
    }
    for layer in layers {
        let kind = |column: Column| match column {
            Column::Integer => "INTEGER",
            Column::Real => "REAL",
            Column::Text => "TEXT",
        };
        // The numbers of features are those of their rows, but for the sea, whose number is 0.
        let columns: Vec<String> = layer
            .columns
            .iter()
            .skip(1)
            .map(|(name, column)| format!("\"{name}\" {}", kind(*column)))
            .collect();
        let table = format!(
            "CREATE TABLE \"{}\" (id INTEGER PRIMARY KEY NOT NULL, geom {}, {})",
            layer.name,
            layer.shapes.to_uppercase(),
            columns.join(", ")
        );
        file.execute_batch(&table)?;
        let [low, high] = corners(extent(layer.features.iter().map(|feature| &feature.shape)));
        file.execute(
            "INSERT INTO gpkg_contents VALUES (?1, 'features', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![layer.name, layer.about, DATE, low[0], low[1], high[0], high[1], srs],
        )?;
        file.execute(
            "INSERT INTO gpkg_geometry_columns VALUES (?1, 'geom', ?2, ?3, ?4, 0)",
            params![layer.name, layer.shapes.to_uppercase(), srs, layer.has_z],
        )?;
        let places = vec!["?"; layer.columns.len() + 1].join(", ");
        let mut insert =
            file.prepare(&format!("INSERT INTO \"{}\" VALUES ({places})", layer.name))?;
        for feature in &layer.features {
            let blob = ToSqlOutput::from(blob(&feature.shape, layer.has_z, srs as i32));
            // The number of the feature comes first, and the geometry second.
            let mut values = feature.values.iter().map(value);
            insert
                .execute(params_from_iter(values.next().into_iter().chain([blob]).chain(values)))?;
        }
        index(&file, layer)?;
    }
    file.execute_batch("COMMIT")?;
    Ok(file.serialize("main")?.to_vec())
}

fn value(value: &Value) -> ToSqlOutput<'static> {
    match value {
        Value::Number(n) => match n.as_i64() {
            Some(n) => n.into(),
            None => n.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.clone().into(),
        _ => rusqlite::types::Null.into(),
    }
}

/// Adds the standard's index of places: a box round each feature, and triggers by which programs
/// that change features keep it.
fn index(file: &Connection, layer: &Layer) -> rusqlite::Result<()> {
    let table = layer.name;
    let tree = format!("rtree_{table}_geom");
    file.execute(
        "INSERT INTO gpkg_extensions VALUES (?1, 'geom', 'gpkg_rtree_index', \
         'http://www.geopackage.org/spec120/#extension_rtree', 'write-only')",
        [table],
    )?;
    file.execute_batch(&format!(
        "CREATE VIRTUAL TABLE \"{tree}\" USING rtree(id, minx, maxx, miny, maxy)"
    ))?;
    let mut insert = file.prepare(&format!("INSERT INTO \"{tree}\" VALUES (?, ?, ?, ?, ?)"))?;
    // SQLite's index rounds these to single floats, downwards for the lowest and upwards for the
    // highest.
    for feature in &layer.features {
        let [low, high] = corners(extent([&feature.shape].into_iter()));
        insert.execute(params![
            feature.values.first().map(value),
            low[0],
            high[0],
            low[1],
            high[1]
        ])?;
    }
    // Programs that change the file have these functions, and SQLite alone has not.
    let put = format!(
        "INSERT OR REPLACE INTO \"{tree}\" VALUES (NEW.id, ST_MinX(NEW.geom), ST_MaxX(NEW.geom), \
         ST_MinY(NEW.geom), ST_MaxY(NEW.geom));"
    );
    let take = format!("DELETE FROM \"{tree}\" WHERE id = OLD.id;");
    let (full, empty) = (
        "(NEW.geom NOTNULL AND NOT ST_IsEmpty(NEW.geom))",
        "(NEW.geom ISNULL OR ST_IsEmpty(NEW.geom))",
    );
    let triggers = [
        ("insert", "INSERT", full.to_string(), put.clone()),
        ("update1", "UPDATE OF geom", format!("OLD.id = NEW.id AND {full}"), put.clone()),
        ("update2", "UPDATE OF geom", format!("OLD.id = NEW.id AND {empty}"), take.clone()),
        ("update3", "UPDATE", format!("OLD.id != NEW.id AND {full}"), take.clone() + &put),
        (
            "update4",
            "UPDATE",
            format!("OLD.id != NEW.id AND {empty}"),
            format!("DELETE FROM \"{tree}\" WHERE id IN (OLD.id, NEW.id);"),
        ),
        ("delete", "DELETE", "OLD.geom NOTNULL".into(), take),
    ];
    for (name, event, when, what) in triggers {
        file.execute_batch(&format!(
            "CREATE TRIGGER \"{tree}_{name}\" AFTER {event} ON \"{table}\" WHEN {when} BEGIN \
             {what} END"
        ))?;
    }
    Ok(())
}

/// The lowest and the highest coordinates of a box.
type Extent = [[f64; 2]; 2];

/// The box round shapes; none if they have no places.
fn extent<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Option<Extent> {
    let mut range: Option<Extent> = None;
    let mut meet = |p: &[f64; 3]| {
        let [low, high] = range.get_or_insert([[p[0], p[1]]; 2]);
        for axis in 0..2 {
            (low[axis], high[axis]) = (low[axis].min(p[axis]), high[axis].max(p[axis]));
        }
    };
    for shape in shapes {
        match shape {
            Shape::Point(p) => meet(p),
            Shape::Line(line) => line.iter().for_each(&mut meet),
            Shape::Polygons(all) => all.iter().flatten().flatten().for_each(&mut meet),
        }
    }
    range
}

/// A box as values of a table, which have nothing where it is none.
fn corners(range: Option<Extent>) -> [[Option<f64>; 2]; 2] {
    range.map_or([[None; 2]; 2], |range| range.map(|corner| corner.map(Some)))
}

/// A geometry as GeoPackage has it: a head, and well-known binary, little-endian.
fn blob(shape: &Shape, has_z: bool, srs: i32) -> Vec<u8> {
    // Little-endian, without a box.
    let mut bytes = vec![b'G', b'P', 0, 1];
    bytes.extend(srs.to_le_bytes());
    let head = |bytes: &mut Vec<u8>, kind: u32| {
        // Little-endian, and a kind that has heights is 1000 higher.
        bytes.push(1);
        bytes.extend((kind + if has_z { 1000 } else { 0 }).to_le_bytes());
    };
    let count = |bytes: &mut Vec<u8>, n: usize| bytes.extend((n as u32).to_le_bytes());
    let at = |bytes: &mut Vec<u8>, p: &[f64; 3]| {
        p[..if has_z { 3 } else { 2 }].iter().for_each(|v| bytes.extend(v.to_le_bytes()))
    };
    let line = |bytes: &mut Vec<u8>, line: &[[f64; 3]]| {
        count(bytes, line.len());
        line.iter().for_each(|p| at(bytes, p));
    };
    // The kinds of OGC 06-103r4: 1 a point, 2 a line, 3 a polygon, 6 several polygons.
    match shape {
        Shape::Point(p) => {
            head(&mut bytes, 1);
            at(&mut bytes, p);
        }
        Shape::Line(vertices) => {
            head(&mut bytes, 2);
            line(&mut bytes, vertices);
        }
        Shape::Polygons(all) => {
            head(&mut bytes, 6);
            count(&mut bytes, all.len());
            for rings in all {
                head(&mut bytes, 3);
                count(&mut bytes, rings.len());
                rings.iter().for_each(|ring| line(&mut bytes, ring));
            }
        }
    }
    bytes
}

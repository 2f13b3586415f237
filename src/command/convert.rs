//! `thalweg convert`: a map in another format, a part of it, or with another number of samples.

use super::console::Console;
use super::summary::{files_json, files_text, steps_json, steps_text};
use super::{
    EngineFiles, InputOptions, OutputFormat, OutputRange, hand_over, refuse_standard, size, stem,
    store, tell,
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;
use thalweg::bundle::{Folder, Sink};
use thalweg::io::engine::Land;
use thalweg::io::mesh::{Mesh, MeshFormat};
use thalweg::io::{MapFormat, Reading, encode_within};
use thalweg::map::Map;
use thalweg::memory::admit;
use thalweg::{Error, Result};

/// Write a map in another format
///
/// Keeps its spacing, its range and its place on Earth. An output that ends in .glb, .obj or .stl
/// is a mesh. In this order: the part, the flips, the number of samples.
#[derive(Args)]
#[command(after_help = "Examples:\n  thalweg convert N47E008.hgt alps.tif --nodata 0\n  \
                        thalweg convert land.tif part.r16 --crop 1009x1009+200+300 --output-range \
                        0 2500\n  \
                        thalweg convert land.tif - --to png > land.png\n  \
                        thalweg convert land.tif unreal --resample 1009 --engine unreal")]
pub struct Arguments {
    /// The map; - for standard input
    input: PathBuf,
    /// The file to write; - for standard output; with --engine the folder
    output: PathBuf,
    /// A part of the map: width, height, first column and first row, in samples
    #[arg(long, value_name = "WxH+X+Y", value_parser = crop)]
    crop: Option<Crop>,
    /// Turn the order of the rows or of the columns; may be given twice
    #[arg(long, value_enum)]
    flip: Vec<Flip>,
    /// Another number of samples for the same land
    ///
    /// N is the longer side; the other follows. Cells must stay as square as whole numbers allow
    #[arg(long, value_name = "N or WxH", value_parser = sides)]
    resample: Option<(u32, Option<u32>)>,
    /// For a mesh (.glb, .obj, .stl): so far the triangles may be from any sample; without it there
    /// are two for each cell
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    max_error: Option<f64>,
    /// Samples that have no value in the input have none in the output, whatever --nodata fills
    /// them with meanwhile
    #[arg(long, requires = "nodata", conflicts_with_all = ["crop", "flip", "resample"])]
    keep_nodata: bool,
    #[command(flatten)]
    program: EngineFiles,
    #[command(flatten)]
    to: OutputFormat,
    #[command(flatten)]
    range: OutputRange,
    #[command(flatten)]
    reading: InputOptions,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Flip {
    Rows,
    Columns,
}

#[derive(Clone, Copy)]
struct Crop {
    corner: [u32; 2],
    size: [u32; 2],
}

/// `N` or `WxH`.
fn sides(text: &str) -> Result<(u32, Option<u32>), String> {
    match text.parse() {
        Ok(longer) => Ok((longer, None)),
        Err(_) => size(text).map(|(width, height)| (width, Some(height))),
    }
}

/// `WxH+X+Y`.
fn crop(text: &str) -> Result<Crop, String> {
    let wrong = || "expected WIDTHxHEIGHT+COLUMN+ROW, as 512x512+100+200".to_string();
    let numbers: Option<Vec<u32>> =
        text.split(['x', '+']).map(|number| number.parse().ok()).collect();
    // Four numbers alone would let `1x2x3x4` pass, too.
    match (numbers.as_deref(), text.matches('x').count()) {
        (Some(&[width, height, column, row]), 1) => {
            Ok(Crop { corner: [column, row], size: [width, height] })
        }
        _ => Err(wrong()),
    }
}

/// Refuses options that do not go together.
fn check(a: &Arguments, mesh: Option<MeshFormat>) -> Result<()> {
    if a.keep_nodata && (mesh.is_some() || a.program.engine.is_some()) {
        return Err(Error::param(
            "--keep-nodata: neither a mesh nor the files of --engine can say that samples have no \
             value",
        ));
    }
    if let Some(program) = a.program.engine {
        refuse_standard(&a.output)?;
        if a.to.to.is_some() {
            return Err(Error::param(format!(
                "--to: {} has formats of its own; leave it out",
                program.name()
            )));
        }
    }
    if mesh.is_none() && a.max_error.is_some() {
        return Err(Error::param(format!(
            "--max-error: {} is no mesh; meshes end in .glb, .obj or .stl",
            a.output.display()
        )));
    }
    Ok(())
}

/// The part of a map that is asked for, turned and with as many samples as are asked for.
fn reshaped(console: &Console, a: &Arguments, mut map: Map) -> Result<Map> {
    if let Some(Crop { corner, size }) = a.crop {
        map = map.crop(corner, size).map_err(|e| told("--crop", e))?;
    }
    let placed = map.georef.is_some();
    for flip in &a.flip {
        map = match flip {
            Flip::Rows => map.flip_rows(),
            Flip::Columns => map.flip_columns(),
        };
    }
    if placed && map.georef.is_none() {
        console.warn(format!(
            "{}: turned over, the map has no place on Earth any more",
            a.input.display()
        ));
    }
    if let Some(sides) = a.resample {
        let (width, height) = resampled(&map, sides);
        // Rows, columns and samples.
        admit("--resample", 16 * u64::from(width) * u64::from(height.max(map.height)))?;
        map = map.resample(width, height).map_err(|e| told("--resample", e))?;
    }
    Ok(map)
}

/// The samples of a map's sides, where only the longer one may be given.
fn resampled(map: &Map, (first, second): (u32, Option<u32>)) -> (u32, u32) {
    if let Some(second) = second {
        return (first, second);
    }
    // The land reaches from the first sample to the last, so cells are one fewer than samples.
    let longer = map.width.max(map.height).max(2) - 1;
    let side = |old: u32| {
        let cells = f64::from(old.max(1) - 1) / f64::from(longer) * f64::from(first.max(1) - 1);
        if old == 1 { 1 } else { (cells.round() as u32).max(1) + 1 }
    };
    (side(map.width), side(map.height))
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let folder = Folder::new("", console.options.force);
    let mesh = MeshFormat::from_path(&a.output)
        .filter(|_| a.program.engine.is_none() && a.to.to.is_none());
    check(a, mesh)?;
    let format = match (a.program.engine, mesh) {
        (None, None) => Some(a.to.of(&a.output)?),
        _ => None,
    };
    if a.program.engine.is_none() {
        a.to.refuse(&a.output, console)?;
    }
    let range = a.range.pair()?;
    let mut reading = a.reading.read(console, &a.input)?;
    reading.map = reshaped(console, a, reading.map)?;
    console.check()?;
    match (mesh, format) {
        (Some(mesh), _) => write_mesh(console, a, &reading.map, mesh, folder),
        (None, Some(format)) => write_map(console, a, &reading, (format, range), folder),
        (None, None) => hand_over_map(console, a, &reading.map, range),
    }
}

/// Writes the map in a format for maps.
fn write_map(
    console: &Console,
    a: &Arguments,
    Reading { map, warnings, missing }: &Reading,
    (format, range): (MapFormat, Option<(f64, f64)>),
    mut folder: Folder,
) -> Result<bool> {
    let missing = if a.keep_nodata { &missing[..] } else { &[] };
    let encoded = encode_within(map, format, range, missing)?;
    tell(console, &a.output, &encoded.warnings);
    let Some(stored) = store(&a.output, map, format, &encoded, console, &mut folder)? else {
        return Ok(true);
    };
    folder.keep()?;
    let quantised: Vec<_> =
        encoded.quantised.map(|steps| ("map".to_string(), steps)).into_iter().collect();
    let warnings: Vec<&String> = warnings.iter().chain(&encoded.warnings).collect();
    console.result(
        || {
            json!({
                "width": map.width, "height": map.height, "spacing_m": map.spacing_m,
                "files": files_json(&stored),
                "quantised": steps_json(&quantised), "warnings": warnings,
            })
        },
        || {
            let head =
                format!("{} x {} samples, {} m apart\n", map.width, map.height, map.spacing_m);
            format!("{head}{}{}", files_text(&stored), steps_text(&quantised))
        },
    )?;
    Ok(true)
}

/// Writes the map as a program takes it.
fn hand_over_map(
    console: &Console,
    a: &Arguments,
    map: &Map,
    range_m: Option<(f64, f64)>,
) -> Result<bool> {
    let Some(engine) = a.program.engine else { return Ok(true) };
    let land = Land { range_m, ..Land::of(map) };
    let (stored, warnings) = hand_over(console, engine, &a.output, &stem(&a.input), &land)?;
    console.result(
        || {
            json!({ "width": map.width, "height": map.height, "files": files_json(&stored),
            "warnings": warnings })
        },
        || files_text(&stored),
    )?;
    Ok(true)
}

/// Writes the map as triangles.
fn write_mesh(
    console: &Console,
    a: &Arguments,
    map: &Map,
    format: MeshFormat,
    mut folder: Folder,
) -> Result<bool> {
    let cells = u64::from(map.width) * u64::from(map.height);
    // Vertices, triangles, and their bytes in a file; with an error also what the search keeps.
    admit("a mesh of this map", cells * if a.max_error.is_some() { 64 } else { 192 })?;
    let mesh = Mesh::of(map, a.max_error)?;
    console.check()?;
    let bytes = mesh.encode(format, &stem(&a.output))?;
    let stored = folder.files().write(&a.output, &bytes)?;
    folder.keep()?;
    let [vertices, triangles] = mesh.counts();
    console.result(
        || json!({ "vertices": vertices, "triangles": triangles, "files": files_json([&stored]) }),
        || {
            format!(
                "{vertices} vertices, {triangles} triangles\n{}",
                files_text(std::slice::from_ref(&stored))
            )
        },
    )?;
    Ok(true)
}

/// An error of an option.
fn told(option: &str, error: Error) -> Error {
    match error {
        Error::Param(invalid) => {
            let message = format!("{option}: {}", invalid.message);
            Error::param(invalid.saying(message))
        }
        other => other,
    }
}

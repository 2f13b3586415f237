//! `thalweg quality`: how much a land is like real land, in figures.

mod page;

use super::console::Console;
use super::summary::{files_json, files_text};
use super::{InputOptions, is_standard, within};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use thalweg::io::{Files, Stored, refuse};
use thalweg::map::Map;
use thalweg::params::rounded;
use thalweg::quality::{FIGURES, Figure, Grid, SIDE_MIN, Statistics, in_cells, statistics};
use thalweg::{Error, Result};

/// Hold a land against real land: how its rivers meet, how steep they are, its ridges, roughness
/// and depressions
///
/// Prints the figures of each map beside the range that real land has; a star marks what lies
/// outside it. docs/quality.md says what each figure is, and which real land. Samples without a
/// value lie outside the land.
#[derive(Args)]
#[command(after_help = "Examples:\n  thalweg quality out/mountains/height.tif --margin 32\n  \
                        thalweg quality mine.tif real.tif -o report.html")]
pub struct Arguments {
    /// The height maps; - for standard input
    #[arg(required = true)]
    input: Vec<PathBuf>,
    /// Leave out this many cells at each border, where made land is often unlike its middle
    #[arg(long, value_name = "CELLS", default_value_t = 0)]
    margin: u32,
    /// Also write a report with pictures: one page, .html
    #[arg(short, long, value_name = "HTML", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    reading: InputOptions,
}

/// A land and its figures.
struct Land {
    path: PathBuf,
    map: Map,
    missing: Vec<usize>,
    figures: Statistics,
}

impl Land {
    fn of(console: &Console, a: &Arguments, path: &Path) -> Result<Self> {
        let reading = a.reading.read_land(console, path, a.reading.nodata.is_none())?;
        // A height for missing samples makes land of them.
        let missing = if a.reading.nodata.is_none() { &reading.missing[..] } else { &[] };
        let (map, missing) = trimmed(path, reading.map, missing, a.margin)?;
        let cells = in_cells(&map, &missing);
        let named = |e: Error| Error::input(path, e.to_string());
        let grid = Grid::new(&cells, map.width as usize, map.height as usize).map_err(named)?;
        let figures = statistics(grid).map_err(named)?;
        console.check()?;
        Ok(Self { path: path.into(), map, missing, figures })
    }

    /// Its name in tables: the file without the folders, but for the last.
    fn name(&self) -> String {
        let parts: Vec<_> = self.path.iter().map(|part| part.to_string_lossy()).collect();
        parts[parts.len().saturating_sub(2)..].join("/")
    }

    fn title(&self) -> String {
        let Map { width, height, spacing_m, .. } = self.map;
        let without = match self.missing.len() {
            0 => String::new(),
            missing => format!(", {missing} of them without a value"),
        };
        format!(
            "{}: {width} x {height} cells of {} m{without}",
            self.path.display(),
            rounded(spacing_m)
        )
    }

    fn json(&self) -> Value {
        let outside: Vec<&str> = FIGURES
            .iter()
            .filter(|figure| figure.is_outside(&self.figures))
            .map(|figure| figure.name)
            .collect();
        json!({
            "file": self.path.to_string_lossy(), "width": self.map.width, "height": self.map.height,
            "spacing_m": self.map.spacing_m, "missing": self.missing.len(),
            "figures": self.figures, "outside": outside,
        })
    }
}

/// The map without its margin, and the numbers of the samples that are missing in what is left.
fn trimmed(path: &Path, map: Map, missing: &[usize], margin: u32) -> Result<(Map, Vec<usize>)> {
    let (width, height) = (map.width, map.height);
    let left = |side: u32| {
        side.checked_sub(margin.saturating_mul(2)).filter(|left| *left as usize >= SIDE_MIN)
    };
    let Some((wide, high)) = left(width).zip(left(height)) else {
        return Err(Error::input(
            path,
            format!(
                "{width}x{height} samples less a margin of {margin}: at least \
                 {SIDE_MIN}x{SIDE_MIN} must be left; \
                 give a larger map, or a smaller --margin"
            ),
        ));
    };
    let place = |at: &usize| {
        let [x, y] =
            [at % width as usize, at / width as usize].map(|at| at.checked_sub(margin as usize));
        let (x, y) = (x.filter(|x| *x < wide as usize)?, y.filter(|y| *y < high as usize)?);
        Some(y * wide as usize + x)
    };
    Ok((map.crop([margin; 2], [wide, high])?, missing.iter().filter_map(place).collect()))
}

/// Figures by rows, lands by columns.
fn table(lands: &[Land]) -> String {
    let value = |figure: &Figure, land: &Land| match (figure.of)(&land.figures) {
        Some(value) => {
            figure.shown(value) + if figure.is_outside(&land.figures) { " *" } else { "  " }
        }
        None => "–  ".into(),
    };
    let mut lines = vec![(
        "".to_string(),
        lands.iter().map(|land| land.name() + "  ").collect(),
        "real land".to_string(),
    )];
    for figure in FIGURES {
        lines.push((
            figure.label.into(),
            lands.iter().map(|land| value(&figure, land)).collect::<Vec<_>>(),
            figure.range(),
        ));
    }
    let wide = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let label = wide(&mut lines.iter().map(|line| &line.0));
    let columns: Vec<usize> =
        (0..lands.len()).map(|k| wide(&mut lines.iter().map(|line| &line.1[k]))).collect();
    let last = wide(&mut lines.iter().map(|line| &line.2));
    let line = |(name, values, real): &(String, Vec<String>, String)| {
        let values: String =
            values.iter().zip(&columns).map(|(value, wide)| format!("  {value:>wide$}")).collect();
        format!("{name:<label$}{values}  {real:>last$}\n")
    };
    lines.iter().map(line).collect()
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    within("--margin", a.margin.into(), 0.0, f64::from(1 << 24))?;
    let mut files = Files::default();
    if let Some(path) = &a.output {
        if is_standard(path) || !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("html")) {
            let what = "a report is a page of HTML; give it a name that ends in .html";
            return Err(Error::param(format!("{}: {what}", path.display())));
        }
        refuse(std::slice::from_ref(path), console.options.force)?;
        files.probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let lands =
        a.input.iter().map(|path| Land::of(console, a, path)).collect::<Result<Vec<_>>>()?;
    let mut stored: Vec<Stored> = vec![];
    if let Some(path) = &a.output {
        stored.push(files.write(path, page::page(&lands)?.as_bytes())?);
        console.check()?;
    }
    files.keep();
    console.result(
        || {
            let real: serde_json::Map<String, Value> = FIGURES
                .iter()
                .map(|figure| (figure.name.to_string(), json!(figure.real)))
                .collect();
            let lands: Vec<Value> = lands.iter().map(Land::json).collect();
            json!({ "lands": lands, "real": real, "files": files_json(&stored) })
        },
        || {
            let mut text: String = lands.iter().map(|land| land.title() + "\n").collect();
            text += &table(&lands);
            let marked = lands
                .iter()
                .any(|land| FIGURES.iter().any(|figure| figure.is_outside(&land.figures)));
            text += if marked { "* outside of what real land has\n" } else { "" };
            text + &files_text(&stored)
        },
    )?;
    Ok(true)
}

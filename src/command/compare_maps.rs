//! Two maps, or the maps of two runs, value by value.

use super::InputOptions;
use super::console::{Console, count};
use super::summary::files_text;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thalweg::bundle::{MANIFEST, file_within};
use thalweg::io::{Files, encode_picture, refuse};
use thalweg::map::Map;
use thalweg::params::rounded;
use thalweg::{Error, Result, render};

/// How two maps of one size differ.
struct Difference {
    name: String,
    cells: usize,
    differing: usize,
    /// The largest difference, and the column and row where it is.
    most: f64,
    place: [usize; 2],
    mean: f64,
    /// Cells of which only one of the two has a value.
    alone: usize,
}

/// The numbers that one list has and the other has not, both ascending.
fn differing(a: &[usize], b: &[usize]) -> Vec<usize> {
    let (all, other): (BTreeSet<usize>, BTreeSet<usize>) =
        (a.iter().copied().collect(), b.iter().copied().collect());
    all.symmetric_difference(&other).copied().collect()
}

impl Difference {
    fn of(name: &str, a: &Map, b: &Map) -> Result<Self> {
        if (a.width, a.height) != (b.width, b.height) {
            let sizes = format!("{}x{} and {}x{} samples", a.width, a.height, b.width, b.height);
            return Err(Error::param(format!(
                "{name}: {sizes}: only maps of one size can be compared"
            )));
        }
        let differences =
            || a.data.iter().zip(&b.data).map(|(a, b)| (f64::from(*a) - f64::from(*b)).abs());
        let (at, most) = differences()
            .enumerate()
            .fold((0, 0.0), |best, (i, d)| if d > best.1 { (i, d) } else { best });
        Ok(Self {
            name: name.into(),
            cells: a.data.len(),
            differing: differences().filter(|d| *d > 0.0).count(),
            most,
            place: [at % a.width as usize, at / a.width as usize],
            mean: differences().sum::<f64>() / a.data.len() as f64,
            alone: 0,
        })
    }

    fn text(&self) -> String {
        let Self { name, cells, differing, most, place: [column, row], mean, alone } = self;
        if *alone > 0 {
            let both = Self { name: name.clone(), alone: 0, ..*self }.text();
            return format!(
                "{both}{name}: {} of which only one of the two has a value\n",
                count(*alone as u64, "cell")
            );
        }
        match differing {
            0 => format!("{name}: {}, equal\n", count(*cells as u64, "value")),
            _ => format!(
                "{name}: {differing} of {} DIFFERENT, by {} at most (column {column}, row {row}), \
                 {} on average\n",
                count(*cells as u64, "value"),
                rounded(*most),
                rounded(*mean)
            ),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name, "values": self.cells, "different": self.differing, "max": self.most,
            "at": self.place,
            "mean": self.mean, "missing_in_one": self.alone,
        })
    }
}

/// The maps that the manifest of a run lists: names and files.
fn listed(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let path = folder.join(MANIFEST);
    let text = std::fs::read(&path).map_err(|e| Error::input(&path, e))?;
    let manifest: Value = serde_json::from_slice(&text)
        .map_err(|e| Error::input(&path, format!("it is no manifest: {e}")))?;
    let maps = manifest["maps"].as_array().into_iter().flatten();
    let named = maps.filter_map(|map| Some((map["name"].as_str()?, map["file"].as_str()?)));
    let pair = |(name, file): (&str, &str)| match file_within(folder, file) {
        Some(at) => Ok((name.to_string(), at)),
        None => {
            let what = format!("it names {file:?}, which does not lie in this folder");
            Err(Error::input(&path, format!("{what}; to compare two maps, give their paths")))
        }
    };
    named.map(pair).collect()
}

pub fn main(
    console: &Console,
    reading: &InputOptions,
    pair: [&Path; 2],
    picture: Option<&PathBuf>,
) -> Result<bool> {
    let mut files = Files::default();
    if let Some(path) = picture {
        refuse(std::slice::from_ref(path), console.options.force)?;
        files.probe(path.parent().unwrap_or(Path::new("")))?;
    }
    let folders = pair.map(Path::is_dir);
    let mut alone = BTreeSet::new();
    let pairs: Vec<(String, [PathBuf; 2])> = match folders {
        [true, true] => {
            let [a, b] = [listed(pair[0])?, listed(pair[1])?];
            let missing = |from: &[(String, PathBuf)], name: &str| {
                from.iter().all(|(known, _)| known != name)
            };
            alone.extend(
                a.iter().filter(|(name, _)| missing(&b, name)).map(|(name, _)| name.clone()),
            );
            alone.extend(
                b.iter().filter(|(name, _)| missing(&a, name)).map(|(name, _)| name.clone()),
            );
            let both = a.into_iter().filter_map(|(name, path)| {
                let other = b.iter().find(|(known, _)| *known == name)?.1.clone();
                Some((name, [path, other]))
            });
            both.collect()
        }
        [false, false] => vec![(pair[1].display().to_string(), pair.map(Path::to_path_buf))],
        _ => {
            let what = format!("{} and {}", pair[0].display(), pair[1].display());
            return Err(Error::param(format!("{what}: give two maps, or the folders of two runs")));
        }
    };
    let mut differences = vec![];
    let mut stored = vec![];
    for (name, paths) in &pairs {
        console.check()?;
        let [mut a, mut b] = [reading.quietly(&paths[0], true)?, reading.quietly(&paths[1], true)?];
        let kept = reading.nodata.is_none();
        let alone = if kept { differing(&a.missing, &b.missing) } else { vec![] };
        // What neither has is no difference.
        if kept && [a.map.width, a.map.height] == [b.map.width, b.map.height] {
            a.missing
                .iter()
                .chain(&b.missing)
                .for_each(|at| (a.map.data[*at], b.map.data[*at]) = (0.0, 0.0));
        }
        let (a, b) = (a.map, b.map);
        differences.push(Difference { alone: alone.len(), ..Difference::of(name, &a, &b)? });
        if let Some(path) = picture.filter(|_| stored.is_empty()) {
            stored.push(files.write(path, &encode_picture(render::difference(&a, &b)?)?)?);
        }
    }
    files.keep();
    let equal = alone.is_empty() && differences.iter().all(|d| d.differing + d.alone == 0);
    console.result(
        || {
            json!({ "equal": equal,
            "maps": differences.iter().map(Difference::json).collect::<Vec<_>>(), "alone": alone })
        },
        || {
            let maps: String = differences.iter().map(Difference::text).collect();
            let alone: String =
                alone.iter().map(|name| format!("{name}: only one of the runs has it\n")).collect();
            format!("{maps}{alone}{}", files_text(&stored))
        },
    )?;
    Ok(equal)
}

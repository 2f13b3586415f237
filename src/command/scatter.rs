//! `thalweg scatter`: places for things on a recipe's land.

use super::console::Console;
use super::summary::{files_json, files_text, title};
use super::{Changes, RegionArguments};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::{Path, PathBuf};
use thalweg::io::points::{self, PointFormat};
use thalweg::io::{Files, Pieces, Stored, refuse};
use thalweg::job::Outcome;
use thalweg::params::unknown;
use thalweg::scatter::{self, Growth, Method, Place, Shape};
use thalweg::{Error, Job, Recipe, Result, Window};

/// Scatter places over a recipe's land: for trees, rocks, villages
///
/// Each with the height and the biome under it. The extension of the file says what is written:
/// .csv, .geojson, or .glb with a mesh in each place. x and y are cells of the world, whose samples
/// lie at whole numbers, in the middle of their cells; a window has the places in its cells, so
/// windows side by side have each of the lattice once. East and north are in the coordinate system
/// of the recipe's input, where it has one, else metres. A recipe's own tables [[scatter]] are for
/// `run`: docs/scatter.md.
#[derive(Args)]
#[command(
    after_help = "Example: thalweg scatter examples/biomes.toml -o trees.csv --frequency 0.2 \
                  --distance 3 --density desert=0 --density plains=0.2"
)]
pub struct Arguments {
    /// The recipe, TOML or JSON; or the name of one that `thalweg recipes` lists
    recipe: PathBuf,
    /// The file for the places
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// lattice: points of the jittered lattice, the same in any window; poisson: as many as fit,
    /// for a finite map
    #[arg(long, value_enum, value_name = "METHOD", default_value = "lattice")]
    method: Kind,
    /// Lattice only: how densely points lie; 1.73 times its square is their number a cell; without
    /// it: 0.1
    #[arg(long, value_name = "1/CELLS", allow_negative_numbers = true)]
    frequency: Option<f64>,
    /// Cells between any two places, at least; poisson without it: 8
    #[arg(long, value_name = "CELLS", allow_negative_numbers = true)]
    distance: Option<f64>,
    /// .glb only: the mesh at each place, a simple one that you replace
    #[arg(long, value_name = "SHAPE", default_value = "tree",
        value_parser = ["tree", "bush", "rock", "grass"])]
    shape: String,
    /// Share of the places that a biome keeps, 0 to 1; may be given for several biomes
    #[arg(long, value_name = "BIOME=SHARE")]
    density: Vec<String>,
    /// Seed of the places
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = super::seed)]
    seed: u64,
    #[command(flatten)]
    part: RegionArguments,
    #[command(flatten)]
    changes: Changes,
}

/// Which points.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum Kind {
    Lattice,
    Poisson,
}

/// The recipe, whose run leaves what places need, and the names of its biomes.
fn recipe(a: &Arguments) -> Result<(Recipe, Vec<String>)> {
    let mut recipe = a.changes.read(&a.recipe, None)?;
    recipe.output.maps = vec!["height".into()];
    // Places need no picture and no rivers, which only a whole land has.
    recipe.output.preview = false;
    recipe.scatter.clear();
    recipe.water.iter_mut().for_each(|water| (water.vectors, water.splines) = (vec![], vec![]));
    let biomes = match recipe.biomes() {
        Some((_, settings)) => thalweg::stage::biomes::biomes(settings)?,
        None => vec![],
    };
    if !biomes.is_empty() {
        recipe.output.maps.push("biome".into());
    }
    Ok((recipe, biomes.into_iter().map(|biome| biome.name).collect()))
}

fn method(a: &Arguments) -> Result<Method> {
    let method = match (a.method, a.frequency) {
        (Kind::Lattice, frequency) => Method::Lattice {
            frequency: frequency.unwrap_or(0.1),
            distance: a.distance.unwrap_or(0.0),
        },
        (Kind::Poisson, None) => Method::Poisson { distance: a.distance.unwrap_or(8.0) },
        (Kind::Poisson, Some(f)) => {
            let what = "only --method lattice has one; how many places a Poisson disc has follows \
                        from --distance";
            return Err(Error::param(format!("--frequency {f}: {what}")));
        }
    };
    method.check()?;
    Ok(method)
}

/// The run of the land, or of what is needed of it for a part.
fn job(console: &Console, recipe: Recipe, part: Option<Window>, method: Kind) -> Result<Job> {
    let whole = console.read(recipe)?;
    part.iter().try_for_each(|part| whole.schedule().check_region(part))?;
    match (part, method) {
        // Beyond the outermost samples of the part, heights follow from the next ones.
        (Some(part), Kind::Lattice) => whole.clone().part(one_wider(part, &whole)),
        (Some(part), Kind::Poisson) => whole.part(part),
        (None, _) => Ok(whole),
    }
}

/// Leaves out places beyond the part that is asked for and those outside the land.
fn keep_inside(places: &mut Vec<Place>, part: Option<Window>, outcome: &Outcome, window: &Window) {
    if let Some(part) = part {
        // A place belongs to the nearest sample, whose cell reaches half a cell to each side.
        places.retain(|place| {
            part.contains((place.x + 0.5).floor() as i64, (place.y + 0.5).floor() as i64)
        });
    }
    scatter::keep_land(places, window, outcome.missing());
}

pub fn main(console: &Console, a: &Arguments) -> Result<bool> {
    let format = PointFormat::from_path(&a.output)?;
    refuse(std::slice::from_ref(&a.output), console.options.force)?;
    let (recipe, names) = recipe(a)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let densities = densities(&a.density, &names)?;
    let method = method(a)?;
    let part = a.part.window()?;
    let job = job(console, recipe, part, a.method)?;
    let window = job.window();
    method.admits(&window)?;
    let mut files = Files::default();
    files.probe(a.output.parent().unwrap_or(Path::new("")))?;
    let outcome = console.watch(&job, |watch| job.run(watch))?;
    let mut height = outcome.map("height")?;
    let biome = if names.is_empty() { None } else { Some(outcome.map("biome")?) };
    let mut places = scatter::places(
        method,
        a.seed,
        &window,
        &height,
        biome.as_ref(),
        &Growth { densities: &densities, ..Growth::default() },
        console.cancel.flag(),
    )?;
    keep_inside(&mut places, part, &outcome, &window);
    let mut pieces = Pieces::create(&a.output)?;
    // What lies round a part was there for the heights alone: the file begins at its own sample.
    let origin = part.map_or(window.origin, |part| part.origin);
    let [east, south] = [0, 1].map(|axis| origin[axis] - window.origin[axis]);
    height.georef = height.georef.map(|georef| georef.from(east, south));
    let ground = points::Ground { map: &height, origin, biomes: &names };
    for piece in
        points::encode_pieces(&places, &ground, Shape::of(&a.shape).unwrap_or(Shape::Tree), format)?
    {
        console.check()?;
        pieces.add(&piece)?;
    }
    let stored = files.finish_pieces(pieces)?;
    files.keep();
    let count = |b: usize| places.iter().filter(|p| p.biome == Some(b)).count();
    let counts: Vec<(&str, usize)> =
        names.iter().enumerate().map(|(b, name)| (*name, count(b))).collect();
    report(console, &job, &outcome, (places.len(), &counts), &[stored])?;
    Ok(true)
}

/// Says how many places there are, in all and in each biome.
fn report(
    console: &Console,
    job: &Job,
    outcome: &Outcome,
    (all, counts): (usize, &[(&str, usize)]),
    stored: &[Stored],
) -> Result<()> {
    console.result(
        || {
            let counts: serde_json::Map<_, _> =
                counts.iter().map(|(n, c)| (n.to_string(), json!(c))).collect();
            json!({ "device": outcome.device, "places": all, "biomes": counts,
                "files": files_json(stored) })
        },
        || {
            let counts: String =
                counts.iter().map(|(name, count)| format!("{count:>12}  {name}\n")).collect();
            format!(
                "{}\n{}\n{all:>12}  places\n{counts}{}",
                title(job),
                outcome.device,
                files_text(stored)
            )
        },
    )
}

/// A part with one more column and row on each side, where the land has them.
fn one_wider(part: Window, whole: &Job) -> Window {
    let land = whole.schedule().world();
    let more = |axis: usize, side: u32, all: u32| {
        let (first, last) = (land.origin[axis], land.origin[axis] + i64::from(all));
        let (from, to) = (part.origin[axis], part.origin[axis] + i64::from(side));
        let endless = whole.recipe().endless;
        (u32::from(endless || from > first), u32::from(endless || to < last))
    };
    let (west, east) = more(0, part.width, land.width);
    let (north, south) = more(1, part.height, land.height);
    Window {
        origin: [part.origin[0] - i64::from(west), part.origin[1] - i64::from(north)],
        width: part.width + west + east,
        height: part.height + north + south,
    }
}

/// The share of the places that each biome keeps, from `BIOME=SHARE`.
fn densities(given: &[String], names: &[&str]) -> Result<Vec<f64>> {
    let mut densities = vec![None; names.len()];
    for text in given {
        let wrong = |what: String| Error::param(format!("--density {text}: {what}"));
        let (name, share) = text
            .rsplit_once('=')
            .ok_or_else(|| wrong("expected BIOME=SHARE, such as desert=0.1".into()))?;
        if names.is_empty() {
            return Err(wrong("no stage of this recipe makes biomes".into()));
        }
        let at = names.iter().position(|n| *n == name);
        let at = at.ok_or_else(|| {
            wrong(unknown("biome of this recipe", name, names.iter().copied()).to_string())
        })?;
        let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let share = share.ok_or_else(|| wrong("expected a number from 0 to 1".into()))?;
        if densities[at].replace(share).is_some() {
            return Err(wrong(format!("{name} has a density already; give each biome one")));
        }
    }
    Ok(densities.into_iter().map(|share| share.unwrap_or(1.0)).collect())
}

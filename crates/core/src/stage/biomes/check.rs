//! What the table cannot say about the parameters.

use super::biome::{Biome, biomes};
use super::{POINTS_MAX, RADIUS_MAX, pairs, radius, textures};
use crate::error::Invalid;
use crate::params::Settings;
use crate::site::HEIGHT_MAX;
use crate::site::{Site, Window};
use crate::table::shown;

pub(super) fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    check_file(s)?;
    let all = check_lists(s)?;
    check_radius(s)?;
    check_points(s, site)?;
    check_words(s, site, all.len())?;
    check_interval(s)?;
    check_heights(s, site, &all)
}

/// The error about a parameter.
fn refused(parameter: &str, message: String) -> crate::Result<()> {
    Err(Invalid::from(message).about(parameter).into())
}

fn check_file(s: &Settings) -> crate::Result<()> {
    let (from, file) = (s.word("from"), s.word("file"));
    if from != "image" && !file.is_empty() {
        let message =
            format!("from = {from:?}, file = {file:?}: a file is read only with from = \"image\"");
        return refused("from", message);
    }
    Ok(())
}

fn check_radius(s: &Settings) -> crate::Result<()> {
    if radius(s) > RADIUS_MAX {
        let message = format!(
            "padding_cells = {} and frequency = {} give a radius of {:.1} cells: allowed up to \
             {RADIUS_MAX}",
            s.number("padding_cells"),
            s.number("frequency"),
            radius(s)
        );
        return refused("padding_cells", message);
    }
    Ok(())
}

/// Refuses more points than a plan can list.
fn check_points(s: &Settings, site: &Site) -> crate::Result<()> {
    let Window { width, height, .. } = site.window;
    let (cells, method) = (width as f64 * height as f64, s.word("method"));
    let every = if method == "full" { 1.0 } else { s.integer("interval_cells") as f64 };
    // A coarser lattice than the recipe's has the same points.
    let area = (site.stride()[0] * site.stride()[0]) as f64;
    let dense = match method {
        "scattered" => s.number("frequency") * s.number("frequency") * 3f64.sqrt() * area,
        _ => (area / (every * every)).min(1.0),
    };
    if cells * dense > POINTS_MAX {
        let message = format!(
            "{width} x {height} cells have about {:.0} points with this method: allowed up to \
             {POINTS_MAX}; use a sparser grid or a smaller window",
            cells * dense
        );
        return refused("method", message);
    }
    Ok(())
}

/// Refuses textures and weights whose words have no number of 32 bits.
fn check_words(s: &Settings, site: &Site, biomes: usize) -> crate::Result<()> {
    let Window { width, height, .. } = site.window;
    let cells = width as f64 * height as f64;
    if cells * textures(s) as f64 > u32::MAX as f64 {
        let message = format!(
            "{} textures of {width} x {height} cells: allowed up to 4294967295 texels in all",
            textures(s)
        );
        return refused("splat", message);
    }
    if cells * pairs(s) as f64 > u32::MAX as f64 {
        let message = format!(
            "weights of {biomes} biomes for {width} x {height} cells: allowed up to 8589934590 \
             weights in all"
        );
        return refused("weights", message);
    }
    Ok(())
}

fn check_interval(s: &Settings) -> crate::Result<()> {
    let gridded = ["convolved", "lerped"].contains(&s.word("method"));
    if gridded && radius(s) < s.integer("interval_cells") as f64 {
        let message = format!(
            "radius_cells = {} and interval_cells = {}: the radius must be at least the interval, \
             so that there always is a point within it",
            radius(s),
            s.integer("interval_cells")
        );
        return refused("radius_cells", message);
    }
    Ok(())
}

fn check_heights(s: &Settings, site: &Site, all: &[Biome]) -> crate::Result<()> {
    let most = HEIGHT_MAX as f64 * site.spacing_m();
    if let Some(high) = all.iter().find(|b| s.word("heights") != "keep" && b.extreme_m() > most) {
        let message = format!(
            "biome {:?}: heights up to {} m at {} m a cell: allowed up to {HEIGHT_MAX} cells, \
             {most} m, either way",
            high.name,
            high.extreme_m(),
            site.spacing_m()
        );
        return refused("biome", message);
    }
    Ok(())
}

/// Checks the list of biomes, and the table of climates where there is one or one is needed.
pub fn check_lists(s: &Settings) -> crate::Result<Vec<Biome>> {
    let all = biomes(s)?;
    if s.word("from") == "climate" || !s.list("table").is_empty() {
        table(s, &all).map_err(|e| crate::Error::param(Invalid::from(e).about("table")))?;
    }
    Ok(all)
}

/// The biome numbers in the table of climates, row by row, and the number of columns.
pub(super) fn table(s: &Settings, all: &[Biome]) -> Result<(Vec<i32>, usize), String> {
    let rows = s.list("table");
    if !(1..=64).contains(&rows.len()) {
        return Err(format!(
            "table: {} rows: from = \"climate\" needs 1 to 64 lists of names of biomes, from cold \
             to hot",
            rows.len()
        ));
    }
    let mut numbers = vec![];
    let mut columns = 0;
    for (y, row) in rows.iter().enumerate() {
        let names = row.as_array().ok_or_else(|| {
            format!("table, row {}: {}: expected a list of names", y + 1, shown(row))
        })?;
        if y == 0 {
            columns = names.len();
        }
        if !(1..=64).contains(&names.len()) {
            return Err(format!("table, row {}: {} names: allowed 1 to 64", y + 1, names.len()));
        }
        if names.len() != columns {
            return Err(format!(
                "table, row {}: {} names: every row must have as many as row 1: {columns}",
                y + 1,
                names.len()
            ));
        }
        for (x, value) in names.iter().enumerate() {
            let name = value.as_str();
            let name = name.ok_or_else(|| {
                format!("table, row {}, column {}: {}: expected a name", y + 1, x + 1, shown(value))
            })?;
            let number = all.iter().position(|b| b.name == name).ok_or_else(|| {
                let unknown =
                    crate::params::unknown("biome", name, all.iter().map(|b| b.name.as_str()));
                format!("table, row {}, column {}: {unknown}", y + 1, x + 1)
            })?;
            numbers.push(number as i32);
        }
    }
    Ok((numbers, columns))
}

//! The picture of a land, in the colours that a recipe asks for.

use crate::error::Result;
use crate::map::Map;
use crate::materials;
use crate::recipe::{Colour, Output};
use crate::render::{Ground, Style, Waters, coloured, draw_water, ground, made_of, shaded};
use image::RgbImage;

/// How the pictures of a recipe's output are drawn.
pub fn style(output: &Output) -> Style {
    Style { sea_level_m: output.sea_level_m, range_m: output.range_m, ..Style::default() }
}

/// A picture of the land from its height; `other` returns the other maps that exist, by name.
///
/// # Errors
/// [`crate::Error::Param`] for maps of different sizes.
pub fn picture<'a>(
    output: &Output,
    height: &Map,
    other: impl Fn(&str) -> Option<&'a Map>,
    style: &Style,
) -> Result<RgbImage> {
    // Where a recipe has a table of water.
    let [depth, width] = ["water_depth", "river_width"].map(&other);
    let mut picture = match output.colour {
        Colour::Height => shaded(height, style),
        Colour::Biomes => match other("biome_colour") {
            Some(colours) => coloured(height, colours, style)?,
            // The stage that makes them has not run yet.
            None => shaded(height, style),
        },
        Colour::Ground => {
            let [flow, erosion, deposition, sediment, beach] =
                ["flow", "erosion", "deposition", "sediment", "beach"].map(&other);
            // Water is drawn once: by its own maps where they are, else by the flow.
            let flow = flow.filter(|_| depth.is_none() && width.is_none());
            let weights: Option<Vec<&Map>> =
                materials::NAMES.iter().map(|name| other(name)).collect();
            match weights {
                Some(weights) => made_of(height, &weights, style)?,
                None => {
                    ground(height, &Ground { flow, erosion, deposition, sediment, beach }, style)?
                }
            }
        }
    };
    let as_from_the_air = output.colour != Colour::Height;
    draw_water(&mut picture, height, &Waters { depth, width, as_from_the_air }, style)?;
    Ok(picture)
}

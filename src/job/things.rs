//! Where things stand on the land that a run has left.

use super::Outcome;
use crate::error::{Error, Result};
use crate::materials;
use crate::scatter::{Growth, Place, WET, keep_land, places};
use std::sync::atomic::AtomicBool;

impl Outcome {
    /// Where the things of the recipe's table `nth`, from 0, stand. Things of different tables do
    /// not stand on the same places.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for a table that the recipe has not; as [`places`].
    pub fn things(&self, nth: usize, stop: &AtomicBool) -> Result<Vec<Place>> {
        let (height, recipe) = (self.map("height")?, &self.recipe);
        let Some(things) = recipe.scatter.get(nth) else {
            let count = recipe.scatter.len();
            return Err(Error::param(format!("table {nth}: the recipe has {count} to scatter")));
        };
        let on = things.on.iter().map(|(at, share)| Ok((self.map(materials::NAMES[*at])?, *share)));
        let on = on.collect::<Result<Vec<_>>>()?;
        let needs = |name: &str| things.maps(recipe.water.is_some()).any(|known| known == name);
        let slope = needs("slope").then(|| self.map("slope")).transpose()?;
        let wet = WET.iter().filter(|name| needs(name)).map(|name| self.map(name));
        let wet = wet.collect::<Result<Vec<_>>>()?;
        let names = recipe.biome_names();
        let biome = needs("biome").then(|| self.map("biome")).transpose()?;
        let share = |name: &String| {
            let found = things.biomes.iter().find(|(known, _)| known == name);
            found.map_or(1.0, |(_, share)| *share)
        };
        let densities: Vec<f64> = names.iter().map(share).collect();
        let growth = Growth {
            densities: &densities,
            on: &on,
            slope: slope.as_ref().map(|map| (map, things.slope_deg)),
            clear_of: &wet,
            above_m: recipe.output.sea_level_m.filter(|_| !things.in_water),
            size: things.size,
        };
        let seed = crate::arith::seed(recipe.seed, nth as u32 ^ TABLES);
        let method = things.method(nth, height.spacing_m);
        let mut found = places(method, seed, &self.window, &height, biome.as_ref(), &growth, stop)?;
        keep_land(&mut found, &self.window, self.missing());
        Ok(found)
    }
}

/// What tells seeds of these tables from those of stages.
const TABLES: u32 = 0x5ca7_0000;

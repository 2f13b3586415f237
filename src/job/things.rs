//! Where things stand on the land that a run has left.

use super::{Job, Outcome};
use crate::error::{Error, Invalid, Result};
use crate::scatter::{Growth, POINTS_MAX, Place, WET, keep_land, places};
use crate::{field, materials, memory};
use std::sync::atomic::AtomicBool;

/// Bytes of a place in memory, and of its line in the longest file.
const PLACE_BYTES: [u64; 2] = [size_of::<Place>() as u64, 300];

impl Job {
    /// Refuses things that do not fit the land, before any work is done.
    ///
    /// # Errors
    /// [`Error::Param`] for a distance that does not fit its cells, for more points than there may
    /// be, and for a map that the run has not on the level where it ends; [`Error::Limit`] for
    /// more memory than there is.
    pub fn admit_things(&self) -> Result<()> {
        let (recipe, window, scale) = (self.recipe(), self.window(), self.scale());
        let level = self.schedule().until_level();
        let finest_m = scale.spacing_m / libm::exp2(f64::from(level - recipe.finest()));
        let mut counts = vec![];
        for (i, things) in recipe.scatter.iter().enumerate() {
            let place = format!("/scatter/{i}");
            things.check_distance(finest_m).map_err(|e| e.inside("", &place))?;
            let maps = things.maps(recipe.water.is_some()).filter(|name| !WET.contains(name));
            let why = |name: &str| recipe.lacks(field::find(name)?, level);
            if let Some(why) = maps.filter_map(why).next() {
                let what = format!("scatter {}: {why}", things.name);
                return Err(Invalid::from(what).inside("", &place).into());
            }
            counts.push(things.method(scale.spacing_m).points(&window));
        }
        let all: f64 = counts.iter().sum();
        if all > POINTS_MAX {
            let most = counts.iter().zip(&recipe.scatter).max_by(|a, b| a.0.total_cmp(b.0));
            let most = most.map_or(String::new(), |(count, things)| {
                let distance = things.distance(scale.spacing_m);
                format!("; {count:.0} of them by {}, distance_m = {distance}", things.name)
            });
            let what = format!(
                "scatter: the tables make about {all:.0} points on this land{most}: allowed \
                 {POINTS_MAX} in all; make distances longer"
            );
            return Err(Invalid::from(what).about("scatter").into());
        }
        // With a program all places are kept for its tables.
        let largest = counts.iter().copied().fold(0.0, f64::max) as u64;
        let kept = if recipe.output.program.is_some() { all as u64 } else { largest };
        memory::admit("things", kept * PLACE_BYTES[0] + largest * PLACE_BYTES[1])
    }
}

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
        // Coarse levels have no water where that follows from what is on the finest alone.
        let is_there = |name: &&&str| needs(name) && self.names().any(|known| known == **name);
        let wet = WET.iter().filter(is_there).map(|name| self.map(name));
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
        let seed = crate::arith::seed(recipe.seed, things.mark());
        let method = things.method(height.spacing_m);
        let mut found = places(method, seed, &self.window, &height, biome.as_ref(), &growth, stop)?;
        keep_land(&mut found, &self.window, self.missing());
        Ok(found)
    }
}

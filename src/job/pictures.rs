//! Pictures that strokes stamp, and samples of layers.

use super::Job;
use crate::error::{Error, Invalid, Result};
use crate::map::{Map, Samples};
use crate::picture::Picture;
use crate::schedule::Schedule;
use crate::site::Window;
use crate::stage::{biomes, strokes};
use std::sync::Arc;

impl Job {
    /// The pictures that its strokes stamp and its `ranges` rise by: the numbers of the stage and
    /// of the stroke, from 0, and the file, relative to the recipe.
    pub fn pictures(&self) -> impl Iterator<Item = (usize, usize, String)> {
        let stages = self.recipe().stages.iter().enumerate();
        stages.flat_map(|(i, step)| step.pictures().map(move |(j, file)| (i, j, file)))
    }

    /// Where a recipe names a picture, in words and as a pointer: stage `i`, and of one of strokes
    /// stroke `j`.
    pub(crate) fn picture_place(&self, i: usize, j: usize) -> (String, String) {
        let (place, pointer) = self.recipe().place(i);
        match self.recipe().stages[i].stage.name == strokes::STAGE.name {
            true => (format!("{place}: stroke {}", j + 1), format!("{pointer}/stroke/{j}")),
            false => (place, pointer),
        }
    }

    /// Gives all strokes that stamp `file` their picture, of any size and unit: its lowest sample
    /// becomes 0 and its highest what the stroke's amount says. It takes the place of the file.
    ///
    /// # Errors
    /// [`Error::Param`] for a file that no stroke names, and for a picture without relief, of more
    /// than 4096 samples a side, or of too many together with the others of its stage.
    pub fn supply_picture(&mut self, file: &str, map: &Map) -> Result<()> {
        let places: Vec<_> = self.pictures().filter(|(_, _, known)| known == file).collect();
        if places.is_empty() {
            return Err(Error::param(format!(
                "{file:?}: no stage of the recipe has it as a picture"
            )));
        }
        let picture = Arc::new(Picture::of(map).map_err(|what| self.wrong_picture(file, &what))?);
        for (stage, ..) in &places {
            let mut others: Vec<String> =
                self.pictures().filter(|(i, ..)| i == stage).map(|(_, _, file)| file).collect();
            others.sort();
            others.dedup();
            // A picture that the file had before is replaced, so it does not count.
            others.retain(|other| other != file);
            let settings = &self.recipe().stages[*stage].settings;
            let there: usize = others
                .iter()
                .filter_map(|other| settings.picture(other))
                .map(|p| p.words.len())
                .sum();
            if there + picture.words.len() > Picture::SAMPLES_MAX {
                let (all, most) = (there + picture.words.len(), Picture::SAMPLES_MAX);
                let what = format!(
                    "with it the pictures of the stage have {all} samples: allowed {most}; give \
                     smaller ones"
                );
                return Err(self.wrong_picture(file, &what));
            }
        }
        self.show(file, &picture);
        Ok(())
    }

    /// The error of a picture that cannot be stamped, at the first stroke that names it.
    pub(super) fn wrong_picture(&self, file: &str, what: &str) -> Error {
        let (i, j) =
            self.pictures().find(|(_, _, known)| known == file).map_or((0, 0), |(i, j, _)| (i, j));
        let (place, pointer) = self.picture_place(i, j);
        Invalid::from(format!("file = {file:?}: {what}"))
            .about("file")
            .inside(&place, &pointer)
            .into()
    }

    /// Puts a picture into the settings of all strokes that stamp it.
    pub(super) fn show(&mut self, file: &str, picture: &Arc<Picture>) {
        let shown = |step: &&mut crate::recipe::Step| {
            step.stage.name == strokes::STAGE.name || step.pictures().next().is_some()
        };
        let Schedule { recipe, units, .. } = &mut self.schedule;
        let units = units.iter_mut().map(|unit| &mut unit.step);
        // Units have copies of the recipe's stages, so both are told.
        for step in recipe.stages.iter_mut().chain(units).filter(shown) {
            step.settings.show(file, picture.clone());
        }
    }

    /// Gives stage `i`, from 0, the samples that it reads: a map of the size of the land, with
    /// shares from 0 to 1 for a `layer` or with numbers of biomes. It takes the place of a file.
    ///
    /// # Errors
    /// [`Error::Param`] for a stage that does not exist, and for a map of another size or with
    /// other values.
    pub fn supply(&mut self, i: usize, map: &Map) -> Result<()> {
        let Some(step) = self.recipe().stages.get(i) else {
            let count = self.recipe().stages.len();
            return Err(Error::param(format!(
                "stage {i} from 0: the run has {count} stages, those that it adds included"
            )));
        };
        let (place, pointer) = self.recipe().place(i);
        if step.samples().is_none() {
            let message = format!("{place}, reads no samples: set its from");
            return Err(Invalid::from(message).about("from").inside("", &pointer).into());
        }
        let file = step
            .file()
            .map(|file| format!("file = {file:?}"))
            .unwrap_or_else(|| "the map in memory".into());
        let wrong = |what: String| {
            Invalid::from(format!("{file}: {what}")).about("file").inside(&place, &pointer)
        };
        let land = self.schedule.world();
        if [map.width, map.height] != [land.width, land.height] || map.data.len() != land.cells() {
            let Window { width, height, .. } = land;
            return Err(wrong(format!(
                "{} x {} cells, the terrain has {width} x {height}: give a map of the same size",
                map.width, map.height
            ))
            .into());
        }
        let words = if step.samples() == Some(Samples::Numbers) {
            biomes::mask(&step.settings, map).map_err(wrong)?
        } else {
            // A NaN is in no range, so it is refused, too.
            if let Some(at) = map.data.iter().position(|v| !(0.0..=1.0).contains(v)) {
                let (x, y) = (at % map.width as usize, at / map.width as usize);
                return Err(wrong(format!(
                    "{} in column {x}, row {y}: allowed 0 to 1",
                    map.data[at]
                ))
                .into());
            }
            // A share of 1 is 2¹⁶.
            map.data.iter().map(|v| (v * 65536.0).round() as i32).collect()
        };
        self.samples[i] = Some(words.into());
        Ok(())
    }
}

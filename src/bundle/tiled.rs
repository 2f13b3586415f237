//! The bundle of a land that is larger than memory: made by tiles, and written block by block.

use super::{Folder, MANIFEST, PREVIEW, Sink, entry, manifest, names, picture, style};
use crate::error::{Error, Result};
use crate::field::{self, Field, Origin};
use crate::io::{Stored, encode_picture};
use crate::job::Job;
use crate::map::Map;
use crate::schedule::Schedule;
use crate::stage::levels::lattice;
use crate::tiles::{Tiles, Watch};
use serde_json::json;
use std::path::PathBuf;

/// Most cells of a side of the picture: a level of 2048 has a vertex or two more.
const PICTURE_MAX: u32 = 2050;
/// Most cells of a side of the picture where even the coarsest level has more than that.
const PICTURE_MOST: u32 = 8200;

/// What a bundle by tiles has.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TiledBundle {
    /// The maps, the picture, and last the manifest.
    pub files: Vec<Stored>,
    /// Files of an earlier run that this one does not have and that were removed.
    pub removed: Vec<PathBuf>,
}

impl Job {
    /// Why the bundle of the job cannot be made by tiles; none if it can.
    pub fn untileable(&self) -> Option<String> {
        let output = &self.recipe().output;
        let is_water = |name: &String| {
            field::find(name).is_some_and(|field| match field.origin {
                // They ask where it is.
                Origin::Materials => self.recipe().water.is_some(),
                origin => origin == Origin::Water,
            })
        };
        let what = match () {
            () if output.format != "tif" => {
                format!("output.format is {:?}; only tif is written block by block", output.format)
            }
            () if output.program.is_some() => "output.program is given; its files are whole".into(),
            () if self.recipe().biomes().is_some() => {
                "the recipe has biomes; their textures are of whole lands".into()
            }
            () if output.maps.iter().any(is_water) => {
                "maps of water are asked for; drainage depends on all of the land".into()
            }
            () if !self.recipe().scatter.is_empty() => {
                "the recipe scatters things; their files are made with a part of the land, `--part`"
                    .into()
            }
            #[cfg(feature = "dungeon")]
            () if self.recipe().dungeons.is_some() => {
                "the recipe has dungeons; their files are made with a part of the land, `--part`"
                    .into()
            }
            () if self.recipe().water.as_ref().is_some_and(crate::water::Settings::has_vectors) => {
                "vectors of water are asked for; drainage depends on all of the land".into()
            }
            () => self.recipe().check_parts().err()?.to_string(),
        };
        Some(what)
    }
}

impl Tiles {
    /// Makes a level of the land on the device of its job and stores the bundle: each map of the
    /// recipe's output as a cloud-optimised GeoTIFF, a picture, and last the manifest. The values
    /// are those of [`Job::run_into`]. The manifest says `"by_tiles": true`; it has no statistics
    /// of stages and levels and no digests of words, which are of whole lands. The picture is of
    /// the finest level with at most 2050 cells a side, or of the coarsest; where that has more
    /// than 8200 there is none.
    ///
    /// # Errors
    /// [`Error::Limit`] where [`Job::untileable`] says why; as [`Tiles::words`]; [`Error::Output`]
    /// for a file that cannot be stored. The folder then holds nothing.
    pub fn write_bundle(
        &mut self,
        level: i32,
        folder: &mut Folder,
        warn: &mut dyn FnMut(&str),
        watch: Watch,
    ) -> Result<TiledBundle> {
        let job = self.job().clone();
        if let Some(why) = job.untileable() {
            return Err(Error::limit(format!("the land cannot be made by tiles: {why}")));
        }
        let (recipe, window) = (job.recipe(), Schedule::on_level(&job.schedule().world(), level));
        folder.announce(&names(recipe, None))?;
        folder.begin()?;
        folder.withdraw(MANIFEST)?;
        let fields = self.fields();
        let asked: Vec<&'static Field> = fields
            .iter()
            .copied()
            .filter(|field| recipe.output.maps.iter().any(|name| name == field.name))
            .collect();
        let count = asked.len() as u64;
        let has = |shown: i32, most: u32| {
            let window = lattice(&window, shown - level, false);
            window.width.max(window.height) <= most
        };
        let coarsest = *self.levels().end();
        let shown = (level..=coarsest).find(|shown| has(*shown, PICTURE_MAX));
        // Without a level so small the coarsest is drawn, if it is not much larger.
        let shown = shown.or_else(|| has(coarsest, PICTURE_MOST).then_some(coarsest));
        // Where the CPU takes over from a card, all is written anew.
        let (mut files, entries, maps) = job.with_device(warn, &mut |executor| {
            let (mut files, mut entries) = (vec![], vec![]);
            for (field, n) in asked.iter().copied().zip(0..) {
                let name = recipe.output.file_of(field.name);
                let path = folder.path(&name);
                // All maps have as many blocks, so one count continues from map to map.
                let mut part = |done, all| watch(n * all + done, count * all);
                let cog = self.fill_cog(level, window, field, &path, executor, &mut part)?;
                let (min, max) = cog.range();
                let file = folder.files().finish_cog(cog)?;
                // `entry` fills the two nulls in, which stand here for the order of keys.
                let about = json!({
                    "name": field.name, "file": name, "unit": field.unit, "bytes": null,
                    "blake3": null, "min": min, "max": max,
                });
                entries.push(entry(about, &file));
                files.push(file);
            }
            let shown = shown
                .filter(|_| recipe.output.preview)
                .map(|shown| (shown, lattice(&window, shown - level, false)));
            let maps =
                shown.into_iter().flat_map(|shown| fields.iter().map(move |field| (shown, *field)));
            let maps: Vec<_> = maps.filter(|((level, _), field)| self.has(field, *level)).collect();
            let maps = maps.into_iter().map(|((level, window), field)| {
                Ok((field.name, self.map(level, window, field, executor)?))
            });
            Ok((files, entries, maps.collect::<Result<Vec<(&str, Map)>>>()?))
        })?;
        let mut manifest = manifest::head(&job, window, job.schedule().scale_on(level));
        manifest["by_tiles"] = true.into();
        manifest["maps"] = entries.into();
        let map = |name: &str| maps.iter().find(|(known, _)| *known == name).map(|(_, map)| map);
        if let Some(height) = map("height") {
            let drawn = picture(&recipe.output, height, map, &style(&recipe.output))?;
            files.push(folder.put(PREVIEW, &encode_picture(drawn)?)?);
            manifest["preview"] = json!(PREVIEW);
        }
        let removed = job.complete(folder, &manifest, &mut files)?;
        Ok(TiledBundle { files, removed })
    }
}

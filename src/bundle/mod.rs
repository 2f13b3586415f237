//! A run as files: its maps, pictures and dungeons, and a manifest that says what they hold.

mod manifest;
mod picture;
mod sink;
mod tiled;
mod timelapse;
mod verify;
mod writer;

pub use manifest::file_within;
pub use picture::{picture, style};
pub use sink::{Folder, Memory, Sink, Zip, archive};
pub use tiled::TiledBundle;
pub use timelapse::{Timelapse, TimelapseOptions};
pub use verify::{Checked, verify};

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::field::{self, Decode, Field};
use crate::io::engine::README;
use crate::io::{Encoded, MapFormat, Stored, encode_colours, encode_numbers, encode_within};
use crate::job::{Event, Job, Outcome};
use crate::map::Map;
use crate::materials;
use crate::recipe::{Colour, Recipe};
use crate::water;
use image::RgbImage;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writer::Writer;

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";
const PREVIEW: &str = "preview.png";
/// Maps that are encoded at a time, each with its samples and bytes in memory.
const ENCODED_AT_ONCE: usize = 4;

/// What a bundle was made of, and its files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bundle {
    /// What the run left.
    pub outcome: Arc<Outcome>,
    /// The maps, pictures and dungeons, and last the manifest.
    pub files: Vec<Stored>,
    /// The animation of the time-lapse and its pictures, where there is one.
    pub timelapse: Vec<Stored>,
    /// Files of an earlier run that this one does not have and that were removed.
    pub removed: Vec<PathBuf>,
    /// The maps that were rounded to 16 bits, and the values that 0 and 65535 stand for.
    pub quantised: Vec<(String, (f64, f64))>,
    /// Warnings about the files for people, one sentence each.
    pub warnings: Vec<String>,
    /// Seconds that the run took; 0 where it was run before.
    pub run_seconds: f64,
    /// Seconds that encoding and storing took.
    pub output_seconds: f64,
    /// Seconds of these that went into encoding maps and the picture.
    pub encoding_seconds: f64,
}

/// The names of the files that a bundle has, but for its dungeons, whose number is known when the
/// run has ended.
pub fn names(recipe: &Recipe, timelapse: Option<&TimelapseOptions>) -> Vec<String> {
    let output = &recipe.output;
    let mut names: Vec<String> = output.maps.iter().map(|name| output.file_of(name)).collect();
    names.extend(output.preview.then(|| PREVIEW.into()));
    names.extend((1..=recipe.textures()).map(texture));
    names.extend(recipe.weights().map(weights));
    names.extend(recipe.water.iter().flat_map(water::Settings::files));
    names
        .extend(recipe.output.program.iter().map(|program| format!("{}/{README}", program.name())));
    names.extend(recipe.scatter.iter().flat_map(|things| things.files().map(|(name, _)| name)));
    names.extend(timelapse.into_iter().flat_map(TimelapseOptions::names));
    names.push(MANIFEST.into());
    names
}

/// The file of a texture, from 1.
fn texture(n: usize) -> String {
    format!("splat_{n}.png")
}

/// The file of the weights of all biomes.
fn weights(format: &str) -> String {
    format!("biome_weights.{format}")
}

impl Folder {
    /// A folder for a bundle. With `replace` the files of an earlier run are replaced, and those
    /// that the new one does not have are removed.
    pub fn for_bundle(root: impl Into<PathBuf>, replace: bool) -> Self {
        let root = root.into();
        let earlier = if replace { manifest::listed(&root) } else { vec![] };
        let mut folder = Self::new(root, replace);
        folder.set_earlier(earlier);
        folder
    }

    /// Refuses what the bundle of a recipe would overwrite, before any work is done. Touches
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Output`] for files that exist or cannot be replaced, and for pictures left from a
    /// longer time-lapse, which players would show with the new ones.
    pub fn announce_bundle(
        &mut self,
        recipe: &Recipe,
        timelapse: Option<&TimelapseOptions>,
    ) -> Result<()> {
        timelapse.map_or(Ok(()), |timelapse| self.refuse_leftovers(timelapse))?;
        self.announce(&names(recipe, timelapse))
    }

    /// Refuses a folder that has pictures of a longer time-lapse.
    ///
    /// # Errors
    /// [`Error::Output`] with the first of them.
    pub fn refuse_leftovers(&self, timelapse: &TimelapseOptions) -> Result<()> {
        let (Some(name), Some(pictures)) = (timelapse.next(), &timelapse.folder) else {
            return Ok(());
        };
        if !self.has_foreign(&name) {
            return Ok(());
        }
        let what = format!(
            "is left from a longer time-lapse; remove the folder {}, or give another",
            self.path(pictures).display()
        );
        Err(Error::output(
            self.path(&name),
            std::io::Error::new(std::io::ErrorKind::AlreadyExists, what),
        ))
    }
}

impl Job {
    /// Runs every stage and stores a bundle: the maps of the recipe's output, its picture, textures
    /// and dungeons, and last the manifest, which says what they hold. With a time-lapse, the job's
    /// [`Job::frames`] are its own.
    ///
    /// The bundle is the same bytes on every device, but for the light of pictures.
    ///
    /// # Errors
    /// As [`Job::run`]; [`Error::Output`] for a file that cannot be stored; [`Error::Param`] for a
    /// size that the recipe's program does not take. A [`Folder`] and a [`Zip`] then hold nothing.
    pub fn run_into(
        &self,
        sink: &mut dyn Sink,
        timelapse: Option<&TimelapseOptions>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Bundle> {
        let begun = Moment::now();
        self.admit_bundle(sink, timelapse)?;
        let mut pictures = vec![];
        let outcome = match timelapse {
            None => self.run(watch)?,
            Some(options) => {
                let mut film = Timelapse::new(options, &self.recipe().output);
                let job = self.clone().frames(options.frames)?;
                let outcome = job.run(&mut |event| match event {
                    Event::Frame(frame) => {
                        // The first picture may replace one of an earlier run.
                        sink.withdraw(MANIFEST)?;
                        film.add(frame, sink)
                    }
                    event => watch(event),
                })?;
                pictures = film.finish(sink)?;
                outcome
            }
        };
        let run_seconds = begun.elapsed().as_secs_f64();
        let bundle = self.write(outcome.into(), sink, timelapse, watch)?;
        Ok(Bundle { timelapse: pictures, run_seconds, ..bundle })
    }

    /// Stores the bundle of a run that this job has made: that of [`Job::run_into`], without a
    /// time-lapse and without running again.
    ///
    /// # Errors
    /// As [`Job::run_into`]; [`Error::Param`] for what a job of another recipe or input has left.
    pub fn store(
        &self,
        outcome: impl Into<Arc<Outcome>>,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Bundle> {
        let outcome = outcome.into();
        if outcome.recipe.describe() != self.recipe().describe()
            || outcome.start_digest != self.start_digest()
        {
            let name = &outcome.recipe.name;
            return Err(Error::param(format!(
                "the outcome is that of another run, {name:?}: store it by the job that made it"
            )));
        }
        self.admit_bundle(sink, None)?;
        self.write(outcome, sink, None, watch)
    }

    /// Refuses what can be refused before any work is done, and begins the bundle.
    fn admit_bundle(
        &self,
        sink: &mut dyn Sink,
        timelapse: Option<&TimelapseOptions>,
    ) -> Result<()> {
        self.admit_program()?;
        self.admit_missing()?;
        self.admit_things()?;
        sink.announce(&names(self.recipe(), timelapse))?;
        sink.begin()
    }

    /// Writes the files of what a run has left, and last the manifest.
    fn write(
        &self,
        outcome: Arc<Outcome>,
        sink: &mut dyn Sink,
        timelapse: Option<&TimelapseOptions>,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Bundle> {
        let begun = Moment::now();
        // From here on files of an earlier run are replaced, which its manifest describes.
        sink.withdraw(MANIFEST)?;
        let mut warnings = self.warnings_of(&outcome, watch)?;
        let mut bundle = Writer {
            job: self,
            outcome: &outcome,
            sink,
            files: vec![],
            quantised: vec![],
            encoding_seconds: 0.0,
        };
        let mut manifest = manifest::of(self, &outcome);
        manifest["maps"] = bundle.maps_and_preview(&mut warnings, watch)?.into();
        if self.recipe().biomes().is_some() {
            manifest["biomes"] = json!(outcome.biomes);
            manifest["textures"] = bundle.textures()?.into();
            bundle.weights(&mut manifest)?;
        }
        bundle.vectors(&mut manifest, &mut warnings, watch)?;
        #[cfg(feature = "dungeon")]
        if self.recipe().dungeons.is_some() {
            bundle.dungeons(&mut manifest)?;
        }
        let things = bundle.scatter(&mut manifest)?;
        if let Some(engine) = self.recipe().output.program {
            bundle.program(engine, &things, &mut manifest, &mut warnings, watch)?;
        }
        if let Some(options) = timelapse {
            // Without digests, as the preview.
            manifest["timelapse"] = json!({ "file": options.animation, "folder": options.folder,
                "frames": options.frames });
        }
        manifest["warnings"] = json!(warnings);
        let Writer { sink, mut files, quantised, encoding_seconds, .. } = bundle;
        let removed = self.complete(sink, &manifest, &mut files)?;
        Ok(Bundle {
            outcome,
            files,
            timelapse: vec![],
            removed,
            quantised,
            warnings,
            run_seconds: 0.0,
            output_seconds: begun.elapsed().as_secs_f64(),
            encoding_seconds,
        })
    }

    /// The job's warnings, and that of the water that was found, which is told.
    fn warnings_of(
        &self,
        outcome: &Outcome,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Vec<String>> {
        let own = self.warnings().iter().map(|(_, warning)| warning.clone());
        let (settings, found) = (outcome.recipe.water.as_ref(), outcome.water.as_ref());
        let water = settings.and_then(|water| water.warning(outcome.scale.spacing_m, found));
        if let Some(warning) = &water {
            watch(Event::Warning(warning))?;
        }
        Ok(own.chain(water).collect())
    }

    /// Refuses a land of a size that the recipe's program does not take.
    ///
    /// # Errors
    /// [`Error::Param`] with the nearest size that it does.
    pub fn admit_program(&self) -> Result<()> {
        let window = self.window();
        let program = self.recipe().output.program;
        program.map_or(Ok(()), |program| program.check(window.width, window.height))
    }

    /// Refuses formats that cannot say that cells have no value, where the input has some without a
    /// height.
    ///
    /// # Errors
    /// [`Error::Param`] with the first such file.
    pub fn admit_missing(&self) -> Result<()> {
        let (missing, output) = (self.missing_cells(), &self.recipe().output);
        let whole = |name: &&String| {
            let decode = field::find(name).map(|field| field.decode);
            let format = MapFormat::from_path(Path::new(&output.file_of(name))).ok();
            !matches!(decode, Some(Decode::Number | Decode::Colour))
                && format.is_some_and(MapFormat::is_quantised)
        };
        match output.maps.iter().find(whole).filter(|_| missing > 0) {
            None => Ok(()),
            Some(name) => {
                let file = output.file_of(name);
                let allowed = MapFormat::names(|format| !format.is_quantised()).join(", ");
                let message = format!(
                    "output: {file} cannot say that {missing} cells of the input have no height: \
                     allowed {allowed}; or give these cells a height with nodata_m"
                );
                Err(crate::error::Invalid::of("format", file, allowed)
                    .saying(message)
                    .inside("", "/output")
                    .into())
            }
        }
    }

    /// Ends a bundle: removes what an earlier run left and this one does not have, and stores the
    /// manifest last, so that a folder with one is whole.
    fn complete(
        &self,
        sink: &mut dyn Sink,
        manifest: &serde_json::Value,
        files: &mut Vec<Stored>,
    ) -> Result<Vec<PathBuf>> {
        // What follows removes files of an earlier run, so this is the last moment to cancel.
        self.cancel_handle().check()?;
        let removed = sink.clear(&self.inputs())?;
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|e| Error::output(MANIFEST, e.into()))?;
        // The manifest comes last: where it is, the files that it names are whole.
        files.push(sink.put(MANIFEST, format!("{text}\n").as_bytes())?);
        sink.keep()?;
        Ok(removed)
    }

    /// The files that the run reads: they are not to be removed with an earlier run's.
    fn inputs(&self) -> Vec<PathBuf> {
        self.recipe().files().chain(self.recipe().file.clone()).collect()
    }
}

/// A map of a field as a file of a bundle. `palette` has the colours of biomes, `range_m` the
/// heights that the ends of 16 bits stand for, `missing` the cells without a value.
///
/// # Errors
/// [`Error::Param`] for a format that cannot hold the field.
pub fn encode_field(
    field: &Field,
    map: &Map,
    format: MapFormat,
    palette: &[[u8; 3]],
    range_m: Option<(f64, f64)>,
    missing: &[usize],
) -> Result<Encoded> {
    match field.decode {
        // Numbers and colours in pictures have no value to spare.
        Decode::Number if format.is_quantised() => encode_numbers(map, palette, format),
        Decode::Colour if format.is_quantised() => encode_colours(map, format),
        Decode::Height => encode_within(map, format, range_m, missing),
        // As they are read: the whole range of a layer.
        Decode::Fraction => encode_within(map, format, Some((0.0, 1.0)), missing),
        Decode::Colour if format == MapFormat::Hgt => encode_colours(map, format),
        _ => encode_within(map, format, None, missing),
    }
}

/// The lowest and the highest value of the cells that have one.
fn known_range(map: &Map, missing: &[usize]) -> (f32, f32) {
    if missing.is_empty() {
        return map.min_max();
    }
    let mut known = vec![true; map.data.len()];
    missing.iter().for_each(|at| known[*at] = false);
    let known = map.data.iter().zip(known).filter(|(_, known)| *known).map(|(value, _)| *value);
    known.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// An entry of the manifest with the size and the digest of its file.
fn entry(mut about: serde_json::Value, file: &Stored) -> serde_json::Value {
    about["bytes"] = json!(file.bytes);
    about["blake3"] = json!(file.blake3);
    about
}

/// Entries for files of which their names are all that there is to say.
fn entries(names: &[String], files: &[Stored]) -> serde_json::Value {
    names.iter().zip(files).map(|(name, file)| entry(json!({ "file": name }), file)).collect()
}

impl Outcome {
    /// The picture of the land, in the colours of the recipe's output.
    ///
    /// # Errors
    /// [`Error::Param`] for maps that contradict each other.
    pub fn picture(&self) -> Result<RgbImage> {
        let output = &self.recipe.output;
        let others = output
            .colour
            .maps()
            .iter()
            .chain(&["water_depth", "river_width"])
            .chain(if output.colour == Colour::Ground { &materials::NAMES[..] } else { &[] })
            .filter(|name| self.names().any(|known| known == **name));
        let others = others.map(|name| Ok((*name, self.map(name)?))).collect::<Result<Vec<_>>>()?;
        let other =
            |name: &str| others.iter().find(|(known, _)| *known == name).map(|(_, map)| map);
        let mut drawn = picture(output, &self.map("height")?, other, &style(output))?;
        // Outside the land there is paper.
        for at in self.missing() {
            let (x, y) = (*at as u32 % self.window.width, *at as u32 / self.window.width);
            if let Some(pixel) = drawn.get_pixel_mut_checked(x, y) {
                *pixel = image::Rgb([255; 3]);
            }
        }
        Ok(drawn)
    }
}

//! `thalweg run --count`: lands of consecutive seeds, and a contact sheet of them.

use super::{Arguments, job_of};
use crate::command::console::{Console, bytes};
use crate::command::dry_run;
use crate::command::summary::{files_json, title};
use image::RgbImage;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use thalweg::bundle::{Folder, TimelapseOptions, names};
use thalweg::io::{Files, Stored, encode_picture, refuse};
use thalweg::render::{admit_sheet, sheet, thumbnail};
use thalweg::{Error, Job, Limit, Recipe, Result};

/// The name of the contact sheet in the folder of all lands.
const SHEET: &str = "sheet.png";

/// Endings of pictures that a sheet is not.
const OTHERS: [&str; 7] = ["jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff"];

/// What the command line asks for.
struct Variants<'a> {
    a: &'a Arguments,
    recipe: Recipe,
    timelapse: Option<TimelapseOptions>,
    count: usize,
    /// The folder of the lands' folders; none where only a sheet is made.
    folder: Option<PathBuf>,
    sheet: Option<PathBuf>,
}

/// One land that is made.
struct Made {
    seed: u64,
    seconds: f64,
    files: Vec<Stored>,
    picture: RgbImage,
}

pub fn main(
    console: &Console,
    a: &Arguments,
    recipe: Recipe,
    timelapse: Option<TimelapseOptions>,
) -> Result<bool> {
    let variants = Variants::new(a, recipe, timelapse)?;
    let first = variants.job(console, 0)?;
    if a.dry_run {
        let paths = variants.paths();
        return dry_run::whole(console, &first, &paths, variants.timelapse.as_ref());
    }
    variants.announce(console)?;
    let mut made = vec![];
    for nth in 0..variants.count {
        console.check()?;
        let job = variants.job(console, nth)?;
        console.note(format!("land {} of {}: seed {}", nth + 1, variants.count, job.recipe().seed));
        made.push(variants.make(console, &job).map_err(of_a_variant)?);
    }
    let stored = variants.draw(&mut made, console)?;
    report(console, &first, &made, stored.as_ref())?;
    Ok(true)
}

/// `run` makes a land that does not fit into memory by tiles; of several it does not.
fn of_a_variant(e: Error) -> Error {
    match e {
        Error::Limit(Limit { message, .. }) => Error::limit(format!(
            "{message} (`run --count` does not make tiles by itself: make the land smaller, or \
             run its seeds one by one)"
        )),
        e => e,
    }
}

impl<'a> Variants<'a> {
    fn new(a: &'a Arguments, recipe: Recipe, timelapse: Option<TimelapseOptions>) -> Result<Self> {
        let count = a.count.unwrap_or(1) as usize;
        if recipe.seed.checked_add(count as u64 - 1).is_none() {
            return Err(Error::param(format!(
                "--count {count}: the seeds from {} on go beyond {}, the largest; give --seed a \
                 lower one",
                recipe.seed,
                u64::MAX
            )));
        }
        let output = a.output.clone().unwrap_or_default();
        let end = output.extension().map(|end| end.to_string_lossy().to_lowercase());
        let is_picture = end.as_deref() == Some("png");
        if a.sheet && end.is_some_and(|end| OTHERS.contains(&end.as_str())) {
            let path = output.display();
            return Err(Error::param(format!("--sheet: {path}: a sheet is a .png")));
        }
        if a.sheet && is_picture && timelapse.is_some() {
            let what = "--frames: a sheet alone has no time-lapse; give a folder with -o";
            return Err(Error::param(what));
        }
        let (folder, sheet) = match (a.sheet, is_picture) {
            (true, true) => (None, Some(output)),
            (true, false) => (Some(output.clone()), Some(output.join(SHEET))),
            (false, _) => (Some(output), None),
        };
        if sheet.is_some() {
            admit_sheet(count)?;
        }
        Ok(Self { a, recipe, timelapse, count, folder, sheet })
    }

    /// The run of the land of one seed.
    fn job(&self, console: &Console, nth: usize) -> Result<Job> {
        let mut recipe = self.recipe.clone();
        recipe.seed += nth as u64;
        let job = job_of(console, self.a, recipe, self.timelapse.as_ref())?;
        job.admit_program()?;
        job.admit_things()?;
        Ok(job)
    }

    fn folder_of(&self, seed: u64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("seed-{seed}")))
    }

    /// All files that would be written, but for dungeons.
    fn paths(&self) -> Vec<PathBuf> {
        let names = names(&self.recipe, self.timelapse.as_ref());
        let folders = (0..self.count as u64).filter_map(|n| self.folder_of(self.recipe.seed + n));
        let files = folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        files.chain(self.sheet.clone()).collect()
    }

    fn bundle_of(&self, seed: u64, console: &Console) -> Option<Folder> {
        self.folder_of(seed).map(|folder| Folder::for_bundle(folder, console.options.force))
    }

    /// Refuses what would be overwritten, before any work is done.
    fn announce(&self, console: &Console) -> Result<()> {
        for nth in 0..self.count {
            let bundle = self.bundle_of(self.recipe.seed + nth as u64, console);
            bundle.map_or(Ok(()), |mut folder| {
                folder.announce_bundle(&self.recipe, self.timelapse.as_ref())
            })?;
        }
        let Some(sheet) = &self.sheet else { return Ok(()) };
        refuse(std::slice::from_ref(sheet), console.options.force)?;
        match self.folder {
            Some(_) => Ok(()),
            None => Files::default().probe(sheet.parent().unwrap_or(Path::new(""))),
        }
    }

    /// Makes the land of a job, and stores it where lands are stored.
    fn make(&self, console: &Console, job: &Job) -> Result<Made> {
        let seed = job.recipe().seed;
        let begun = console.seconds();
        let (outcome, files) = match self.bundle_of(seed, console) {
            Some(mut folder) => {
                let bundle = console.watch(job, |watch| {
                    job.run_into(&mut folder, self.timelapse.as_ref(), watch)
                })?;
                bundle.warnings.iter().for_each(|warning| console.warn(warning));
                (bundle.outcome, bundle.timelapse.into_iter().chain(bundle.files).collect())
            }
            None => (console.watch(job, |watch| job.run(watch))?.into(), vec![]),
        };
        let picture = match &self.sheet {
            Some(_) => thumbnail(outcome.picture()?, self.count),
            None => RgbImage::default(),
        };
        Ok(Made { seed, seconds: console.seconds() - begun, files, picture })
    }

    /// Draws the contact sheet, where one is asked for.
    fn draw(&self, made: &mut [Made], console: &Console) -> Result<Option<Stored>> {
        let Some(path) = &self.sheet else { return Ok(None) };
        let pictures: Vec<_> =
            made.iter_mut().map(|land| (land.seed, std::mem::take(&mut land.picture))).collect();
        let bytes = encode_picture(sheet(&pictures)?)?;
        console.check()?;
        let mut files = Files::default();
        let stored = files.write(path, &bytes)?;
        files.keep();
        Ok(Some(stored))
    }
}

/// Says what was made: a line for each land.
fn report(console: &Console, first: &Job, made: &[Made], sheet: Option<&Stored>) -> Result<()> {
    console.result(
        || {
            let land = |land: &Made| {
                json!({ "seed": land.seed, "seconds": land.seconds,
                    "files": files_json(&land.files) })
            };
            json!({
                "name": first.recipe().name, "lands": made.iter().map(land).collect::<Value>(),
                "sheet": files_json(sheet).get(0),
                "seconds": { "all": console.seconds() }, "warnings": [],
            })
        },
        || {
            let line = |land: &Made| {
                let place = land.files.last().and_then(|file| file.path.parent());
                let place = place.map_or(String::new(), |path| format!("  {}", path.display()));
                format!("  seed {:<12} {:>8.2} s{place}\n", land.seed, land.seconds)
            };
            let drawn = sheet.map_or(String::new(), |sheet| {
                format!("{:>12}  {}\n", bytes(sheet.bytes), sheet.path.display())
            });
            let lands: String = made.iter().map(line).collect();
            let more = match made.len() {
                1 => String::new(),
                n => format!(" and the next {}", n - 1),
            };
            format!("{}{more}\n{lands}{:.2} s in all\n{drawn}", title(first), console.seconds())
        },
    )
}

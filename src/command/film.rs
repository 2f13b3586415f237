//! Time-lapses: pictures of a run under way, as an animation and as numbered files.

use super::console::bytes;
use super::files::Files;
use super::run::files_text;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use thalweg::io::{Animation, Picture, Stored, encode_picture};
use thalweg::map::Map;
use thalweg::recipe::{Colour, Output};
use thalweg::render::{Ground, Style, coloured, ground, reduced, shaded};
use thalweg::world::{FRAMES_MAX, Frame};
use thalweg::{Error, Result};

/// How a time-lapse is asked for.
#[derive(Args)]
pub struct Options {
    /// Pictures of the land while it is eroded: the first before, the last after, the others evenly between
    #[arg(long, value_name = "N", help_heading = "Time-lapse")]
    pub frames: Option<usize>,
    /// Longest side of these pictures; larger maps are averaged down
    #[arg(long, value_name = "PIXELS", default_value_t = 1080, value_parser = clap::value_parser!(u32).range(16..=8192), requires = "frames", help_heading = "Time-lapse")]
    pub frame_size: u32,
}

impl Options {
    /// Where its pictures go, if one is asked for.
    pub fn reel(&self, animation: PathBuf, folder: Option<PathBuf>) -> Option<Reel> {
        self.frames.map(|frames| Reel { frames, longest: self.frame_size, animation, folder })
    }
}

/// How many pictures a time-lapse has, and their files.
pub struct Reel {
    pub frames: usize,
    pub longest: u32,
    pub animation: PathBuf,
    /// With it, each picture is a file as well.
    pub folder: Option<PathBuf>,
}

impl Reel {
    /// All its files.
    pub fn paths(&self) -> Vec<PathBuf> {
        // More than there can be are refused when the run is known.
        let numbers = 0..self.frames.min(FRAMES_MAX);
        let pictures = self.folder.iter().flat_map(|folder| numbers.clone().map(|n| folder.join(numbered(n))));
        std::iter::once(self.animation.clone()).chain(pictures).collect()
    }

    /// Refuses a folder that has pictures of a longer time-lapse: players would show both. Those in `old` are about to go.
    pub fn refuse_longer(&self, old: &[PathBuf]) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(numbered(self.frames.min(FRAMES_MAX)));
        if !path.exists() || old.contains(&path) {
            return Ok(());
        }
        let what = format!("is left from a longer time-lapse; remove the folder {}, or give another", folder.display());
        Err(Error::output(path, std::io::Error::new(std::io::ErrorKind::AlreadyExists, what)))
    }

    /// Makes the folder, and proves that files can be written.
    pub fn prepare(&self, files: &mut Files) -> Result<()> {
        if let Some(folder) = &self.folder {
            files.make_folder(folder)?;
            files.probe(folder)?;
        }
        files.probe(self.animation.parent().unwrap_or(Path::new("")))
    }
}

/// A picture of the land, in the colours that the recipe asks for.
pub fn picture<'a>(output: &Output, height: &Map, other: impl Fn(&str) -> Option<&'a Map>, style: &Style) -> Result<Picture> {
    match output.colour {
        Colour::Height => Ok(shaded(height, style)),
        Colour::Biomes => match other("biome_colour") {
            Some(colours) => coloured(height, colours, style),
            // Before the stage that makes them.
            None => Ok(shaded(height, style)),
        },
        Colour::Ground => {
            let [flow, wear, deposit, sediment] = ["flow", "wear", "deposit", "sediment"].map(other);
            ground(height, &Ground { flow, wear, deposit, sediment }, style)
        }
    }
}

/// A time-lapse under way.
pub struct Film<'a> {
    pub reel: &'a Reel,
    output: &'a Output,
    style: Style,
    files: &'a mut Files,
    animation: Option<Animation>,
    stored: Vec<Stored>,
}

/// The file of picture `n`.
pub fn numbered(n: usize) -> String {
    format!("{n:04}.png")
}

impl<'a> Film<'a> {
    /// An animation of the pictures, and, with a folder, each of them.
    pub fn new(files: &'a mut Files, reel: &'a Reel, output: &'a Output) -> Self {
        let style = Style { sea_level_m: output.sea_level_m, ..Style::default() };
        Self { reel, output, style, files, animation: None, stored: vec![] }
    }

    /// Adds the next picture; the first one begins anew.
    pub fn add(&mut self, frame: &Frame) -> Result<()> {
        let maps: Vec<(&str, Map)> = frame.maps.iter().map(|(name, map)| (*name, reduced(map, self.reel.longest))).collect();
        let map = |name: &str| maps.iter().find(|(known, _)| *known == name).map(|(_, map)| map);
        let Some(height) = map("height") else { return Ok(()) };
        if frame.index == 0 {
            self.stored.clear();
            self.animation = None;
            // One scale of colours for all.
            let (low, high) = height.min_max();
            self.style.range_m = Some((low.into(), high.into()));
            let size = (height.width, height.height);
            self.animation = Some(Animation::create(&self.reel.animation, size, self.reel.frames as u32)?);
        }
        let picture = picture(self.output, height, map, &self.style)?;
        if let Some(animation) = &mut self.animation {
            animation.add(&picture)?;
        }
        if let Some(folder) = &self.reel.folder {
            self.stored.push(self.files.write(&folder.join(numbered(frame.index)), &encode_picture(&picture)?)?);
        }
        Ok(())
    }

    /// Puts the animation in its place: it and the numbered files.
    pub fn finish(self) -> Result<Vec<Stored>> {
        let Some(animation) = self.animation else {
            return Err(Error::param(format!("{}: no picture came", self.reel.animation.display())));
        };
        let mut stored = vec![self.files.finish(animation)?];
        stored.extend(self.stored);
        Ok(stored)
    }
}

/// A line for the animation and one for its pictures.
pub fn text(stored: &[Stored]) -> String {
    let Some((animation, pictures)) = stored.split_first() else { return String::new() };
    let size = bytes(pictures.iter().map(|file| file.bytes).sum());
    let line = match pictures {
        [first, .., last] => format!("{size:>12}  {} to {}\n", first.path.display(), last.path.display()),
        _ => String::new(),
    };
    files_text(std::slice::from_ref(animation)) + &line
}

/// What the manifest says of a time-lapse.
pub fn describe(frames: usize) -> Value {
    json!({ "file": ANIMATION, "folder": FOLDER, "frames": frames })
}

/// Names in the folder of a run.
pub const ANIMATION: &str = "timelapse.apng";
pub const FOLDER: &str = "frames";

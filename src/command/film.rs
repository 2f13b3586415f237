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
use thalweg::world::Frame;
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
    pub frames: usize,
    longest: u32,
    output: &'a Output,
    style: Style,
    animation_path: PathBuf,
    // With it, each picture is a file as well.
    folder: Option<PathBuf>,
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
    pub fn new(
        files: &'a mut Files,
        frames: usize,
        longest: u32,
        output: &'a Output,
        animation_path: PathBuf,
        folder: Option<PathBuf>,
    ) -> Self {
        let style = Style { sea_level_m: output.sea_level_m, ..Style::default() };
        Self { frames, longest, output, style, animation_path, folder, files, animation: None, stored: vec![] }
    }

    /// Adds the next picture; the first one begins anew.
    pub fn add(&mut self, frame: &Frame) -> Result<()> {
        let maps: Vec<(&str, Map)> = frame.maps.iter().map(|(name, map)| (*name, reduced(map, self.longest))).collect();
        let map = |name: &str| maps.iter().find(|(known, _)| *known == name).map(|(_, map)| map);
        let Some(height) = map("height") else { return Ok(()) };
        if frame.index == 0 {
            self.stored.clear();
            self.animation = None;
            // One scale of colours for all.
            let (low, high) = height.min_max();
            self.style.range_m = Some((low.into(), high.into()));
            let size = (height.width, height.height);
            self.animation = Some(Animation::create(&self.animation_path, size, self.frames as u32)?);
        }
        let picture = picture(self.output, height, map, &self.style)?;
        if let Some(animation) = &mut self.animation {
            animation.add(&picture)?;
        }
        if let Some(folder) = &self.folder {
            self.stored.push(self.files.write(&folder.join(numbered(frame.index)), &encode_picture(&picture)?)?);
        }
        Ok(())
    }

    /// Puts the animation in its place: it and the numbered files.
    pub fn finish(self) -> Result<Vec<Stored>> {
        let Some(animation) = self.animation else {
            return Err(Error::Param(format!("{}: no picture came", self.animation_path.display())));
        };
        let mut stored = vec![self.files.finish(animation)?];
        stored.extend(self.stored);
        Ok(stored)
    }
}

/// Refuses a folder that has pictures of a longer time-lapse: players would show both. Those in `old` are about to go.
pub fn refuse_longer(folder: &Path, frames: usize, old: &[PathBuf]) -> Result<()> {
    let path = folder.join(numbered(frames));
    if !path.exists() || old.contains(&path) {
        return Ok(());
    }
    let what = format!("is left from a longer time-lapse; remove the folder {}, or give another", folder.display());
    Err(Error::output(path, std::io::Error::new(std::io::ErrorKind::AlreadyExists, what)))
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

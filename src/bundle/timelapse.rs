//! Time-lapses: pictures of a run in progress, as an animation and as numbered files.

use super::picture::{picture, style};
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::field::{self, Resample};
use crate::io::{Animation, FilmFormat, Stored, encode_picture};
use crate::job::{FRAMES_MAX, Frame};
use crate::map::Map;
use crate::recipe::Output;
use crate::render::{Style, reduced, thinned};

/// The pictures of a time-lapse and where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelapseOptions {
    /// The number of pictures; see [`crate::Job::frames`].
    pub frames: usize,
    /// Longest side of a picture in pixels. Larger maps are reduced.
    pub side_max: u32,
    /// The name of the animation, whose ending is that of a [`FilmFormat`].
    pub animation: String,
    /// The folder for a file of each picture. Without it, only the animation is stored.
    pub folder: Option<String>,
}

impl TimelapseOptions {
    /// The time-lapse of a bundle: an animation, and numbered pictures in a folder.
    pub fn of(frames: usize, side_max: u32, format: FilmFormat) -> Self {
        Self {
            frames,
            side_max,
            animation: format!("timelapse.{}", format.name()),
            folder: Some("frames".into()),
        }
    }

    /// The names of its files.
    pub fn names(&self) -> Vec<String> {
        // A larger number is refused when the run begins.
        let numbers = 0..self.frames.min(FRAMES_MAX);
        std::iter::once(self.animation.clone())
            .chain(numbers.filter_map(|n| self.numbered(n)))
            .collect()
    }

    /// The name of picture `n`.
    pub(super) fn numbered(&self, n: usize) -> Option<String> {
        let folder = self.folder.as_ref()?;
        Some(format!("{folder}/{n:04}.png"))
    }

    /// The name of the first picture after the last. One left there by a longer time-lapse would be
    /// played as well.
    pub(super) fn next(&self) -> Option<String> {
        self.numbered(self.frames.min(FRAMES_MAX))
    }
}

/// A time-lapse being stored.
pub struct Timelapse<'a> {
    options: &'a TimelapseOptions,
    output: &'a Output,
    style: Style,
    animation: Option<Animation>,
    stored: Vec<Stored>,
}

impl<'a> Timelapse<'a> {
    /// A time-lapse in the colours of a recipe's output.
    pub fn new(options: &'a TimelapseOptions, output: &'a Output) -> Self {
        Self { options, output, style: style(output), animation: None, stored: vec![] }
    }

    /// Adds the next picture. The first one starts the time-lapse over.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be stored.
    pub fn add(&mut self, frame: &Frame, sink: &mut dyn Sink) -> Result<()> {
        let side_max = self.options.side_max;
        // A mean of numbers or of packed colours is neither.
        let smaller = |name: &str, map: &Map| match field::find(name).map(|field| field.resample) {
            Some(Resample::Nearest) => thinned(map, side_max),
            _ => reduced(map, side_max),
        };
        let maps: Vec<(&str, Map)> =
            frame.maps.iter().map(|(name, map)| (*name, smaller(name, map))).collect();
        let map = |name: &str| maps.iter().find(|(known, _)| *known == name).map(|(_, map)| map);
        let Some(height) = map("height") else { return Ok(()) };
        // When a run starts over, its frames come again from the first.
        if frame.index == 0 {
            self.stored.clear();
            self.animation = None;
            // All pictures share one scale of colours.
            let (low, high) = height.min_max();
            self.style.range_m = self.output.range_m.or(Some((low.into(), high.into())));
            let part = sink.part(&self.options.animation)?;
            self.animation = Some(Animation::begin(
                part,
                (height.width, height.height),
                self.options.frames as u32,
            )?);
        }
        let picture = picture(self.output, height, map, &self.style)?;
        if let Some(animation) = &mut self.animation {
            animation.add(&picture)?;
        }
        if let Some(name) = self.options.numbered(frame.index) {
            self.stored.push(sink.put(&name, &encode_picture(picture)?)?);
        }
        Ok(())
    }

    /// Stores the animation. Returns it and the numbered pictures.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be stored, [`Error::Param`] if there is no picture.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<Vec<Stored>> {
        let Some(animation) = self.animation else {
            return Err(Error::param(format!(
                "{}: the time-lapse has no picture",
                self.options.animation
            )));
        };
        let mut stored = vec![sink.put_part(animation.into_part()?)?];
        stored.extend(self.stored);
        Ok(stored)
    }
}

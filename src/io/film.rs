//! Animations: PNG, which holds every pixel as it is, and GIF, which is smaller.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use image::RgbImage;

use super::{Part, Pieces, Stored, png};
use crate::{Error, Result};

/// A file format for animations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FilmFormat {
    /// Animated PNG: every pixel as it is.
    Apng,
    /// GIF: 256 colours a picture, in about half the bytes. Times are hundredths of a second.
    Gif,
}

impl FilmFormat {
    /// The ending of its files' names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apng => "apng",
            Self::Gif => "gif",
        }
    }

    /// The format that a file's name asks for: `.apng` or `.png`, or `.gif`.
    ///
    /// # Errors
    /// [`Error::Param`] for any other name.
    pub fn from_path(path: &Path) -> Result<Self> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or("").to_ascii_lowercase();
        match end.as_str() {
            "apng" | "png" => Ok(Self::Apng),
            "gif" => Ok(Self::Gif),
            _ => {
                let allowed = "an animation is a PNG or a GIF; give it a name that ends in .apng, \
                               .png or .gif";
                Err(Error::param(format!("{}: {allowed}", path.display())))
            }
        }
    }
}

/// The encoder's handle of a part.
#[derive(Clone)]
struct Shared(Rc<RefCell<Part>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.borrow_mut().add(bytes) {
            Err(Error::Output { source, .. }) => Err(source),
            Err(e) => Err(std::io::Error::other(e.to_string())),
            Ok(()) => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

enum Encoder {
    Apng(Box<::png::Writer<Shared>>),
    Gif(Box<gif::Encoder<Shared>>),
}

/// An animation being written. Each picture is written to a [`Part`] when it is added.
pub struct Animation {
    part: Shared,
    encoder: Encoder,
    size: (u32, u32),
    frames: u32,
    written: u32,
    /// Seconds that each picture is shown, as a fraction, and how many times as long the last one
    /// is.
    delay: (u16, u16),
    last: u16,
}

impl Animation {
    /// Seconds that each picture is shown, as a fraction.
    const DELAY: (u16, u16) = (1, 20);
    /// How many times as long the last one is shown.
    const LAST: u16 = 40;

    /// Begins an animation of `frames` pictures of one size as a file. Its name decides the
    /// [format](FilmFormat::from_path). Until it is [finished](Animation::finish), the path keeps
    /// what was there before.
    ///
    /// # Errors
    /// [`Error::Param`] for a name of no format, [`Error::Output`] if no file can be written there,
    /// [`Error::Limit`] for a size that the format cannot hold.
    pub fn create(path: &Path, size: (u32, u32), frames: u32) -> Result<Self> {
        Self::begin(Part::File(Box::new(Pieces::create(path)?)), size, frames)
    }

    /// Begins an animation of `frames` pictures of one size.
    ///
    /// # Errors
    /// As [`Animation::create`].
    pub fn begin(part: Part, size: (u32, u32), frames: u32) -> Result<Self> {
        Self::timed(part, size, frames, Self::DELAY, Self::LAST)
    }

    /// Begins an animation that ends where it begins: all pictures are shown for the same time,
    /// seconds as a fraction.
    ///
    /// # Errors
    /// As [`Animation::create`].
    pub fn endless(path: &Path, size: (u32, u32), frames: u32, delay: (u16, u16)) -> Result<Self> {
        Self::timed(Part::File(Box::new(Pieces::create(path)?)), size, frames, delay, 1)
    }

    fn timed(
        part: Part,
        size: (u32, u32),
        frames: u32,
        delay: (u16, u16),
        last: u16,
    ) -> Result<Self> {
        let path = part.path().to_path_buf();
        let format = FilmFormat::from_path(&path)?;
        let part = Shared(Rc::new(RefCell::new(part)));
        let encoder = match format {
            FilmFormat::Apng => {
                let begun = png::animate(part.clone(), size, frames, delay);
                Encoder::Apng(Box::new(begun.map_err(|e| png::failed(&path, e))?))
            }
            FilmFormat::Gif => {
                let side = |pixels: u32| {
                    let given = format!("{} has {} x {} pixels", path.display(), size.0, size.1);
                    u16::try_from(pixels).map_err(|_| {
                        Error::limit(format!("{given}; a GIF has at most {} a side", u16::MAX))
                    })
                };
                let (width, height) = (side(size.0)?, side(size.1)?);
                let begin = || {
                    let mut encoder = gif::Encoder::new(part.clone(), width, height, &[])?;
                    encoder.set_repeat(gif::Repeat::Infinite)?;
                    Ok(encoder)
                };
                Encoder::Gif(Box::new(begin().map_err(|e| gif_failed(&path, e))?))
            }
        };
        Ok(Self { part, encoder, size, frames, written: 0, delay, last })
    }

    /// Adds the next picture.
    ///
    /// # Errors
    /// [`Error::Param`] for a picture of another size or one too many, [`Error::Output`] if it
    /// cannot be written.
    pub fn add(&mut self, picture: &RgbImage) -> Result<()> {
        let (width, height) = picture.dimensions();
        if (width, height) != self.size || self.written == self.frames {
            return Err(Error::param(format!(
                "picture {} of {} is {width}x{height} pixels; those of the animation are {}x{}",
                self.written + 1,
                self.frames,
                self.size.0,
                self.size.1
            )));
        }
        self.written += 1;
        let path = self.part.0.borrow().path().to_path_buf();
        let times = if self.written == self.frames { self.last } else { 1 };
        let (numerator, denominator) = (self.delay.0 * times, self.delay.1);
        match &mut self.encoder {
            Encoder::Apng(writer) => {
                let failed = |e| png::failed(&path, e);
                writer.set_frame_delay(numerator, denominator).map_err(failed)?;
                writer.write_image_data(picture).map_err(failed)
            }
            Encoder::Gif(encoder) => {
                // The sides were held against this type when the animation began.
                let mut frame =
                    gif::Frame::from_rgb_speed(width as u16, height as u16, picture, 10);
                // Browsers show a picture of less than two hundredths for ten.
                let hundredths = 100 * u32::from(numerator) / u32::from(denominator.max(1));
                frame.delay = hundredths.clamp(2, u16::MAX.into()) as u16;
                encoder.write_frame(&frame).map_err(|e| gif_failed(&path, e))
            }
        }
    }

    /// Ends the animation.
    ///
    /// # Errors
    /// [`Error::Param`] if pictures are missing, [`Error::Output`] if it cannot be written.
    pub fn into_part(self) -> Result<Part> {
        let Self { part, encoder, frames, written, .. } = self;
        if written != frames {
            return Err(Error::param(format!(
                "the animation has {written} of its {frames} pictures"
            )));
        }
        let path = part.0.borrow().path().to_path_buf();
        // Both write the end of their file here: without it readers see a file that was cut off.
        match encoder {
            Encoder::Apng(writer) => writer.finish().map_err(|e| png::failed(&path, e))?,
            Encoder::Gif(encoder) => drop(encoder.into_inner().map_err(|e| gif_failed(&path, e))?),
        }
        // The encoder has dropped its handle.
        let lost =
            || Error::output(&path, std::io::Error::other("the encoder still holds the file"));
        Ok(Rc::into_inner(part.0).ok_or_else(lost)?.into_inner())
    }

    /// Ends the animation and puts its file in place.
    ///
    /// # Errors
    /// As [`Animation::into_part`].
    pub fn finish(self) -> Result<Stored> {
        match self.into_part()? {
            Part::File(pieces) => pieces.finish(),
            Part::Memory { name, bytes } => Ok(Stored::of(name, &bytes)),
        }
    }
}

fn gif_failed(path: &Path, e: gif::EncodingError) -> Error {
    match e {
        gif::EncodingError::Io(e) => Error::output(path, e),
        e => Error::output(path, std::io::Error::other(e.to_string())),
    }
}

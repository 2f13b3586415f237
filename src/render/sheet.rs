//! Contact sheets: pictures of variants in rows, each under its number.

use crate::{Error, Result};
use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};

/// Most pictures of a sheet.
pub const PICTURES_MAX: usize = 1024;
/// Pixels of the longer side of a picture, and of one among more than [`MANY`].
const SIDES: [u32; 2] = [320, 160];
const MANY: usize = 144;
/// Pixels between pictures, and of the line with the number above each.
const GAP: u32 = 8;
const HEAD: u32 = 22;
/// Pixels of a digit's squares.
const SQUARE: u32 = 3;
const PAPER: Rgb<u8> = Rgb([24, 26, 30]);
const LABEL: Rgb<u8> = Rgb([215, 218, 224]);

/// A picture as small as those of a sheet of `count` pictures are. A smaller one stays as it is.
pub fn thumbnail(picture: RgbImage, count: usize) -> RgbImage {
    let side = SIDES[usize::from(count > MANY)];
    let longest = picture.width().max(picture.height());
    if longest <= side {
        return picture;
    }
    let fewer = |n: u32| (u64::from(n) * u64::from(side) / u64::from(longest)).max(1) as u32;
    let (width, height) = picture.dimensions();
    imageops::resize(&picture, fewer(width), fewer(height), FilterType::Triangle)
}

/// Pictures in rows from the north-west, in a field of the largest one's size each, and the number
/// of each above it.
///
/// # Errors
/// [`Error::Param`] for no picture, and [`Error::Limit`] for more than 1024.
pub fn sheet(pictures: &[(u64, RgbImage)]) -> Result<RgbImage> {
    let largest = |side: fn(&RgbImage) -> u32| pictures.iter().map(|(_, p)| side(p)).max();
    let (Some(width), Some(height)) = (largest(RgbImage::width), largest(RgbImage::height)) else {
        return Err(Error::param("a sheet needs at least one picture"));
    };
    admit_sheet(pictures.len())?;
    // A long number is wider than a small picture.
    let digits_of = |(number, _): &(u64, RgbImage)| number.to_string().len() as u32;
    let width = pictures.iter().map(digits_of).max().map_or(width, |n| width.max(n * 4 * SQUARE));
    let columns = (1..).find(|n: &u32| (n * n) as usize >= pictures.len()).unwrap_or(1);
    let rows = (pictures.len() as u32).div_ceil(columns);
    let [across, down] = [width + GAP, height + HEAD + GAP];
    let mut drawn = RgbImage::from_pixel(columns * across + GAP, rows * down + GAP, PAPER);
    for ((number, picture), i) in pictures.iter().zip(0u32..) {
        let [x, y] = [i % columns * across + GAP, i / columns * down + GAP];
        for [dx, dy] in digits(*number) {
            let square = RgbImage::from_pixel(SQUARE, SQUARE, LABEL);
            let [x, y] = [x + dx * SQUARE, y + dy * SQUARE];
            imageops::replace(&mut drawn, &square, x.into(), y.into());
        }
        let [dx, dy] = [width - picture.width(), height - picture.height()].map(|gap| gap / 2);
        imageops::replace(&mut drawn, picture, (x + dx).into(), (y + HEAD + dy).into());
    }
    Ok(drawn)
}

/// Refuses a sheet of more pictures than there can be.
///
/// # Errors
/// [`Error::Limit`] for more than 1024.
pub fn admit_sheet(pictures: usize) -> Result<()> {
    if pictures <= PICTURES_MAX {
        return Ok(());
    }
    Err(Error::limit(format!(
        "a sheet of {pictures} pictures: allowed are up to {PICTURES_MAX}; make several sheets"
    )))
}

/// The squares of a number's digits, three columns and five rows each, from the left and the top.
pub fn digits(number: u64) -> impl Iterator<Item = [u32; 2]> {
    // Five rows of three squares, from the top.
    const DIGITS: [u16; 10] = [
        0b111_101_101_101_111,
        0b010_110_010_010_111,
        0b111_001_111_100_111,
        0b111_001_111_001_111,
        0b101_101_111_001_001,
        0b111_100_111_001_111,
        0b111_100_111_101_111,
        0b111_001_001_001_001,
        0b111_101_111_101_111,
        0b111_101_111_001_111,
    ];
    let digits: Vec<u8> = number.to_string().bytes().map(|digit| digit - b'0').collect();
    digits.into_iter().zip(0u32..).flat_map(|(digit, nth)| {
        let squares = DIGITS[usize::from(digit)];
        (0..15).filter(move |i| squares >> (14 - i) & 1 == 1).map(move |i| [4 * nth + i % 3, i / 3])
    })
}

//! Samples without a value, by the number that a file declares for them, in all the ways that
//! programs write it.

/// Stands for a missing height in integers of 16 bits: since SRTM, declared or not. No place is
/// that low.
pub(super) const VOID: i16 = i16::MIN;

/// The number that stands for a missing value in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nodata(pub f64);

impl Nodata {
    /// Reads the text of a tag or a header as GDAL does: the number that it begins with, with a
    /// point or a comma, between any blanks.
    ///
    /// None for a text that begins with no number, such as `none`. GDAL takes that for 0, which is
    /// the height of every coast.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        let text = text.replacen(',', ".", 1);
        if text.to_ascii_lowercase().trim_start_matches(['-', '+']).starts_with("nan") {
            return Some(Self(f64::NAN));
        }
        // Of Windows.
        if text.starts_with("1.#QNAN") || text.starts_with("-1.#IND") {
            return Some(Self(f64::NAN));
        }
        let number = text
            .bytes()
            .take_while(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
            .count();
        let infinite = ["inf", "-inf", "+inf"]
            .into_iter()
            .find(|word| text.to_ascii_lowercase().starts_with(word));
        let prefix = infinite.unwrap_or(&text[..number]);
        // `1e` and `5-` have a shorter number in front.
        (1..=prefix.len()).rev().find_map(|end| prefix[..end].parse().ok()).map(Self)
    }

    /// Whether a single float is it. Texts are often shorter than the number, so it counts as the
    /// same when it is as near as GDAL demands: within two units of its last place, or both near
    /// the ends of all numbers.
    pub fn is_single(self, value: f32) -> bool {
        let none = self.0 as f32;
        value == none || (value - none).abs() < f32::EPSILON * (value + none).abs() * 2.0
    }

    /// Whether a double is it, to ten digits as GDAL demands. The end of single floats may be
    /// written shorter.
    pub fn is_double(self, value: f64) -> bool {
        let far = f64::from(f32::MAX) * 0.999;
        value == self.0
            || (value - self.0).abs() < 1e-10 * self.0.abs()
            || (value.abs() > far && self.0.abs() > far && self.is_single(value as f32))
    }
}

//! Units of lengths and angles: by the codes of EPSG's register, by those of coordinate systems,
//! and by the names that files have for them.

use super::epsg::{ANGLES, DEPTHS, GLOBES, GRADS, HEIGHTS, LENGTHS, PARTS, PLANES};

/// The code of the metre.
pub(super) const METRE: u16 = 9001;

/// A unit of length.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// Its code, where the register has it.
    pub code: Option<u16>,
    pub metres: f64,
    pub name: String,
}

impl Unit {
    /// A unit that is only known by its length.
    pub fn of_metres(metres: f64) -> Self {
        Self { code: None, metres, name: format!("units of {metres} m") }
    }

    pub fn is_metre(&self) -> bool {
        self.metres == 1.0
    }
}

/// The unit of a code.
pub(super) fn length(code: u16) -> Option<Unit> {
    let &(code, metres, name, ..) = LENGTHS.iter().find(|unit| unit.0 == code)?;
    Some(Unit { code: Some(code), metres, name: name.into() })
}

/// Degrees in the unit of an angle. Codes of degrees with minutes behind the point have none.
pub(super) fn degrees(code: u16) -> Option<f64> {
    let radians = ANGLES.iter().find(|unit| unit.0 == code)?.1;
    Some(degrees_of(radians))
}

/// Radians to degrees. A degree in radians is not exact, and a degree is.
pub(super) fn degrees_of(radians: f64) -> f64 {
    let degrees = radians.to_degrees();
    let nearest = (degrees * 1e9).round() / 1e9;
    if (degrees - nearest).abs() < 1e-13 { nearest } else { degrees }
}

/// The code of the unit that a coordinate system has, by the first and last codes of a table.
fn within(table: &[(u16, u16, u16)], code: u32) -> Option<u16> {
    table.iter().find(|run| (u32::from(run.0)..=u32::from(run.1)).contains(&code)).map(|run| run.2)
}

/// The unit of a system on a plane, by its code: a metre, if the register does not say otherwise.
pub(super) fn of_plane(code: u32) -> Option<Unit> {
    length(within(PLANES, code).unwrap_or(METRE))
}

/// The unit of the heights of a vertical or a compound system, by its code.
pub(super) fn of_heights(code: u32) -> Option<Unit> {
    length(within(HEIGHTS, code).unwrap_or(METRE))
}

/// The code of the horizontal part of a compound system whose heights are not in metres.
pub(super) fn horizontal(code: u32) -> Option<u32> {
    PARTS.iter().find(|pair| u32::from(pair.0) == code).map(|pair| pair.1.into())
}

/// Degrees in the unit of a system of longitudes and latitudes, by its code.
pub(super) fn degrees_of_globe(code: u32) -> f64 {
    within(GRADS, code).and_then(degrees).unwrap_or(1.0)
}

/// Whether a system counts downwards.
pub(super) fn is_depth(code: u32) -> bool {
    DEPTHS.iter().any(|run| (u32::from(run.0)..=u32::from(run.1)).contains(&code))
}

/// Whether a system has longitudes and latitudes.
pub(super) fn is_globe(code: u32) -> bool {
    GLOBES.iter().any(|run| (u32::from(run.0)..=u32::from(run.1)).contains(&code))
}

/// The unit of a name: as the register, PROJ or ESRI have it, in words of any order, number and
/// spelling.
pub(super) fn named(text: &str) -> Option<Unit> {
    let asked = plain(text);
    // These have no code.
    let others = [("inch", 0.0254), ("decimetre", 0.1)];
    if let Some((name, metres)) = others.into_iter().find(|(name, _)| asked == [*name]) {
        return Some(Unit { code: None, metres, name: name.into() });
    }
    let known = LENGTHS.iter().find(|unit| {
        [unit.2, unit.3, unit.4].iter().any(|name| !name.is_empty() && plain(name) == asked)
    })?;
    length(known.0)
}

/// A name of a unit in words that can be compared: `Foot_US`, `us-ft` and `US survey feet` are the
/// same.
fn plain(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase();
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '\'')
        .flat_map(|word| {
            let (first, second) = match word {
                "ft" | "feet" | "foot" | "'" => ("foot", ""),
                "ftus" | "usft" | "sfoot" | "sft" => ("foot", "us"),
                "m" | "meter" | "meters" | "metre" | "metres" => ("metre", ""),
                "cm" | "centimeter" | "centimeters" | "centimetres" => ("centimetre", ""),
                "mm" | "millimeter" | "millimeters" | "millimetres" => ("millimetre", ""),
                "dm" | "decimeter" | "decimeters" | "decimetres" => ("decimetre", ""),
                "km" | "kilometer" | "kilometers" | "kilometres" => ("kilometre", ""),
                "in" | "inches" => ("inch", ""),
                "yd" | "yards" => ("yard", ""),
                "mi" | "miles" => ("mile", ""),
                "fathoms" => ("fathom", ""),
                // The foot that is not a surveyor's.
                "international" | "intl" | "int" | "statute" => ("", ""),
                "survey" => ("us", ""),
                word => (word, ""),
            };
            [first.to_string(), second.to_string()]
        })
        .filter(|word| !word.is_empty())
        .collect();
    // Sorted and without repetition, since `us survey foot` says it twice and `foot_us` in another
    // order.
    words.sort_unstable();
    words.dedup();
    words
}

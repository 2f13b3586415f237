//! A biome as recipes describe it.

use super::BIOMES_MAX;
use crate::error::Invalid;
use crate::params::Settings;
use crate::table::Table;
use serde_json::json;

/// A biome of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Biome {
    /// Its name, which no other biome has.
    pub name: String,
    /// Its colour: red, green, blue.
    pub colour: [u8; 3],
    /// How its height is made of noise.
    pub shape: BiomeShape,
    /// Metres of its height without noise.
    pub base_m: f64,
    /// Metres by which its noise is multiplied.
    pub relief_m: f64,
    /// Features a cell of its first noise. Each further noise has twice as many.
    pub frequency: f64,
    /// The factors of its noises.
    pub amplitudes: Vec<f64>,
    /// Layers, 0 to 1.
    pub hardness: Option<f64>,
    /// See `hardness`.
    pub rain: Option<f64>,
    /// See `hardness`.
    pub vegetation: Option<f64>,
}

/// How a height is made of noises n, which are −1 to 1, and their amplitudes a.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BiomeShape {
    /// Σ a·n.
    Fractal,
    /// Σ a·(1 − |n|).
    Ridged,
    /// a·(1 − |n|)·(1 + n′)/2 with two noises of one frequency.
    Dunes,
}

impl BiomeShape {
    /// Every shape with its name in a recipe.
    pub const ALL: [(&'static str, Self); 3] =
        [("fractal", Self::Fractal), ("ridged", Self::Ridged), ("dunes", Self::Dunes)];
}

impl Biome {
    fn new(name: &str, colour: [u8; 3]) -> Self {
        Self {
            name: name.into(),
            colour,
            shape: BiomeShape::Fractal,
            base_m: 0.0,
            relief_m: 0.0,
            frequency: 0.01,
            amplitudes: vec![1.0, 0.5],
            hardness: None,
            rain: None,
            vegetation: None,
        }
    }

    /// The article's four biomes with the values of its program.
    pub fn published() -> Vec<Self> {
        let made = |name, colour, shape, base_m, relief_m, frequency, amplitudes: &[f64]| Self {
            shape,
            base_m,
            relief_m,
            frequency,
            amplitudes: amplitudes.to_vec(),
            ..Self::new(name, colour)
        };
        vec![
            made("forest", [8, 112, 32], BiomeShape::Fractal, 49.0, 40.0 / 3.0, 0.01, &[1.0, 0.5]),
            made(
                "plains",
                [133, 161, 90],
                BiomeShape::Fractal,
                35.0,
                40.0 / 3.0,
                0.015,
                &[1.0, 0.5],
            ),
            made(
                "mountains",
                [104, 112, 112],
                BiomeShape::Ridged,
                0.0,
                859.0 / 7.0,
                0.005,
                &[1.0, 0.5, 0.25, 0.0625],
            ),
            made("desert", [242, 232, 52], BiomeShape::Dunes, 0.0, 88.0 / 7.0, 0.015, &[1.0]),
        ]
    }

    fn parse(value: &serde_json::Value, place: &str) -> crate::Result<Self> {
        let missing = |key: &str, such: &str| {
            let message = format!("{place}: {key} is missing, such as {such}");
            crate::Error::param(Invalid::from(message).about(key))
        };
        let table = Table::new(place, value)?;
        table.known(&[
            "name",
            "colour",
            "shape",
            "base_m",
            "relief_m",
            "frequency",
            "amplitudes",
            "hardness",
            "rain",
            "vegetation",
        ])?;
        let name = table.text("name")?.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| missing("name", "name = \"forest\""))?;
        let colour =
            table.text("colour")?.ok_or_else(|| missing("colour", "colour = \"#087020\""))?;
        // A number can begin with a sign, but a colour cannot.
        let digits = colour
            .strip_prefix('#')
            .filter(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()));
        let digits = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let digits = digits.ok_or_else(|| {
            table.wrong("colour", &json!(colour), "red, green and blue, such as \"#087020\"")
        })?;
        let usual = Self::new(name, [(digits >> 16) as u8, (digits >> 8) as u8, digits as u8]);
        let shape = table.text("shape")?.unwrap_or("fractal");
        let shape =
            BiomeShape::ALL.iter().find(|(n, _)| *n == shape).map(|(_, shape)| *shape).ok_or_else(
                || table.unlisted("shape", "shape", shape, BiomeShape::ALL.iter().map(|(n, _)| *n)),
            )?;
        let amplitudes = match table.get("amplitudes") {
            None => usual.amplitudes.clone(),
            Some(v) => v
                .as_array()
                .filter(|all| (1..=8).contains(&all.len()))
                .and_then(|all| {
                    all.iter().map(|a| a.as_f64().filter(|a| (-1.0..=1.0).contains(a))).collect()
                })
                .ok_or_else(|| {
                    table.wrong("amplitudes", v, "1 to 8 numbers from -1 to 1, such as [1, 0.5]")
                })?,
        };
        Ok(Self {
            shape,
            base_m: table.number("base_m", -1e6, 1e6)?.unwrap_or(usual.base_m),
            relief_m: table.number("relief_m", 0.0, 1e6)?.unwrap_or(usual.relief_m),
            frequency: table.number("frequency", 0.000_001, 0.5)?.unwrap_or(usual.frequency),
            amplitudes,
            hardness: table.number("hardness", 0.0, 1.0)?,
            rain: table.number("rain", 0.0, 1.0)?,
            vegetation: table.number("vegetation", 0.0, 1.0)?,
            ..usual
        })
    }

    /// Its colour, as #rrggbb.
    pub fn code(&self) -> String {
        let [red, green, blue] = self.colour;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// The biome as a table of a recipe.
    fn describe(&self) -> serde_json::Value {
        let shape =
            BiomeShape::ALL.iter().find(|(_, shape)| *shape == self.shape).map(|(name, _)| *name);
        let mut table = json!({
            "name": self.name, "colour": self.code(), "shape": shape, "base_m": self.base_m,
            "relief_m": self.relief_m, "frequency": self.frequency, "amplitudes": self.amplitudes,
        });
        for (layer, value) in
            [("hardness", self.hardness), ("rain", self.rain), ("vegetation", self.vegetation)]
        {
            value.into_iter().for_each(|value| table[layer] = json!(value));
        }
        table
    }

    /// The farthest that its height can be from 0, in metres.
    pub(super) fn extreme_m(&self) -> f64 {
        self.base_m.abs() + self.relief_m * self.amplitudes.iter().map(|a| a.abs()).sum::<f64>()
    }

    /// Frequencies and amplitudes of the noises of its height.
    pub(super) fn waves(&self) -> Vec<(f64, f64)> {
        let mut frequency = self.frequency;
        let mut waves = vec![];
        for amplitude in &self.amplitudes {
            waves.push((frequency, *amplitude));
            if self.shape == BiomeShape::Dunes {
                waves.push((frequency, 1.0));
                break;
            }
            frequency *= 2.0;
        }
        waves
    }
}

/// The biomes of a stage, in the order of their numbers from 0.
pub fn biomes(s: &Settings) -> crate::Result<Vec<Biome>> {
    let list = s.list("biome");
    if list.is_empty() {
        return Ok(Biome::published());
    }
    if list.len() > BIOMES_MAX {
        let message = format!("{} biomes: allowed 1 to {BIOMES_MAX}", list.len());
        return Err(crate::Error::param(Invalid::from(message).about("biome")));
    }
    let parse = |(i, value): (usize, &serde_json::Value)| {
        Biome::parse(value, &format!("biome {}", i + 1))
            .map_err(|e| e.inside("", &format!("/biome/{i}")))
    };
    let all = list.iter().enumerate().map(parse).collect::<crate::Result<Vec<_>>>()?;
    for (i, biome) in all.iter().enumerate() {
        if all[..i].iter().any(|other| other.name == biome.name) {
            let message = format!("biome {}: there are two called {:?}", i + 1, biome.name);
            let twice = Invalid::from(message).about("name").inside("", &format!("/biome/{i}"));
            return Err(crate::Error::param(twice));
        }
    }
    Ok(all)
}

/// The biomes of a stage as the list of a recipe, with every setting in a fixed order.
pub fn describe(s: &Settings) -> serde_json::Value {
    biomes(s).unwrap_or_default().iter().map(Biome::describe).collect()
}

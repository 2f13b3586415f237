//! What the ground is made of: shares of rock, scree, grass, forest, sand, snow, wet ground and
//! gravel, by rules that a recipe can change.
//!
//! # Rule
//! A rule is a product of conditions. A condition on a quantity of the land is two numbers,
//! between which it rises from 0 at the first to 1 at the second (which may be the lower one), or
//! four, with a second such pair by which it falls again. The strength of a material is the largest
//! product of its rules. Materials lie on each other in the order of [`NAMES`]: each covers its
//! strength of what is left, from the top down, and the first takes the rest. So the weights of a
//! cell add up to exactly 65536.
//!
//! Quantities are the values of maps. Strengths are doubles made with + − × ÷ alone and rounded to
//! 2⁻¹⁶, so weights are the same everywhere. A condition on a quantity that the recipe has not,
//! such as one of water without a table `[water]`, never holds.
//!
//! Layers of materials that cover each other by slope and height: as the rules of terrain shaders
//! have it, such as J. Andersson, *Terrain rendering in Frostbite using procedural shader
//! splatting*, 2007. Wetness is the topographic index of K. J. Beven, M. J. Kirkby, *A physically
//! based, variable contributing area model of basin hydrology*, 1979.

use crate::error::Result;
use crate::params::unknown;
use crate::table::Table;
use rayon::prelude::*;
use serde_json::{Map as Object, Value, json};

/// The materials, from the one at the bottom to that on top.
pub const NAMES: [&str; 8] = ["grass", "forest", "gravel", "sand", "wet", "scree", "rock", "snow"];

/// The sum of the weights of a cell.
pub const WHOLE: i32 = 65536;

/// What a condition is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A map, by its name.
    Map(&'static str),
    /// Metres to the nearest lake, sea or river at least 1 m wide; puddles are none.
    Shore,
    /// Metres above the sea, or above the recipe's 0 where there is none.
    Height,
    /// ln(a / tan β), with β the slope and a the mean of the areas that drain through a cell and
    /// its neighbours, by the width of a cell in metres.
    Wetness,
}

/// The quantities, by the keys of rules, and what they are.
const QUANTITIES: [(&str, Quantity, &str); 9] = [
    ("slope_deg", Quantity::Map("slope"), "The slope in degrees."),
    (
        "height_m",
        Quantity::Height,
        "Metres above the sea, or above the recipe's 0 where it has none.",
    ),
    ("curvature", Quantity::Map("curvature"), "The map curvature, 1/m: positive on ridges."),
    ("aspect_deg", Quantity::Map("aspect"), "Where the ground faces, clockwise from north."),
    ("change_m", Quantity::Map("change"), "Metres laid down, less those worn away."),
    ("erosion_m", Quantity::Map("erosion"), "Metres worn away."),
    (
        "distance_to_water_m",
        Quantity::Shore,
        "Metres to the nearest lake, sea or river at least 1 m wide; puddles are none.",
    ),
    ("water_depth_m", Quantity::Map("water_depth"), "Depth of lakes and the sea in metres."),
    (
        "wetness",
        Quantity::Wetness,
        "The topographic index: about 5 on slopes, above 10 where water gathers on level ground.",
    ),
];

/// A product of conditions.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    /// Numbers of [`QUANTITIES`], each with two or four of its values.
    conditions: Vec<(usize, Vec<f64>)>,
    /// What the product is multiplied by, 0 to 1.
    share: f64,
    /// Factors of biomes by name, 0 to 1. A biome without one has 1.
    biomes: Vec<(String, f64)>,
}

/// The rules of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Of each material.
    rules: [Vec<Rule>; 8],
}

impl Default for Settings {
    fn default() -> Self {
        let rule = |conditions: &[(&str, &[f64])], share: f64| {
            // In the order of the quantities, as they are read.
            let of = |(at, (known, ..)): (usize, &(&str, Quantity, &str))| {
                let (_, values) = conditions.iter().find(|(key, _)| key == known)?;
                Some((at, values.to_vec()))
            };
            let conditions = QUANTITIES.iter().enumerate().filter_map(of).collect();
            Rule { conditions, share, biomes: vec![] }
        };
        Self {
            rules: [
                vec![rule(&[], 1.0)],
                // On slopes where trees stand, below the tree line.
                vec![rule(
                    &[("slope_deg", &[3.0, 9.0, 28.0, 38.0]), ("height_m", &[1700.0, 1300.0])],
                    0.85,
                )],
                // Beds and banks.
                vec![rule(
                    &[("distance_to_water_m", &[6.0, 2.0]), ("slope_deg", &[22.0, 10.0])],
                    1.0,
                )],
                // Shores of the sea, and what water has laid down on level ground.
                vec![
                    rule(
                        &[
                            ("distance_to_water_m", &[40.0, 10.0]),
                            ("height_m", &[2.5, 1.0]),
                            ("slope_deg", &[14.0, 6.0]),
                        ],
                        1.0,
                    ),
                    rule(&[("change_m", &[15.0, 40.0]), ("slope_deg", &[9.0, 4.0])], 0.8),
                ],
                vec![rule(&[("wetness", &[10.0, 13.0]), ("slope_deg", &[7.0, 2.0])], 0.8)],
                // What falls off steep ground lies at the foot of it.
                vec![rule(&[("slope_deg", &[27.0, 32.0, 36.0, 42.0])], 0.6)],
                vec![rule(&[("slope_deg", &[34.0, 44.0])], 1.0)],
                vec![rule(&[("height_m", &[2000.0, 2500.0]), ("slope_deg", &[52.0, 40.0])], 1.0)],
            ],
        }
    }
}

/// Where a value lies on the way from one number to another, 0 to 1.
fn risen(value: f64, from: f64, to: f64) -> f64 {
    if from == to {
        return if value >= to { 1.0 } else { 0.0 };
    }
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

/// How far a condition holds.
fn holds(values: &[f64], value: f64) -> f64 {
    match *values {
        [from, to] => risen(value, from, to),
        [from, to, back, end] => risen(value, from, to) * (1.0 - risen(value, back, end)),
        _ => 0.0,
    }
}

impl Rule {
    fn parse(table: &Table) -> Result<Self> {
        let keys: Vec<&str> = QUANTITIES.iter().map(|(key, ..)| *key).collect();
        table.known(&[&keys[..], &["share", "biomes"]].concat())?;
        let mut conditions = vec![];
        for (at, key) in keys.iter().enumerate() {
            let Some(given) = table.get(key) else { continue };
            let numbers: Option<Vec<f64>> =
                given.as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
            match numbers {
                Some(values)
                    if matches!(values.len(), 2 | 4) && values.iter().all(|v| v.abs() <= 1e9) =>
                {
                    conditions.push((at, values));
                }
                _ => {
                    let allowed = "two numbers, from which to which it rises, or four, with those \
                                   between which it falls";
                    return Err(table.wrong(key, given, allowed));
                }
            }
        }
        let mut biomes = vec![];
        if let Some(factors) = table.table("biomes")? {
            for (name, _) in factors.entries() {
                let factor = factors.number(name, 0.0, 1.0);
                let factor = factor.map_err(|e| e.inside("", "/biomes"))?.unwrap_or(1.0);
                biomes.push((name.clone(), factor));
            }
        }
        Ok(Self { conditions, share: table.number("share", 0.0, 1.0)?.unwrap_or(1.0), biomes })
    }

    fn describe(&self) -> Value {
        let mut table = Object::new();
        for (at, values) in &self.conditions {
            table.insert(QUANTITIES[*at].0.into(), json!(values));
        }
        table.insert("share".into(), self.share.into());
        if !self.biomes.is_empty() {
            let factors = self.biomes.iter().map(|(name, factor)| (name.clone(), json!(factor)));
            table.insert("biomes".into(), Value::Object(factors.collect()));
        }
        table.into()
    }
}

impl Settings {
    /// Reads the table: for each material that it names, its rules, in place of the usual ones.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown material or key, or a value that is not allowed.
    pub(crate) fn parse(value: &Value) -> Result<Self> {
        let table = Table::new("materials", value)?;
        let mut read = Self::default();
        for (name, value) in table.entries() {
            if name == NAMES[0] {
                let allowed = "no rules: it is what the others leave";
                return Err(table.wrong(name, value, allowed));
            }
            let Some(at) = NAMES.iter().position(|known| known == name) else {
                return Err(unknown("material", name, NAMES[1..].iter().copied())
                    .inside("", &format!("/{name}"))
                    .into());
            };
            let Some(list) = value.as_array().filter(|list| list.len() <= RULES_MAX) else {
                let allowed = format!("a list of at most {RULES_MAX} tables");
                return Err(table.wrong(name, value, allowed));
            };
            let rule = |(i, value): (usize, &Value)| {
                let place = format!("materials.{name}, rule {}", i + 1);
                Table::new(&place, value)
                    .and_then(|table| Rule::parse(&table))
                    .map_err(|e| e.inside("", &format!("/{name}/{i}")))
            };
            read.rules[at] = list.iter().enumerate().map(rule).collect::<Result<_>>()?;
        }
        Ok(read)
    }

    /// The table with all rules.
    pub(crate) fn describe(&self) -> Value {
        let rules = |(name, rules): (&&str, &Vec<Rule>)| {
            (name.to_string(), rules.iter().map(Rule::describe).collect())
        };
        Value::Object(NAMES.iter().zip(&self.rules).skip(1).map(rules).collect())
    }

    /// The JSON Schema of the table.
    pub(crate) fn schema() -> Value {
        let number = json!({ "type": "number", "minimum": -1e9, "maximum": 1e9 });
        let list = |count: u32| {
            let mut list = json!({ "type": "array", "items": number });
            (list["minItems"], list["maxItems"]) = (count.into(), count.into());
            list
        };
        let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
        let mut keys = Object::new();
        for (key, _, about) in QUANTITIES {
            keys.insert(key.into(), json!({ "oneOf": [list(2), list(4)], "description": about }));
        }
        keys.insert("share".into(), share.clone());
        keys.insert(
            "biomes".into(),
            json!({ "type": "object", "additionalProperties": share,
                "propertyNames": { "type": "string" } }),
        );
        let rule = json!({ "type": "object", "properties": keys, "additionalProperties": false });
        let rules = json!({ "type": "array", "items": rule, "maxItems": RULES_MAX });
        let all: Object<String, Value> =
            NAMES[1..].iter().map(|name| (name.to_string(), rules.clone())).collect();
        json!({ "type": "object", "properties": all, "additionalProperties": false })
    }

    /// The names of the biomes that rules name.
    pub(crate) fn biomes(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.iter().flatten();
        rules.flat_map(|rule| rule.biomes.iter().map(|(name, _)| name.as_str()))
    }

    /// The quantities that rules have conditions on, each once.
    pub(crate) fn quantities(&self) -> Vec<Quantity> {
        let used = |at: usize| {
            let mut rules = self.rules.iter().flatten();
            rules.any(|rule| rule.conditions.iter().any(|(of, _)| *of == at))
        };
        let all = QUANTITIES.iter().enumerate().filter(|(at, _)| used(*at));
        all.map(|(_, (_, quantity, _))| *quantity).collect()
    }

    /// The weights of each material in every cell. `values` has those of each quantity that is
    /// known, and `biomes` the names of biomes and their numbers in every cell.
    pub(crate) fn weights(
        &self,
        cells: usize,
        values: &[(Quantity, Vec<f32>)],
        biomes: Option<(&[String], &[i32])>,
    ) -> [Vec<i32>; 8] {
        // By the numbers of quantities, and for each rule of factors the factor of each biome.
        let of: Vec<Option<&[f32]>> = QUANTITIES
            .iter()
            .map(|(_, quantity, _)| {
                values.iter().find(|(known, _)| known == quantity).map(|(_, values)| &values[..])
            })
            .collect();
        let factor = |rule: &Rule, cell: usize| {
            let (Some((names, numbers)), false) = (biomes, rule.biomes.is_empty()) else {
                return 1.0;
            };
            let name = names.get(numbers[cell] as usize);
            let found = rule.biomes.iter().find(|(known, _)| Some(known) == name);
            found.map_or(1.0, |(_, factor)| *factor)
        };
        let strength = |rules: &[Rule], cell: usize| {
            let product = |rule: &Rule| {
                let conditions = rule.conditions.iter().map(|(at, values)| match of[*at] {
                    Some(all) => holds(values, f64::from(all[cell])),
                    None => 0.0,
                });
                conditions.fold(rule.share * factor(rule, cell), |all, one| all * one)
            };
            rules.iter().map(product).fold(0.0, f64::max)
        };
        let weigh = |cell: usize| {
            let (mut weights, mut left) = ([0; 8], WHOLE);
            for material in (1..NAMES.len()).rev() {
                let strength = strength(&self.rules[material], cell);
                weights[material] = (f64::from(left) * strength).round() as i32;
                left -= weights[material];
            }
            weights[0] = left;
            weights
        };
        let all: Vec<[i32; 8]> = (0..cells).into_par_iter().map(weigh).collect();
        std::array::from_fn(|material| all.iter().map(|weights| weights[material]).collect())
    }

    /// Refuses names of biomes that the recipe has not.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with the names that it has.
    pub(crate) fn check(&self, biomes: &[String]) -> Result<()> {
        match self.biomes().find(|name| !biomes.iter().any(|known| known == name)) {
            Some(name) => {
                let invalid = unknown("biome", name, biomes.iter().map(String::as_str));
                Err(invalid.inside("materials", "/materials").into())
            }
            None => Ok(()),
        }
    }
}

/// Most rules of a material.
const RULES_MAX: usize = 16;

/// The topographic index of each cell of a map, row by row. The area is the mean of a cell and
/// those around it: on even slopes and level ground D8 leads water along lines of single cells,
/// and soil is wet beside them, too.
pub(crate) fn wetness(
    drainage_m2: &[f32],
    slope_deg: &[f32],
    width: usize,
    cell_m: f64,
) -> Vec<f32> {
    let rows = drainage_m2.len() / width;
    let around = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
    let index = |cell: usize| {
        let (columns, rows) = (around(cell % width, width), around(cell / width, rows));
        let count = columns.len() * rows.len();
        let areas = rows.flat_map(|row| &drainage_m2[row * width..][columns.clone()]);
        let area: f64 = areas.map(|area| f64::from(*area)).sum();
        // Of level ground, as if it fell by a thousandth.
        let fall = libm::tan(f64::from(slope_deg[cell]).to_radians()).max(0.001);
        libm::log((area / count as f64 / cell_m / fall).max(1e-9)) as f32
    };
    (0..drainage_m2.len()).into_par_iter().map(index).collect()
}

/// Eight weights as two textures of four: bytes that add up to 255 in every cell over both.
pub fn textures(weights: &[&[i32]; 8]) -> [Vec<u8>; 2] {
    let cells = weights[0].len();
    let mut made = [vec![0u8; cells * 4], vec![0u8; cells * 4]];
    for cell in 0..cells {
        // What is over after rounding down goes to those that lost most, the first of equal ones.
        let shares = weights.map(|all| i64::from(all[cell]) * 255);
        let mut bytes = shares.map(|share| share >> 16);
        let mut order: Vec<usize> = (0..8).collect();
        order.sort_by_key(|at| std::cmp::Reverse(shares[*at] & 0xffff));
        let over = 255 - bytes.iter().sum::<i64>();
        order.iter().take(over.max(0) as usize).for_each(|at| bytes[*at] += 1);
        for (at, byte) in bytes.iter().enumerate() {
            made[at / 4][cell * 4 + at % 4] = *byte as u8;
        }
    }
    made
}

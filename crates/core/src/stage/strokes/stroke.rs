//! A stroke as recipes describe it.

use crate::error::{Error, Invalid, Result};
use crate::params::{Settings, rounded};
use crate::site::{HEIGHT_MAX, Layer, Site};
use crate::table::Table;
use serde_json::json;

/// Farthest place of a stroke from the world's origin, in metres.
pub const FARTHEST_M: f64 = 1e15;
/// Largest radius, in cells.
const RADIUS_MAX: f64 = 32767.0;

/// What a stroke does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tool {
    /// Adds so much: metres, or a share of a layer. Less than 0: takes away.
    Raise(f64),
    /// Adds noise of −amount to amount.
    Noise {
        /// Metres, or a share of a layer.
        amount: f64,
        /// Size of its largest features, in metres.
        feature_m: f64,
        /// Its seed.
        seed: u64,
    },
    /// Pulls to a height, or to a share of a layer, that goes from one number to another along the
    /// path.
    Flatten {
        /// At the beginning of the path.
        from: f64,
        /// At its end.
        to: f64,
        /// Share of the way, 0 to 1.
        strength: f64,
    },
    /// Adds a picture, or pulls to it.
    Stamp {
        /// What the picture's highest sample stands for: metres, or a share of a layer. Its lowest
        /// is 0.
        amount: f64,
        /// Degrees by which the picture is turned clockwise.
        turn_deg: f64,
        /// The height or the share of its lowest sample, where it takes the ground's place; none:
        /// it is added.
        onto: Option<f64>,
        /// Share of the way, 0 to 1, where it takes the ground's place.
        strength: f64,
    },
    /// Pulls to the mean of the ground around.
    Smooth {
        /// Share of the way, 0 to 1.
        strength: f64,
    },
}

/// A stroke of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// What it does.
    pub tool: Tool,
    /// The layer that it paints; none: the height.
    pub layer: Option<Layer>,
    /// The file of a stamp's picture, relative to the recipe.
    pub file: Option<String>,
    /// Its path: metres to the east and to the south of the world's origin, and pressure, 0 to 1. A
    /// stamp is put at each point.
    pub at: Vec<[f64; 3]>,
    /// Radius of its brush in metres.
    pub radius_m: f64,
    /// Share of the radius over which the brush fades, 0 to 1.
    pub falloff: f64,
}

/// The tools, as recipes name them.
pub const TOOLS: [&str; 7] = ["raise", "lower", "noise", "flatten", "ramp", "stamp", "smooth"];

/// A table of a recipe that is read as a stroke.
struct Reader<'a> {
    /// Where it stands, for errors.
    place: String,
    table: Table<'a>,
    layer: Option<Layer>,
}

impl<'a> Reader<'a> {
    /// The error for a key that is needed; `such` shows how it is given.
    fn missing(&self, key: &str, such: &str) -> Error {
        let message = format!("{}: {key} is missing, such as {such}", self.place);
        Error::param(Invalid::from(message).about(key))
    }

    /// The key of an amount and that of a height. A layer has shares where the ground has metres.
    fn keys(&self) -> [&'static str; 2] {
        if self.layer.is_some() { ["amount", "value"] } else { ["amount_m", "height_m"] }
    }

    /// The least and the most that a height, or a share of a layer, can be.
    fn heights(&self) -> [f64; 2] {
        if self.layer.is_some() { [0.0, 1.0] } else { [-1e9, 1e9] }
    }

    /// The word of the tool.
    fn word(&self) -> Result<&'a str> {
        let word =
            self.table.text("tool")?.ok_or_else(|| self.missing("tool", "tool = \"raise\""))?;
        if TOOLS.contains(&word) {
            Ok(word)
        } else {
            Err(self.table.unlisted("tool", "tool", word, TOOLS.into_iter()))
        }
    }

    /// The layer that it paints, if it is not the height.
    fn painted(&self) -> Result<Option<Layer>> {
        let Some(name) = self.table.text("layer")? else { return Ok(None) };
        match Layer::PAINTED.iter().find(|(known, ..)| *known == name) {
            Some((_, layer, _)) => Ok(Some(*layer)),
            None => {
                let known = Layer::PAINTED.iter().map(|(known, ..)| *known);
                Err(self.table.unlisted("layer", "layer", name, known))
            }
        }
    }

    /// Refuses keys that strokes with this tool do not have.
    fn check_keys(&self, word: &str) -> Result<()> {
        let [amount, height] = self.keys();
        let own: &[&str] = match word {
            "raise" | "lower" => &[amount],
            "noise" => &[amount, "feature_m", "seed"],
            "flatten" | "ramp" => &[height, "strength"],
            // How far it goes towards a height, where it has one.
            "stamp" if self.table.get(height).is_some() => {
                &["file", amount, "turn_deg", height, "strength"]
            }
            "stamp" => &["file", amount, "turn_deg", height],
            _ => &["strength"],
        };
        self.table.known(&[&["tool", "layer", "at_m", "radius_m", "falloff"], own].concat())
    }

    fn number(&self, key: &str, min: f64, max: f64, such: &str) -> Result<f64> {
        let given = self.table.number(key, min, max)?;
        given.ok_or_else(|| self.missing(key, &format!("{key} = {such}")))
    }

    /// An amount. `least` is that of a layer, 0 or −1.
    fn amount(&self, least: f64) -> Result<f64> {
        match self.layer {
            Some(_) => self.number("amount", least, 1.0, "0.5"),
            None => self.number("amount_m", least * 1e9, 1e9, "50"),
        }
    }

    fn strength(&self) -> Result<f64> {
        Ok(self.table.number("strength", 0.0, 1.0)?.unwrap_or(1.0))
    }

    /// What the stroke does, by the word of its tool.
    fn tool(&self, word: &str) -> Result<Tool> {
        let ([_, height], [least, most]) = (self.keys(), self.heights());
        Ok(match word {
            "raise" => Tool::Raise(self.amount(0.0)?),
            "lower" => Tool::Raise(-self.amount(0.0)?),
            "noise" => Tool::Noise {
                amount: self.amount(-1.0)?,
                feature_m: self.number("feature_m", 0.001, 1e9, "200")?,
                seed: self.table.seed()?.unwrap_or(1),
            },
            "flatten" => {
                let such = if self.layer.is_some() { "0.5" } else { "300" };
                let to = self.number(height, least, most, such)?;
                Tool::Flatten { from: to, to, strength: self.strength()? }
            }
            "ramp" => {
                let [from, to] = self.ends()?;
                Tool::Flatten { from, to, strength: self.strength()? }
            }
            "stamp" => Tool::Stamp {
                amount: self.amount(-1.0)?,
                turn_deg: self.table.number("turn_deg", -360.0, 360.0)?.unwrap_or(0.0),
                onto: self.table.number(height, least, most)?,
                strength: self.strength()?,
            },
            _ => Tool::Smooth { strength: self.strength()? },
        })
    }

    /// The heights at the two ends of a ramp.
    fn ends(&self) -> Result<[f64; 2]> {
        let ([_, key], [least, most]) = (self.keys(), self.heights());
        let such = if self.layer.is_some() { "[0, 1]" } else { "[300, 500]" };
        let given =
            self.table.get(key).ok_or_else(|| self.missing(key, &format!("{key} = {such}")))?;
        let ends = given.as_array().map(|all| all.iter().map(|v| v.as_f64()).collect::<Vec<_>>());
        match ends.as_deref() {
            Some(&[Some(from), Some(to)])
                if [from, to].iter().all(|v| (least..=most).contains(v)) =>
            {
                Ok([from, to])
            }
            _ => {
                let allowed = format!("two numbers from {least} to {most}, such as {such}");
                Err(self.table.wrong(key, given, allowed))
            }
        }
    }

    /// The file of its picture, which a stamp needs.
    fn file(&self, tool: Tool) -> Result<Option<String>> {
        match (tool, self.table.text("file")?) {
            (Tool::Stamp { .. }, None | Some("")) => {
                Err(self.missing("file", "file = \"crater.png\": a picture"))
            }
            (_, file) => Ok(file.map(String::from)),
        }
    }

    /// The points of its path: metres to the east and to the south, and pressure.
    fn path(&self) -> Result<Vec<[f64; 3]>> {
        let such = "[[500, 700], [900, 800, 0.5]]";
        let given = self
            .table
            .get("at_m")
            .ok_or_else(|| self.missing("at_m", &format!("at_m = {such}")))?;
        let points = given.as_array().filter(|points| !points.is_empty()).ok_or_else(|| {
            self.table.wrong(
                "at_m",
                given,
                format!("a list of points, such as {such}: metres east and south, and pressure"),
            )
        })?;
        points.iter().map(|point| self.point(point)).collect()
    }

    fn point(&self, point: &serde_json::Value) -> Result<[f64; 3]> {
        let numbers =
            point.as_array().map(|all| all.iter().map(|v| v.as_f64()).collect::<Vec<_>>());
        let found = match numbers.as_deref() {
            Some(&[Some(x), Some(y)]) => Some([x, y, 1.0]),
            Some(&[Some(x), Some(y), Some(pressure)]) => Some([x, y, pressure]),
            _ => None,
        };
        let far = |v: &f64| !(-FARTHEST_M..=FARTHEST_M).contains(v);
        found
            .filter(|[x, y, pressure]| !far(x) && !far(y) && (0.0..=1.0).contains(pressure))
            .ok_or_else(|| {
                let allowed = format!(
                    "two metres up to {FARTHEST_M:e} either way, and a pressure from 0 to \
                     1, such as [900, 800, 0.5]"
                );
                self.table.wrong("at_m", point, allowed)
            })
    }
}

impl Stroke {
    fn parse(value: &serde_json::Value, i: usize) -> Result<Self> {
        let place = format!("stroke {}", i + 1);
        let table = Table::new(&place, value)?;
        let mut reader = Reader { place, table, layer: None };
        let word = reader.word()?;
        let layer = reader.painted()?;
        // From here on keys are named for it.
        reader.layer = layer;
        reader.check_keys(word)?;
        let tool = reader.tool(word)?;
        let file = reader.file(tool)?;
        if layer.is_some() && matches!(tool, Tool::Smooth { .. }) {
            let message = format!(
                "{}: tool = \"smooth\": it smooths the height alone; leave layer out",
                reader.place
            );
            return Err(Invalid::of("tool", "smooth", "raise, lower, noise, flatten, ramp")
                .saying(message)
                .into());
        }
        Ok(Self {
            tool,
            layer,
            file,
            at: reader.path()?,
            radius_m: reader.number("radius_m", 0.001, 1e9, "200")?,
            falloff: reader.table.number("falloff", 0.0, 1.0)?.unwrap_or(1.0),
        })
    }

    /// Refuses what a lattice cannot have.
    pub(super) fn check(&self, i: usize, site: &Site) -> Result<()> {
        let place = format!("stroke {}", i + 1);
        let spacing = site.spacing_m();
        let wrong = |key: &str, given: f64, allowed: String| {
            let message = format!(
                "{place}: {key} = {given} at spacing_m = {}: allowed {allowed}",
                rounded(spacing)
            );
            Err(Invalid::of(key, given, allowed).saying(message).into())
        };
        let cells = self.radius_m / spacing;
        // On coarser lattices than the recipe's a small stroke is left out.
        if cells > RADIUS_MAX || cells < 1.0 && site.level <= 0 {
            let (least, most) = (rounded(spacing), rounded(RADIUS_MAX * spacing));
            return wrong(
                "radius_m",
                self.radius_m,
                format!("{least} to {most} m, one cell to {RADIUS_MAX}"),
            );
        }
        if self.layer.is_some() {
            return Ok(());
        }
        let most = HEIGHT_MAX as f64 * spacing;
        let within = |heights: [f64; 2]| match heights
            .into_iter()
            .find(|v| (v - site.datum_m()).abs() > most)
        {
            Some(height) => {
                let [low, high] = [-most, most].map(|v| rounded(site.datum_m() + v));
                wrong(
                    "height_m",
                    height,
                    format!("{low} to {high} m, {HEIGHT_MAX} cells from {} m", site.datum_m()),
                )
            }
            None => Ok(()),
        };
        match self.tool {
            Tool::Raise(amount) | Tool::Noise { amount, .. } if amount.abs() > most => wrong(
                "amount_m",
                amount.abs(),
                format!("up to {} m, {HEIGHT_MAX} cells", rounded(most)),
            ),
            Tool::Stamp { amount, .. } if amount.abs() > most => wrong(
                "amount_m",
                amount,
                format!("up to {} m either way, {HEIGHT_MAX} cells", rounded(most)),
            ),
            Tool::Flatten { from, to, .. } => within([from, to]),
            Tool::Stamp { amount, onto: Some(height), .. } => within([height, height + amount]),
            _ => Ok(()),
        }
    }

    /// How many times a smoothing stroke passes over the map: its taps are 1, 2, 4 … cells apart.
    /// None for other strokes, and where the stroke is left out.
    pub(super) fn passes(&self, site: &Site) -> u32 {
        let quarter = self.radius_m / site.spacing_m() / 4.0;
        match self.tool {
            Tool::Smooth { .. } if self.drawn(site) => (quarter.max(1.0) as u32).ilog2() + 1,
            _ => 0,
        }
    }

    /// Cells from which it takes what it puts somewhere.
    pub(super) fn spread(&self, site: &Site) -> u64 {
        (1 << self.passes(site)) - 1
    }

    /// Whether the lattice's cells are small enough for it.
    pub(super) fn drawn(&self, site: &Site) -> bool {
        self.radius_m >= site.spacing_m()
    }

    /// The stroke as a table of a recipe.
    fn describe(&self) -> serde_json::Value {
        let layer = Layer::PAINTED
            .iter()
            .find(|(_, layer, _)| Some(*layer) == self.layer)
            .map(|(name, ..)| *name);
        let [amount_key, height_key] =
            if layer.is_some() { ["amount", "value"] } else { ["amount_m", "height_m"] };
        let mut table = match self.tool {
            Tool::Raise(amount) => {
                json!({ "tool": if amount.is_sign_negative() { "lower" } else { "raise" },
                    amount_key: amount.abs() })
            }
            Tool::Noise { amount, feature_m, seed } => {
                json!({ "tool": "noise", amount_key: amount, "feature_m": feature_m, "seed": seed })
            }
            Tool::Flatten { from, to, strength } if from == to => {
                json!({ "tool": "flatten", height_key: to, "strength": strength })
            }
            Tool::Flatten { from, to, strength } => {
                json!({ "tool": "ramp", height_key: [from, to], "strength": strength })
            }
            Tool::Stamp { amount, turn_deg, onto: None, .. } => {
                json!({ "tool": "stamp", amount_key: amount, "turn_deg": turn_deg })
            }
            Tool::Stamp { amount, turn_deg, onto: Some(height), strength } => {
                json!({ "tool": "stamp", amount_key: amount, "turn_deg": turn_deg,
                    height_key: height, "strength": strength })
            }
            Tool::Smooth { strength } => json!({ "tool": "smooth", "strength": strength }),
        };
        layer.into_iter().for_each(|layer| table["layer"] = layer.into());
        self.file.iter().for_each(|file| table["file"] = file.as_str().into());
        table["at_m"] = self.at.iter().map(|point| json!(point)).collect();
        table["radius_m"] = self.radius_m.into();
        table["falloff"] = self.falloff.into();
        table
    }
}

/// The strokes of a stage, in order.
pub fn strokes(s: &Settings) -> Result<Vec<Stroke>> {
    let inside = |(i, value): (usize, &serde_json::Value)| {
        Stroke::parse(value, i).map_err(|e| e.inside("", &format!("/stroke/{i}")))
    };
    s.list("stroke").iter().enumerate().map(inside).collect()
}

/// The strokes of a stage as the list of a recipe, with every setting in a fixed order.
pub fn describe(s: &Settings) -> serde_json::Value {
    strokes(s).unwrap_or_default().iter().map(Stroke::describe).collect()
}

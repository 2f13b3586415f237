//! A stroke as recipes describe it.

use crate::error::{Error, Invalid, Result};
use crate::params::{Settings, rounded};
use crate::site::{HEIGHT_MAX, Layer, Site};
use crate::table::Table;
use serde_json::json;

/// Farthest place of a stroke from the world's origin, in metres.
pub const FARTHEST_M: f64 = 1e15;
/// Largest radius, in cells.
pub(super) const RADIUS_MAX: f64 = 32767.0;

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
    /// Makes a lake, which stages that follow leave as it is.
    Lake {
        /// Height of its water, in metres.
        level: f64,
        /// How deep it is in the middle, in metres.
        depth: f64,
        /// How far from its water the ground is bent to its level, in metres.
        shore_m: f64,
        /// Metres to the east and to the south: a way at its level is kept open to there.
        outlet: Option<[f64; 2]>,
        /// The seed of its shape, where it is given by a place.
        seed: u64,
    },
    /// Makes the bed of a river, which stages that follow leave as it is.
    River {
        /// How wide its bed is, in metres.
        width_m: f64,
        /// What its spring drains, in km²; none: as much as makes a river.
        catchment_km2: Option<f64>,
    },
}

impl Tool {
    /// Whether it makes water, which the stages that follow leave as it is.
    pub(super) fn holds(&self) -> bool {
        matches!(self, Self::Lake { .. } | Self::River { .. })
    }
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
    /// Heights, or shares of a layer, at each point of its path, where they do not go evenly from
    /// one end to the other.
    pub heights: Vec<f64>,
    /// Radius of its brush in metres; 0 for a lake with an outline, and for a river without a
    /// valley.
    pub radius_m: f64,
    /// Whether stages that follow leave it as it is, where the brush does not fade: lakes and
    /// rivers are, and `flatten` and `ramp` can be.
    pub hold: bool,
    /// Share of the radius over which the brush fades, 0 to 1; of a lake's shore, over which the
    /// ground is bent to its level.
    pub falloff: f64,
}

/// The tools, as recipes name them.
pub const TOOLS: [&str; 9] =
    ["raise", "lower", "noise", "flatten", "ramp", "stamp", "smooth", "lake", "river"];
/// The tools that paint layers, too.
pub const LAYER_TOOLS: [&str; 6] = ["raise", "lower", "noise", "flatten", "ramp", "stamp"];
/// How wide the bed of a river is, where it is not said, in metres.
pub const RIVER_WIDTH_M: f64 = 10.0;
/// How deep a lake is, where it is not said, in metres.
pub const LAKE_DEPTH_M: f64 = 10.0;

/// The lowest and the highest numbers of points.
pub(super) fn around(path: &[[f64; 3]]) -> [[f64; 2]; 2] {
    let end = |of: fn(f64, f64) -> f64, start: f64| {
        [0, 1].map(|k| path.iter().map(|point| point[k]).fold(start, of))
    };
    [end(f64::min, f64::MAX), end(f64::max, f64::MIN)]
}

/// The ends of heights along a path: the first and the last of two, and otherwise the highest and
/// the lowest, between which those of each point lie.
pub(super) fn ends(heights: &[f64]) -> [f64; 2] {
    match *heights {
        [from, to] => [from, to],
        _ => [
            heights.iter().copied().fold(f64::MIN, f64::max),
            heights.iter().copied().fold(f64::MAX, f64::min),
        ],
    }
}

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
            "flatten" | "ramp" if self.layer.is_none() => &[height, "strength", "hold"],
            "flatten" | "ramp" => &[height, "strength"],
            // How far it goes towards a height, where it has one.
            "stamp" if self.table.get(height).is_some() => {
                &["file", amount, "turn_deg", height, "strength"]
            }
            "stamp" => &["file", amount, "turn_deg", height],
            "lake" => &["level_m", "depth_m", "shore_m", "outlet_m", "seed", "falloff"],
            "river" => &[height, "width_m", "catchment_km2", "falloff"],
            _ => &["strength"],
        };
        let all: &[&str] = match word {
            "lake" | "river" => &["tool", "at_m", "radius_m"],
            _ => &["tool", "layer", "at_m", "radius_m", "falloff"],
        };
        self.table.known(&[all, own].concat())
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
                let heights = self.along()?;
                let [from, to] = ends(&heights);
                Tool::Flatten { from, to, strength: self.strength()? }
            }
            "stamp" => Tool::Stamp {
                amount: self.amount(-1.0)?,
                turn_deg: self.table.number("turn_deg", -360.0, 360.0)?.unwrap_or(0.0),
                onto: self.table.number(height, least, most)?,
                strength: self.strength()?,
            },
            "lake" => Tool::Lake {
                level: self.number("level_m", least, most, "300")?,
                depth: self.table.number("depth_m", 0.0, most)?.unwrap_or(LAKE_DEPTH_M),
                shore_m: self.shore_m()?,
                outlet: self.outlet()?,
                seed: self.table.seed()?.unwrap_or(1),
            },
            "river" => Tool::River {
                width_m: self.table.number("width_m", 0.001, most)?.unwrap_or(RIVER_WIDTH_M),
                catchment_km2: self.table.number("catchment_km2", 0.0, 1e7)?,
            },
            _ => Tool::Smooth { strength: self.strength()? },
        })
    }

    /// How wide the shore of a lake is: by default an eighth of the lake's longer side.
    fn shore_m(&self) -> Result<f64> {
        if let Some(given) = self.table.number("shore_m", 0.0, 1e9)? {
            return Ok(given);
        }
        let path = self.path()?;
        let [low, high] = around(&path);
        let long = (high[0] - low[0]).max(high[1] - low[1]);
        let radius_m = self.table.number("radius_m", 0.0, 1e9)?.unwrap_or(0.0);
        Ok(if path.len() == 1 { radius_m / 4.0 } else { long / 8.0 })
    }

    /// Whether stages that follow leave it as it is.
    fn hold(&self) -> Result<bool> {
        match self.table.get("hold") {
            None => Ok(false),
            Some(given) => {
                given.as_bool().ok_or_else(|| self.table.wrong("hold", given, "true or false"))
            }
        }
    }

    /// Where the water of a lake leaves it.
    fn outlet(&self) -> Result<Option<[f64; 2]>> {
        let Some(given) = self.table.get("outlet_m") else { return Ok(None) };
        let numbers =
            given.as_array().map(|all| all.iter().map(|v| v.as_f64()).collect::<Vec<_>>());
        let near = |v: &f64| (-FARTHEST_M..=FARTHEST_M).contains(v);
        match numbers.as_deref() {
            Some(&[Some(x), Some(y)]) if near(&x) && near(&y) => Ok(Some([x, y])),
            _ => {
                let allowed = "two numbers: metres to the east and to the south, such as \
                               [900, 800]";
                Err(self.table.wrong("outlet_m", given, allowed))
            }
        }
    }

    /// The radius of the brush.
    fn radius_m(&self, tool: &Tool, points: usize) -> Result<f64> {
        match tool {
            Tool::Lake { .. } if points > 1 => match self.table.get("radius_m") {
                None => Ok(0.0),
                Some(given) => Err(self.table.wrong(
                    "radius_m",
                    given,
                    "nothing for a lake with an outline; give a place alone for a lake of that \
                     radius",
                )),
            },
            Tool::River { width_m, .. } => {
                Ok(self.table.number("radius_m", 0.0, 1e9)?.unwrap_or(5.0 * width_m))
            }
            _ => self.number("radius_m", 0.001, 1e9, "200"),
        }
    }

    /// The heights along a ramp or a river: at its two ends, or at each point of its path.
    fn along(&self) -> Result<Vec<f64>> {
        let ([_, key], [least, most]) = (self.keys(), self.heights());
        let such = if self.layer.is_some() { "[0, 1]" } else { "[500, 300]" };
        let given =
            self.table.get(key).ok_or_else(|| self.missing(key, &format!("{key} = {such}")))?;
        let points = self.path()?.len();
        let heights: Option<Vec<f64>> =
            given.as_array().and_then(|all| all.iter().map(|v| v.as_f64()).collect());
        match heights {
            Some(heights)
                if (heights.len() == 2 || heights.len() == points && points > 2)
                    && heights.iter().all(|v| (least..=most).contains(v)) =>
            {
                Ok(heights)
            }
            _ => {
                let allowed = format!(
                    "two numbers from {least} to {most}, such as {such}, or one for each of the \
                     {points} points of the path"
                );
                Err(self.table.wrong(key, given, allowed))
            }
        }
    }

    /// The heights along its path, where it has some.
    fn checked_heights(&self, word: &str) -> Result<Vec<f64>> {
        let heights = match word {
            "ramp" | "river" => self.along()?,
            _ => return Ok(vec![]),
        };
        let rises = heights.windows(2).position(|pair| pair[1] > pair[0]);
        if let Some(at) = rises.filter(|_| word == "river") {
            let message = format!(
                "{}: height_m rises from {} to {}: a river runs downhill; give heights that do not \
                 rise along its path, or turn the path round",
                self.place,
                heights[at],
                heights[at + 1]
            );
            let given = self.table.get("height_m").cloned().unwrap_or_default();
            return Err(Invalid::of("height_m", given, "heights that do not rise")
                .saying(message)
                .into());
        }
        Ok(heights)
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

    /// Whether a point of its path says how hard it presses.
    fn is_pressed(&self) -> bool {
        let points = self.table.get("at_m").and_then(serde_json::Value::as_array);
        points.into_iter().flatten().any(|point| point.as_array().is_some_and(|p| p.len() > 2))
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
            return Err(Invalid::of("tool", "smooth", LAYER_TOOLS.join(", "))
                .saying(message)
                .into());
        }
        let (at, heights) = (reader.path()?, reader.checked_heights(word)?);
        let allowed = match (tool, at.len()) {
            (Tool::Lake { .. }, 2) => {
                Some("a place with a radius_m, or the points of an outline, three or more")
            }
            (Tool::River { .. }, 1) => Some("two points or more, from the spring to the mouth"),
            _ if tool.holds() && reader.is_pressed() => {
                Some("points of two numbers for a lake or a river, such as [900, 800]")
            }
            _ => None,
        };
        if let Some(allowed) = allowed {
            let given = reader.table.get("at_m").cloned().unwrap_or_default();
            return Err(reader.table.wrong("at_m", &given, allowed));
        }
        let falloff = reader.table.number("falloff", 0.0, 1.0)?.unwrap_or(1.0);
        let hold = tool.holds() || reader.hold()?;
        // What is pulled a part of the way is pulled farther each time that it is drawn again.
        let is_whole = matches!(tool, Tool::Flatten { strength: 1.0, .. }) && falloff < 1.0;
        if hold && !tool.holds() && (!is_whole || reader.is_pressed()) {
            let allowed =
                "falloff below 1, such as 0.5, strength = 1, and points without a pressure";
            let message = format!(
                "{}: hold = true keeps the ground where the brush does not fade: allowed with \
                 {allowed}",
                reader.place
            );
            return Err(Invalid::of("hold", true, allowed).saying(message).into());
        }
        Ok(Self {
            tool,
            layer,
            file,
            radius_m: reader.radius_m(&tool, at.len())?,
            at,
            heights: if heights.len() > 2 || tool.holds() { heights } else { vec![] },
            hold,
            falloff,
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
        if self.tool.holds() {
            return self.check_water(&place, site);
        }
        // On coarser lattices than the recipe's a small stroke is left out.
        // So is what is left of one that is held.
        let is_held = self.hold && self.falloff == 0.0;
        if cells > RADIUS_MAX || cells < 1.0 && site.level <= 0 && !is_held {
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
        let cells = self.radius_m / site.spacing_m();
        match self.tool {
            Tool::Smooth { .. } if cells >= 1.0 => ((cells / 4.0).max(1.0) as u32).ilog2() + 1,
            _ => 0,
        }
    }

    /// Cells from which it takes what it puts somewhere.
    pub(super) fn spread(&self, site: &Site) -> u64 {
        (1 << self.passes(site)) - 1
    }

    /// The stroke as a table of a recipe.
    pub(super) fn describe(&self) -> serde_json::Value {
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
            Tool::Flatten { from, to, strength } if from == to && self.heights.is_empty() => {
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
            Tool::Lake { level, depth, shore_m, seed, .. } => {
                json!({ "tool": "lake", "level_m": level, "depth_m": depth, "shore_m": shore_m,
                    "seed": seed })
            }
            Tool::River { width_m, .. } => json!({ "tool": "river", "width_m": width_m }),
        };
        if let Tool::Lake { outlet: Some(outlet), .. } = self.tool {
            table["outlet_m"] = json!(outlet);
        }
        if let Tool::River { catchment_km2: Some(area), .. } = self.tool {
            table["catchment_km2"] = area.into();
        }
        if !self.heights.is_empty() {
            table[height_key] = json!(self.heights);
        }
        layer.into_iter().for_each(|layer| table["layer"] = layer.into());
        self.file.iter().for_each(|file| table["file"] = file.as_str().into());
        // The points of what holds do not press.
        let numbers = if self.hold { 2 } else { 3 };
        if self.hold && !self.tool.holds() {
            table["hold"] = true.into();
        }
        table["at_m"] = self.at.iter().map(|point| json!(point[..numbers])).collect();
        let is_lake = matches!(self.tool, Tool::Lake { .. });
        if !is_lake || self.at.len() == 1 {
            table["radius_m"] = self.radius_m.into();
        }
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

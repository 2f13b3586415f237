//! The table `[water]` of a recipe: one line for each key.

use super::channel::Law;
use super::directions::Routing;
use crate::error::{Invalid, Result};
use crate::table::Table;
use serde_json::json;

/// What becomes of depressions, which hold water back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Through {
    /// They are full to their rims: lakes.
    #[default]
    Fill,
    /// Water finds a way through their rims: there are no lakes.
    Breach,
}

/// How water comes together in the map `drainage_area`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AreaRouting {
    /// All of a cell's water goes to one neighbour, as in all else.
    #[default]
    D8,
    /// It goes to all lower neighbours, more to the steeper ones.
    Mfd,
}

/// The table `water` of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Height of the sea in metres, −1 000 000 to 1 000 000. Cells below it that touch the border,
    /// or others that do, are sea. None: there is no sea.
    pub sea_level_m: Option<f64>,
    /// What becomes of depressions.
    pub depressions: Through,
    /// To which lower neighbour the water of a cell goes.
    pub routing: Routing,
    /// How the map `drainage_area` is made. Rivers have areas of their own, where all water of a
    /// cell goes to one neighbour.
    pub area_routing: AreaRouting,
    /// From what area on the water of a depression that runs over is a lake, in m², 0 to 1e12;
    /// none: the area of 10 cells. Rivers run through smaller ones, which are puddles.
    pub lake_min_m2: Option<f64>,
    /// From what drainage area on there is a river, in km², above 0 to 1e12; none: the area of 1000
    /// cells.
    pub channel_area_km2: Option<f64>,
    /// In place of `channel_area_km2`: from what `flow` on there is a river, above 0 to 4 294
    /// 967 295. So rivers are where particles have passed, as Talle proposes for his snowballs.
    pub channel_flow: Option<f64>,
    /// Water that runs off where the layer of rain is 1, in mm a year, 0 to 100 000.
    pub runoff_mm: f64,
    /// Water that a lake loses to the air, in mm a year, 0 to 100 000. At 0 all lakes are full.
    pub evaporation_mm: f64,
    /// How width and depth grow with the discharge.
    pub law: Law,
    /// Width of a river with a discharge of 1 m³/s, in metres, 0 to 1000.
    pub width_m: f64,
    /// Mean depth of such a river, in metres, 0 to 100.
    pub depth_m: f64,
    /// Whether the beds of rivers are cut into the ground.
    pub carve: bool,
    /// The files of lines, polygons and points that a bundle has.
    pub vectors: Vec<VectorFormat>,
    /// The programs for which a bundle has its rivers as splines.
    pub splines: Vec<Splines>,
    /// How far lines may come to lie from their cells to have fewer vertices, in metres, 0 to 1e6.
    /// At 0 they go through all cells.
    pub simplify_m: f64,
    /// How far the heights of such lines may come to lie from those of their cells, in metres, 0 to
    /// 1e6; none: a tenth of `simplify_m`.
    pub simplify_height_m: Option<f64>,
    /// The slope from one cell of a river to the next from which on there is a waterfall, 0.01
    /// to 1000.
    pub waterfall_slope: f64,
}

/// A file of lines, polygons and points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorFormat {
    /// A GeoJSON file for each layer.
    GeoJson,
    /// One GeoPackage with all layers.
    Gpkg,
}

/// What takes rivers as splines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splines {
    /// Unreal's water bodies: JSON in centimetres.
    Unreal,
    /// Godot: a scene of paths.
    Godot,
}

const VECTORS: [(&str, VectorFormat); 2] =
    [("geojson", VectorFormat::GeoJson), ("gpkg", VectorFormat::Gpkg)];
const SPLINES: [(&str, Splines); 2] = [("unreal", Splines::Unreal), ("godot", Splines::Godot)];
/// The largest `flow`.
const FLOW_MAX: f64 = 4294967295.0;
/// The layers, as files are named.
pub const LAYERS: [&str; 4] = ["rivers", "lakes", "basins", "water_points"];

impl Default for Settings {
    fn default() -> Self {
        let law = Law::default();
        let (width_m, depth_m) = law.usual();
        Self {
            sea_level_m: None,
            depressions: Through::Fill,
            routing: Routing::D8,
            area_routing: AreaRouting::D8,
            lake_min_m2: None,
            channel_area_km2: None,
            channel_flow: None,
            runoff_mm: 500.0,
            evaporation_mm: 0.0,
            law,
            width_m,
            depth_m,
            carve: false,
            vectors: vec![],
            splines: vec![],
            simplify_m: 0.0,
            simplify_height_m: None,
            waterfall_slope: 1.0,
        }
    }
}

/// What `depressions` may be, and what it then is.
const THROUGH: [(&str, Through); 2] = [("fill", Through::Fill), ("breach", Through::Breach)];
/// What `routing` may be, and what it then is.
const ROUTINGS: [(&str, Routing); 2] = [("d8", Routing::D8), ("lowest", Routing::Lowest)];
/// What `area_routing` may be, and what it then is.
const AREA_ROUTINGS: [(&str, AreaRouting); 2] =
    [("d8", AreaRouting::D8), ("mfd", AreaRouting::Mfd)];

/// A key of the table. All that is done with its value follows from this: it is read, checked,
/// written down and put into the schema.
struct Key {
    name: &'static str,
    kind: Kind,
    told: Told,
    about: &'static str,
}

/// What values a key has, and where they lie.
enum Kind {
    /// A number in a range.
    Number([f64; 2], fn(&mut Settings) -> &mut f64),
    /// One whose default is that of the law.
    ByLaw([f64; 2], fn(&mut Settings) -> &mut f64),
    /// One that may be missing.
    Maybe([f64; 2], fn(&mut Settings) -> &mut Option<f64>),
    /// The same, above the range's lower end: from there on each cell would be a river.
    River([f64; 2], fn(&mut Settings) -> &mut Option<f64>),
    Switch(fn(&mut Settings) -> &mut bool),
    /// A word of a list.
    Word(Words),
    /// Some words of a list, each once.
    List(Words),
}

/// Words that stand for values.
struct Words {
    /// What they are, for errors.
    what: &'static str,
    all: fn() -> Vec<&'static str>,
    get: fn(&Settings) -> Vec<&'static str>,
    /// Sets the values of the words with these numbers.
    set: fn(&mut Settings, &[usize]),
}

/// When settings that are spelled out have a key.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    Always,
    /// When it differs from the default.
    Changed,
    /// When it differs, or there are lines.
    WithLines,
}

/// A word for a value of a field.
macro_rules! word {
    ($what:literal, $list:expr, $field:ident) => {
        Kind::Word(Words {
            what: $what,
            all: || $list.map(|(name, _)| name).to_vec(),
            get: |s| vec![name_of(&$list, s.$field)],
            set: |s, words| words.iter().for_each(|word| s.$field = $list[*word].1),
        })
    };
}

/// Words for the values of a list.
macro_rules! list {
    ($what:literal, $list:expr, $field:ident) => {
        Kind::List(Words {
            what: $what,
            all: || $list.map(|(name, _)| name).to_vec(),
            get: |s| s.$field.iter().map(|value| name_of(&$list, *value)).collect(),
            set: |s, words| s.$field = words.iter().map(|word| $list[*word].1).collect(),
        })
    };
}

/// The law, with its usual width and depth.
const LAW: Words = Words {
    what: "law of rivers",
    all: || Law::ALL.map(|(name, _)| name).to_vec(),
    get: |s| vec![name_of(&Law::ALL, s.law)],
    set: |s, words| {
        words.iter().for_each(|word| s.law = Law::ALL[*word].1);
        (s.width_m, s.depth_m) = s.law.usual();
    },
};

const fn key(name: &'static str, kind: Kind, told: Told, about: &'static str) -> Key {
    Key { name, kind, told, about }
}

/// The keys of the table. Width and depth stand behind the law.
static KEYS: [Key; 18] = {
    use Told::{Always, Changed, WithLines};
    [
        key(
            "sea_level_m",
            Kind::Maybe([-1e6, 1e6], |s| &mut s.sea_level_m),
            Changed,
            "Height of the sea; without it there is none.",
        ),
        key(
            "depressions",
            word!("way with depressions", THROUGH, depressions),
            Always,
            "Whether depressions are lakes, or their rims are cut.",
        ),
        key(
            "routing",
            word!("way down", ROUTINGS, routing),
            Changed,
            "Whether water goes to the neighbour to which the surface falls most steeply, or to \
             the lowest of the eight.",
        ),
        key(
            "area_routing",
            word!("way of drainage", AREA_ROUTINGS, area_routing),
            Changed,
            "Whether all water of a cell goes to one neighbour in the map drainage_area, or to \
             all lower ones.",
        ),
        key(
            "lake_min_m2",
            Kind::Maybe([0.0, 1e12], |s| &mut s.lake_min_m2),
            Changed,
            "Area from which on the water of a depression that runs over is a lake, m²; without it, \
             that of 10 cells. Rivers run through smaller ones.",
        ),
        key(
            "channel_area_km2",
            Kind::River([0.0, 1e12], |s| &mut s.channel_area_km2),
            Changed,
            "Drainage area from which on there is a river, km²; without it, that of 1000 cells.",
        ),
        key(
            "channel_flow",
            Kind::River([0.0, FLOW_MAX], |s| &mut s.channel_flow),
            Changed,
            "In place of channel_area_km2: what the map flow has, from which on there is a river.",
        ),
        key(
            "runoff_mm",
            Kind::Number([0.0, 1e5], |s| &mut s.runoff_mm),
            Always,
            "Water that runs off where the layer of rain is 1, mm a year.",
        ),
        key(
            "evaporation_mm",
            Kind::Number([0.0, 1e5], |s| &mut s.evaporation_mm),
            Changed,
            "Water that a lake loses to the air, mm a year; at 0 all lakes are full.",
        ),
        key("law", Kind::Word(LAW), Always, "How width and depth grow with the discharge."),
        key(
            "width_m",
            Kind::ByLaw([0.0, 1e3], |s| &mut s.width_m),
            Always,
            "Width of a river of 1 m³/s, metres; without it, that of the law.",
        ),
        key(
            "depth_m",
            Kind::ByLaw([0.0, 1e2], |s| &mut s.depth_m),
            Always,
            "Mean depth of a river of 1 m³/s, metres; without it, that of the law.",
        ),
        key(
            "carve",
            Kind::Switch(|s| &mut s.carve),
            Changed,
            "Whether the beds of rivers are cut into the height.",
        ),
        key(
            "vectors",
            list!("format of vectors", VECTORS, vectors),
            Changed,
            "Files of rivers, lakes, basins and points.",
        ),
        key(
            "splines",
            list!("program that takes splines", SPLINES, splines),
            Changed,
            "Files of rivers as splines for a program.",
        ),
        key(
            "simplify_m",
            Kind::Number([0.0, 1e6], |s| &mut s.simplify_m),
            WithLines,
            "How far lines may come to lie from their cells to have fewer vertices, metres.",
        ),
        key(
            "simplify_height_m",
            Kind::Maybe([0.0, 1e6], |s| &mut s.simplify_height_m),
            Changed,
            "How far the heights of simplified lines may come to lie from those of their cells, \
             metres; without it, a tenth of simplify_m.",
        ),
        key(
            "waterfall_slope",
            Kind::Number([0.01, 1e3], |s| &mut s.waterfall_slope),
            WithLines,
            "Slope from one cell of a river to the next from which on there is a waterfall.",
        ),
    ]
};

impl Key {
    /// Reads it from a table, if it is there.
    fn read(&self, table: &Table, s: &mut Settings) -> Result<()> {
        match &self.kind {
            Kind::Number([low, high], of) | Kind::ByLaw([low, high], of) => {
                *of(s) = table.number(self.name, *low, *high)?.unwrap_or(*of(s));
            }
            Kind::Maybe([low, high], of) | Kind::River([low, high], of) => {
                *of(s) = table.number(self.name, *low, *high)?;
            }
            Kind::Switch(of) => *of(s) = table.switch(self.name)?.unwrap_or(*of(s)),
            Kind::Word(words) => {
                if let Some(given) = table.text(self.name)? {
                    (words.set)(s, &[words.number(table, self.name, given)?]);
                }
            }
            Kind::List(words) => {
                if let Some(given) = table.get(self.name) {
                    (words.set)(s, &words.numbers(table, self.name, given)?);
                }
            }
        }
        Ok(())
    }

    /// Its value as recipes have it; null where it has none.
    fn value(&self, s: &mut Settings) -> serde_json::Value {
        match &self.kind {
            Kind::Number(_, of) | Kind::ByLaw(_, of) => json!(*of(s)),
            Kind::Maybe(_, of) | Kind::River(_, of) => json!(*of(s)),
            Kind::Switch(of) => json!(*of(s)),
            Kind::Word(words) => (words.get)(s).into_iter().next().into(),
            Kind::List(words) => match (words.get)(s) {
                none if none.is_empty() => serde_json::Value::Null,
                some => json!(some),
            },
        }
    }

    /// Its number and its range, if it has one.
    fn number(&self, s: &mut Settings) -> Option<(f64, [f64; 2])> {
        match &self.kind {
            Kind::Number(range, of) | Kind::ByLaw(range, of) => Some((*of(s), *range)),
            Kind::Maybe(range, of) | Kind::River(range, of) => of(s).map(|value| (value, *range)),
            Kind::Switch(_) | Kind::Word(_) | Kind::List(_) => None,
        }
    }

    /// Its JSON Schema.
    fn schema(&self) -> serde_json::Value {
        let mut schema = match &self.kind {
            Kind::Number([low, high], _)
            | Kind::ByLaw([low, high], _)
            | Kind::Maybe([low, high], _) => {
                json!({ "type": "number", "minimum": low, "maximum": high })
            }
            Kind::River([low, high], _) => {
                json!({ "type": "number", "exclusiveMinimum": low, "maximum": high })
            }
            Kind::Switch(_) => json!({ "type": "boolean" }),
            Kind::Word(words) => json!({ "enum": (words.all)() }),
            Kind::List(words) => {
                json!({ "type": "array", "items": { "enum": (words.all)() }, "uniqueItems": true })
            }
        };
        if let Kind::Number(..) | Kind::Switch(_) | Kind::Word(_) = self.kind {
            schema["default"] = self.value(&mut Settings::default());
        }
        schema["description"] = self.about.into();
        schema
    }
}

impl Words {
    /// The number of a word.
    fn number(&self, table: &Table, key: &str, given: &str) -> Result<usize> {
        let all = (self.all)();
        let found = all.iter().position(|known| *known == given);
        found.ok_or_else(|| table.unlisted(key, self.what, given, all.into_iter()))
    }

    /// The numbers of the words of a list, in which none stands twice.
    fn numbers(&self, table: &Table, key: &str, given: &serde_json::Value) -> Result<Vec<usize>> {
        let wrong = || {
            let all = (self.all)().join(", ");
            table.wrong(key, given, format!("a list of some of {all}, each once"))
        };
        let mut found = vec![];
        for name in given.as_array().ok_or_else(wrong)? {
            let number = self.number(table, key, name.as_str().ok_or_else(wrong)?)?;
            if found.contains(&number) {
                return Err(wrong());
            }
            found.push(number);
        }
        Ok(found)
    }
}

/// The name of a value in a list that has it.
fn name_of<T: Copy + PartialEq>(known: &[(&'static str, T)], value: T) -> &'static str {
    known.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

impl Settings {
    /// The keys of the table.
    #[cfg(feature = "cli")]
    pub(crate) fn keys() -> [&'static str; 18] {
        KEYS.each_ref().map(|key| key.name)
    }

    /// Reads the table.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
    pub(crate) fn parse(value: &serde_json::Value) -> Result<Self> {
        let table = Table::new("water", value)?;
        table.known(&KEYS.each_ref().map(|key| key.name))?;
        let mut read = Self::default();
        KEYS.iter().try_for_each(|key| key.read(&table, &mut read))?;
        read.check_together()?;
        Ok(read)
    }

    /// Checks settings that exclude each other, and what a range cannot say.
    fn check_together(&self) -> Result<()> {
        let wrong = |key: &str, given: f64, allowed: String, message: String| {
            let invalid = Invalid::of(key, given, allowed).saying(message);
            Err(invalid.inside("water", "/water").into())
        };
        let mut own = self.clone();
        for key in &KEYS {
            if let (Kind::River([_, high], of), name) = (&key.kind, key.name)
                && *of(&mut own) == Some(0.0)
            {
                let allowed = format!("above 0 to {high}");
                let message = format!(
                    "{name} = 0: each cell of the land would be a river; allowed {allowed}, or \
                     leave it out"
                );
                return wrong(name, 0.0, allowed, message);
            }
        }
        if let (Some(flow), Some(km2)) = (self.channel_flow, self.channel_area_km2) {
            let message = format!(
                "channel_flow = {flow} with channel_area_km2 = {km2}: both say where rivers begin; leave \
                 one of the two out"
            );
            return wrong("channel_flow", flow, "channel_flow or channel_area_km2".into(), message);
        }
        let given = self.evaporation_mm;
        if given > 0.0 && self.depressions == Through::Breach {
            let message = format!(
                "evaporation_mm = {given} with depressions = \"breach\": there are no lakes then; \
                 leave one of the two out"
            );
            return wrong(
                "evaporation_mm",
                given,
                "0 with depressions = \"breach\"".into(),
                message,
            );
        }
        Ok(())
    }

    /// Checks what parsing checks, since fields are public.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with the first value that is not allowed.
    pub(crate) fn check(&self) -> Result<()> {
        let mut own = self.clone();
        for key in &KEYS {
            let number = key.number(&mut own);
            if let Some((value, [low, high])) =
                number.filter(|(v, [low, high])| !(low..=high).contains(&v))
            {
                let invalid = Invalid::value(key.name, value, format!("{low} to {high}"));
                return Err(invalid.inside("water", "/water").into());
            }
        }
        self.check_together()
    }

    /// The table, spelled out.
    pub(crate) fn describe(&self) -> serde_json::Value {
        let (mut own, mut usual) = (self.clone(), Self::default());
        let told = KEYS.iter().filter_map(|key| {
            let value = key.value(&mut own);
            let is_told = match key.told {
                Told::Always => true,
                Told::WithLines if self.has_vectors() => true,
                Told::Changed | Told::WithLines => value != key.value(&mut usual),
            };
            (is_told && !value.is_null()).then(|| (key.name.to_string(), value))
        });
        serde_json::Value::Object(told.collect())
    }

    /// The JSON Schema of the table.
    pub(crate) fn schema() -> serde_json::Value {
        let keys = KEYS.iter().map(|key| (key.name.to_string(), key.schema()));
        json!({
            "type": "object",
            "description": "Rivers, lakes and the sea: docs/water.md.",
            "properties": serde_json::Value::Object(keys.collect()),
            "additionalProperties": false,
            "not": { "required": ["channel_area_km2", "channel_flow"] },
            // Without lakes there is nothing to dry up.
            "if": { "properties": { "depressions": { "const": "breach" } }, "required": ["depressions"] },
            "then": { "properties": { "evaporation_mm": { "maximum": 0 } } },
        })
    }

    /// Applies a setting as a person types it: words of a list are parted by commas. `written` is a
    /// list or a text as recipes have it.
    ///
    /// # Errors
    /// [`crate::Error::Param`] as [`Settings::parse`] has it.
    pub(crate) fn set(
        &mut self,
        key: &str,
        value: &str,
        written: Option<serde_json::Value>,
    ) -> Result<()> {
        let words = || value.split([',', ' ']).filter(|word| !word.is_empty());
        let mut described = self.describe();
        // Width and depth that are those of the law change with it.
        if key == "law" && (self.width_m, self.depth_m) == self.law.usual() {
            ["width_m", "depth_m"]
                .iter()
                .for_each(|key| drop(described.as_object_mut().map(|table| table.remove(*key))));
        }
        described[key] = match (key, value.parse::<bool>(), value.parse::<f64>()) {
            _ if written.is_some() => written.into(),
            ("vectors" | "splines", ..) => words().collect(),
            (_, Ok(switch), _) => switch.into(),
            (_, _, Ok(number)) => json!(number),
            _ => value.into(),
        };
        *self = Self::parse(&described)?;
        Ok(())
    }

    /// Whether a bundle has lines, polygons, points or splines.
    pub fn has_vectors(&self) -> bool {
        !self.vectors.is_empty() || !self.splines.is_empty()
    }

    /// The names of the files of vectors and splines that a bundle has.
    pub fn files(&self) -> Vec<String> {
        let layers = |format: &VectorFormat| match format {
            VectorFormat::GeoJson => LAYERS.map(|layer| format!("{layer}.geojson")).to_vec(),
            VectorFormat::Gpkg => vec!["water.gpkg".into()],
        };
        let splines = |program: &Splines| match program {
            Splines::Unreal => "rivers_unreal.json".to_string(),
            Splines::Godot => "rivers_godot.tscn".into(),
        };
        self.vectors.iter().flat_map(layers).chain(self.splines.iter().map(splines)).collect()
    }
}

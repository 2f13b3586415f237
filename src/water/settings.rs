//! The table `[water]` of a recipe: one line for each key.

use super::channel::Law;
use super::directions::Routing;
use crate::error::{Invalid, Result};
use crate::keys::{self, Key, Kind, Told, Words, list, name_of, word};
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
    /// From what drainage area on there is a river, in km², above 0 to 1e12; none: a thousandth of
    /// the land, and at least 100 cells of its finest level.
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

/// The law, with its usual width and depth.
const LAW: Words<Settings> = Words {
    what: "law of rivers",
    all: || Law::ALL.map(|(name, _)| name).to_vec(),
    get: |s| vec![name_of(&Law::ALL, s.law).into()],
    set: |s, words| {
        words.iter().for_each(|word| s.law = Law::ALL[*word].1);
        // Keys are read in their order, so a width or a depth that is given comes after this.
        (s.width_m, s.depth_m) = s.law.usual();
    },
};

/// The keys of the table. Width and depth stand behind the law.
static KEYS: [Key<Settings>; 18] = {
    use Told::{Always, Changed};
    const WITH_LINES: Told<Settings> = Told::Or(Settings::has_vectors);
    [
        Key::new(
            "sea_level_m",
            Kind::Maybe([-1e6, 1e6], |s| &mut s.sea_level_m),
            Changed,
            "Height of the sea; without it there is none.",
        ),
        Key::new(
            "depressions",
            word!("way with depressions", THROUGH, depressions),
            Always,
            "Whether depressions are lakes, or their rims are cut.",
        ),
        Key::new(
            "routing",
            word!("way down", ROUTINGS, routing),
            Changed,
            "Whether water goes to the neighbour to which the surface falls most steeply, or to \
             the lowest of the eight.",
        ),
        Key::new(
            "area_routing",
            word!("way of drainage", AREA_ROUTINGS, area_routing),
            Changed,
            "Whether all water of a cell goes to one neighbour in the map drainage_area, or to \
             all lower ones.",
        ),
        Key::new(
            "lake_min_m2",
            Kind::Maybe([0.0, 1e12], |s| &mut s.lake_min_m2),
            Changed,
            "Area from which on the water of a depression that runs over is a lake, m²; without \
             it, \
             that of 10 cells. Rivers run through smaller ones.",
        ),
        Key::new(
            "channel_area_km2",
            Kind::Above([0.0, 1e12], |s| &mut s.channel_area_km2),
            Changed,
            "Drainage area from which on there is a river, km²; without it, a thousandth of the \
             land, and at least 100 cells.",
        ),
        Key::new(
            "channel_flow",
            Kind::Above([0.0, FLOW_MAX], |s| &mut s.channel_flow),
            Changed,
            "In place of channel_area_km2: what the map flow has, from which on there is a river.",
        ),
        Key::new(
            "runoff_mm",
            Kind::Number([0.0, 1e5], |s| &mut s.runoff_mm),
            Always,
            "Water that runs off where the layer of rain is 1, mm a year.",
        ),
        Key::new(
            "evaporation_mm",
            Kind::Number([0.0, 1e5], |s| &mut s.evaporation_mm),
            Changed,
            "Water that a lake loses to the air, mm a year; at 0 all lakes are full.",
        ),
        Key::new("law", Kind::Word(LAW), Always, "How width and depth grow with the discharge."),
        Key::new(
            "width_m",
            Kind::Following([0.0, 1e3], |s| &mut s.width_m),
            Always,
            "Width of a river of 1 m³/s, metres; without it, that of the law.",
        ),
        Key::new(
            "depth_m",
            Kind::Following([0.0, 1e2], |s| &mut s.depth_m),
            Always,
            "Mean depth of a river of 1 m³/s, metres; without it, that of the law.",
        ),
        Key::new(
            "carve",
            Kind::Switch(|s| &mut s.carve),
            Changed,
            "Whether the beds of rivers are cut into the height.",
        ),
        Key::new(
            "vectors",
            list!("format of vectors", VECTORS, vectors),
            Changed,
            "Files of rivers, lakes, basins and points.",
        ),
        Key::new(
            "splines",
            list!("program that takes splines", SPLINES, splines),
            Changed,
            "Files of rivers as splines for a program.",
        ),
        Key::new(
            "simplify_m",
            Kind::Number([0.0, 1e6], |s| &mut s.simplify_m),
            WITH_LINES,
            "How far lines may come to lie from their cells to have fewer vertices, metres.",
        ),
        Key::new(
            "simplify_height_m",
            Kind::Maybe([0.0, 1e6], |s| &mut s.simplify_height_m),
            Changed,
            "How far the heights of simplified lines may come to lie from those of their cells, \
             metres; without it, a tenth of simplify_m.",
        ),
        Key::new(
            "waterfall_slope",
            Kind::Number([0.01, 1e3], |s| &mut s.waterfall_slope),
            WITH_LINES,
            "Slope from one cell of a river to the next from which on there is a waterfall.",
        ),
    ]
};

impl Settings {
    /// The keys of the table.
    #[cfg(feature = "cli")]
    pub(crate) fn keys() -> Vec<&'static str> {
        keys::names(&KEYS)
    }

    /// Reads the table.
    ///
    /// # Errors
    /// [`crate::Error::Param`] for an unknown key or a value that is not allowed.
    pub(crate) fn parse(value: &serde_json::Value) -> Result<Self> {
        let table = Table::new("water", value)?;
        let mut read = Self::default();
        keys::read(&KEYS, &table, &mut read)?;
        read.check_together()?;
        Ok(read)
    }

    /// Checks settings that exclude each other, and what a range cannot say.
    fn check_together(&self) -> Result<()> {
        let wrong = |key: &str, given: f64, allowed: String, message: String| {
            Err(Invalid::of(key, given, allowed).saying(message).inside("water", "").into())
        };
        // Keys lead to settings that can be changed, so they look at a copy.
        let mut own = self.clone();
        for key in &KEYS {
            if let (Kind::Above([_, high], of), name) = (&key.kind, key.name)
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
                "channel_flow = {flow} with channel_area_km2 = {km2}: both say where rivers begin; \
                 leave \
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
        let checked = keys::check(&KEYS, self).map_err(|e| e.inside("water", ""));
        checked.and_then(|()| self.check_together()).map_err(|e| e.inside("", "/water"))
    }

    /// The table, spelled out.
    pub(crate) fn describe(&self) -> serde_json::Value {
        keys::describe(&KEYS, self, Self::default())
    }

    /// The JSON Schema of the table.
    pub(crate) fn schema() -> serde_json::Value {
        json!({
            "type": "object",
            "properties": keys::schema(&KEYS, Self::default()),
            "additionalProperties": false,
            "not": { "required": ["channel_area_km2", "channel_flow"] },
            // Without lakes there is nothing to dry up.
            "if": { "properties": { "depressions": { "const": "breach" } },
                "required": ["depressions"] },
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
        let mut described = self.describe();
        // Width and depth that are those of the law change with it.
        if key == "law" && (self.width_m, self.depth_m) == self.law.usual() {
            ["width_m", "depth_m"]
                .iter()
                .for_each(|key| drop(described.as_object_mut().map(|table| table.remove(*key))));
        }
        described[key] = written.unwrap_or_else(|| keys::typed(&KEYS, key, value));
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

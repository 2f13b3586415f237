//! Files as game engines and modelling programs take them, and a text with the numbers to type
//! there.
//!
//! # Sources
//! Epic Games, *Landscape Technical Guide*; Unity Technologies, `TerrainWizards.cs`
//! (UnityCsReference); Terrain3D, *Importing & Exporting Data*; WorldPainter, import of height
//! maps; Blender and SideFX manuals.

mod unity;
mod unreal;

use std::fmt::Write as _;
use std::io::Cursor;

use ::exr::prelude::{
    AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, LayerAttributes, SmallVec,
    SpecificChannels, Text, Vec2, WritableImage,
};
use image::{GrayImage, RgbImage, RgbaImage};

use super::mesh::{Mesh, MeshFormat};
use super::splines::{place, splines};
use super::{MapFormat, encode_picture, encode_within};
pub use crate::engine::Engine;
use crate::map::Map;
use crate::params::rounded;
use crate::scatter::Place;
use crate::water::{Lake, Splines, Vectors};
use crate::{Error, Result};

/// The name of the text with the numbers to type.
pub const README: &str = "README.txt";

/// Lowest and highest block of Minecraft since 1.18.
const BLOCKS: [f64; 2] = [-64.0, 319.0];

/// Most textures of a control map.
const CONTROL_TEXTURES: usize = 32;
/// How far meshes of the levels of detail may lie off the samples, by the relief.
const LOD_ERRORS: [f64; 3] = [1.0 / 2000.0, 1.0 / 400.0, 1.0 / 80.0];

/// Longest side of a land that becomes a mesh.
const MESH_SIDE: u32 = crate::engine::WEB_SIDE;

/// The table of rivers. Tables of things begin with the land's name, so none has this one.
const RIVERS: &str = "rivers.csv";

/// Most lakes that a text names.
const LAKES_MAX: usize = 12;

/// A land to hand over.
pub struct Land<'a> {
    /// Heights in metres.
    pub height: &'a Map,
    /// The ends of 16-bit heights in metres; none: the lowest and the highest of the map.
    pub range_m: Option<(f64, f64)>,
    /// Height of the sea in metres.
    pub sea_level_m: Option<f64>,
    /// Weights of biomes, four to a texture: names, and red, green, blue and alpha of each cell.
    pub textures: &'a [(&'a [String], &'a [u8])],
    /// Its rivers and lakes, where they are known.
    pub water: Option<&'a Vectors>,
    /// Other maps by name, for programs whose format holds layers.
    pub layers: &'a [(&'a str, &'a Map)],
    /// World coordinates of the north-west sample, in cells.
    pub origin: [i64; 2],
    /// What stands on it.
    pub things: &'a [Things],
    /// Its picture, for programs that take colours of vertices.
    pub picture: Option<&'a RgbImage>,
}

impl<'a> Land<'a> {
    /// Heights and nothing else.
    pub fn of(height: &'a Map) -> Self {
        Self {
            height,
            range_m: None,
            sea_level_m: None,
            textures: &[],
            water: None,
            layers: &[],
            origin: [0, 0],
            things: &[],
            picture: None,
        }
    }
}

/// What things of one kind are called, and where they stand.
pub type Things = (String, Vec<Place>);

/// The files for a program: names and bytes, a `README.txt` last; and warnings for people.
pub type Export = (Vec<(String, Vec<u8>)>, Vec<String>);

impl Engine {
    /// The files of a land. `stem` begins their names.
    ///
    /// # Errors
    /// [`Error::Param`] for a size that the program does not take, and what encoding finds.
    pub fn export(self, stem: &str, land: &Land) -> Result<Export> {
        let map = land.height;
        self.check(map.width, map.height)?;
        let stem = &plain(stem);
        // What is called height already needs no second word.
        let is_named = *stem == "height" || stem.ends_with("_height");
        let land_stem = if is_named { stem.clone() } else { format!("{stem}_height") };
        let out = Writer { stem, files: vec![], warnings: vec![] };
        let (min, max) = map.min_max();
        let range = land.range_m.unwrap_or(if min < max {
            (min.into(), max.into())
        } else {
            (min.into(), f64::from(min) + 1.0)
        });
        let text = format!(
            "{stem}: {} x {} samples, {} m apart, {} to {} m\n\n",
            map.width,
            map.height,
            rounded(map.spacing_m),
            rounded(min.into()),
            rounded(max.into())
        );
        let mut made = Made { land, range, land_stem, out, text };
        match self {
            Self::Unreal => made.unreal(false)?,
            Self::UnrealWp => made.unreal(true)?,
            Self::Unity => made.unity(false)?,
            Self::UnityTiles => made.unity(true)?,
            Self::Godot => made.godot()?,
            Self::Blender => made.blender()?,
            Self::Worldpainter => made.worldpainter()?,
            Self::Houdini => made.houdini()?,
            Self::Web => made.web()?,
        }
        let Made { mut out, text, .. } = made;
        out.files.push((README.into(), text.into_bytes()));
        Ok((out.files, out.warnings))
    }
}

/// What an engine is given, as far as it is made.
struct Made<'a> {
    land: &'a Land<'a>,
    /// The heights of the lowest and the highest level of 16-bit files, m.
    range: (f64, f64),
    /// The name of the height's file, without its ending.
    land_stem: String,
    out: Writer<'a>,
    /// What a person has to set in the program.
    text: String,
}

impl Made<'_> {
    fn say(&mut self, line: String) {
        if !line.is_empty() {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// From the first sample to the last, along x and along y, m.
    fn extent(&self) -> [f64; 2] {
        let map = self.land.height;
        [map.width, map.height].map(|n| f64::from(n - 1) * map.spacing_m)
    }

    /// Says where lakes stand, the largest first: each by a place on its shore and the height of
    /// its water. `at` writes metres to the east, to the south and up from the north-west sample.
    fn lakes(&mut self, from: &str, at: impl Fn([f64; 3]) -> String) {
        let Some(water) = self.land.water else { return };
        let lakes = shores(water, self.land.height.spacing_m);
        if lakes.is_empty() {
            return;
        }
        self.say(format!("Lakes, by a place on their shores, {from}:"));
        for (place, lake) in lakes.iter().take(LAKES_MAX) {
            let (place, area) = (at(*place), rounded(lake.area_m2));
            self.say(format!("  {place}: {area} m2, up to {} m deep", rounded(lake.depth_m)));
        }
        if lakes.len() > LAKES_MAX {
            self.say(format!("  and {} smaller ones", lakes.len() - LAKES_MAX));
        }
    }

    /// Adds a table for each kind of things, in the axes of the program. `at` takes metres to the
    /// east, to the south and up from the north-west sample, and `turn` degrees clockwise as seen
    /// from above.
    fn things(
        &mut self,
        columns: &str,
        at: impl Fn([f64; 3]) -> [f64; 3],
        turn: impl Fn(f64) -> f64,
    ) {
        let spacing_m = self.land.height.spacing_m;
        let [west, north] = self.land.origin.map(|origin| origin as f64);
        for (name, places) in self.land.things {
            let mut table = "x,y,z,turn_deg,size\r\n".to_string();
            for place in places {
                let east = (place.x - west) * spacing_m;
                let south = (place.y - north) * spacing_m;
                let [x, y, z] = at([east, south, place.height_m]).map(thousandths);
                let turned = thousandths(turn(place.turn_deg).rem_euclid(360.0)) % 360.0;
                // Writing to a string cannot fail.
                let _ = write!(table, "{x},{y},{z},{turned},{}\r\n", place.size);
            }
            let file = self.table(name);
            self.say(format!("{} of {name}: {file}, {columns}.", places.len()));
            self.out.files.push((file, table.into_bytes()));
        }
    }

    /// Adds the file of rivers for a program, where there are some.
    /// Its name; none where there are no rivers.
    fn rivers(&mut self, program: Splines, what: &str) -> Option<String> {
        let water = self.land.water.filter(|water| !water.reaches.is_empty())?;
        let (name, bytes) = super::splines::encode(water, self.land.height, program);
        self.say(format!("Rivers: {name}, {what}."));
        self.out.files.push((name.clone(), bytes));
        Some(name)
    }

    /// Adds a table of the points of rivers, each downstream, in the axes of the program and
    /// metres, where there are rivers. `at` is as for things. Returns whether there are some.
    fn river_table(&mut self, columns: &str, at: impl Fn([f64; 3]) -> [f64; 3]) -> bool {
        let rivers = self.land.water.map_or(vec![], splines);
        if rivers.is_empty() {
            return false;
        }
        let mut table = "piece,river,x,y,z,width,depth\r\n".to_string();
        for (n, river) in rivers.iter().enumerate() {
            for point in &river.points {
                let [x, y, z] = at(place(point, self.land.height.spacing_m)).map(thousandths);
                let [width, depth] =
                    [point.channel.width_m, point.channel.depth_m].map(thousandths);
                // Writing to a string cannot fail.
                let _ = write!(table, "{},{},{x},{y},{z},{width},{depth}\r\n", n + 1, river.river);
            }
        }
        self.say(format!(
            "{RIVERS}: {} rivers, or pieces of rivers between lakes, each downstream; metres {columns}.",
            rivers.len()
        ));
        self.out.files.push((RIVERS.into(), table.into_bytes()));
        true
    }

    /// The file of a kind of things.
    fn table(&self, name: &str) -> String {
        format!("{}_{name}.csv", self.out.stem)
    }

    /// Terrain3D of Godot.
    fn godot(&mut self) -> Result<()> {
        let land = self.land;
        let map = self.land.height;
        let spacing_m = self.land.height.spacing_m;
        let land_stem = self.land_stem.clone();
        self.out.files.push((format!("{land_stem}.exr"), rgb(map)?));
        self.say(
            "Terrain3D, Import: height file, Import Scale 1, Height Offset 0. Heights are \
             in metres."
                .into(),
        );
        self.say(format!("Vertex Spacing: {}", rounded(spacing_m)));
        self.say(sea(land, |m| format!("Water at Y = {}", rounded(m))));
        self.lakes("from the north-west corner", |[x, y, z]| {
            format!("X {}, Y {}, Z {}", rounded(x), rounded(z), rounded(y))
        });
        self.rivers(Splines::Godot, "a scene with a Path3D for each river");
        self.things(
            "from the north-west corner, y up, and the rotation about Y",
            |[x, y, z]| [x, z, y],
            |clockwise| -clockwise,
        );
        self.out.splats(land, &Part::whole(map))?;
        self.control()?;
        self.out.normals(map, false)?;
        self.say("Normal map: OpenGL (green up).".into());
        Ok(())
    }

    /// The control map of Terrain3D: the two strongest textures of each cell and how they blend.
    fn control(&mut self) -> Result<()> {
        let names: Vec<&String> = self.land.textures.iter().flat_map(|(names, _)| *names).collect();
        // There are five bits for each.
        if names.is_empty() || names.len() > CONTROL_TEXTURES {
            return Ok(());
        }
        let map = self.land.height;
        let weight = |texture: usize, cell: usize| {
            let (_, rgba) = self.land.textures[texture / 4];
            rgba.get(cell * 4 + texture % 4).copied().unwrap_or(0)
        };
        let control = |cell: usize| {
            let mut order: Vec<usize> = (0..names.len()).collect();
            order.sort_by_key(|texture| std::cmp::Reverse(weight(*texture, cell)));
            let [base, over] = [order[0], order[usize::from(order.len() > 1)]];
            let [most, next] = [base, over].map(|texture| u32::from(weight(texture, cell)));
            let blend =
                if most + next > 0 && base != over { 255 * next / (most + next) } else { 0 };
            f32::from_bits((base as u32) << 27 | (over as u32) << 22 | blend << 14)
        };
        let data = (0..map.data.len()).map(control).collect();
        let bits = Map { data, range_m: None, georef: None, ..map.clone() };
        let file = format!("{}_control.exr", self.out.stem);
        self.out.files.push((file.clone(), channels(&[("R", &bits)])?));
        let told: Vec<String> =
            names.iter().enumerate().map(|(id, name)| format!("{id} {name}")).collect();
        self.say(format!("Control map: {file}. Textures: {}.", told.join(", ")));
        Ok(())
    }

    /// A grid of Blender with a Displace modifier.
    fn blender(&mut self) -> Result<()> {
        let land = self.land;
        let map = self.land.height;
        let [across, down] = self.extent();
        let land_stem = self.land_stem.clone();
        self.out.files.push((
            format!("{land_stem}.exr"),
            encode_within(map, MapFormat::Exr, None, &[])?.bytes,
        ));
        self.say(format!(
            "Add a grid with X Subdivisions {}, Y Subdivisions {}, and scale it to",
            map.width - 1,
            map.height - 1
        ));
        self.say(format!("X {}, Y {} (metres).", rounded(across), rounded(down)));
        // A grid's UVs end at the outer edges of the border's pixels, and samples are pixel
        // centres.
        let [x, y] = [map.width, map.height].map(|n| f64::from(n - 1) / f64::from(n));
        self.say(
            "UV Editor: select all, Pivot Point Bounding Box Center, then type, so that \
             each vertex lies on the centre of a pixel:"
                .into(),
        );
        self.say(format!("S X {x:.9} Enter, S Y {y:.9} Enter"));
        self.say("Image texture: the EXR with Color Space Non-Color; Extension Extend.".into());
        self.say("Displace modifier: that texture, Coordinates UV, Midlevel 0, Strength 1.".into());
        self.say(sea(land, |m| format!("Water at Z = {}", rounded(m))));
        self.lakes("from the middle of the grid", |[x, y, z]| {
            format!(
                "X {}, Y {}, Z {}",
                rounded(x - across / 2.0),
                rounded(down / 2.0 - y),
                rounded(z)
            )
        });
        let place = |[x, y, z]: [f64; 3]| [x - across / 2.0, down / 2.0 - y, z];
        if self.river_table("from the middle of the grid, z up", place) {
            self.say("Text Editor, Open rivers.py, Run Script: it makes a mesh of them.".into());
            let script = include_str!("engine/blender_rivers.py").replace("@STEM@", self.out.stem);
            self.out.files.push(("rivers.py".into(), script.into()));
        }
        self.things(
            "from the middle of the grid, z up, and the rotation about Z",
            place,
            |clockwise| -clockwise,
        );
        self.out.splats(land, &Part::whole(map))?;
        self.out.normals(map, false)?;
        self.say("Normal map: OpenGL (green up), Color Space Non-Color.".into());
        Ok(())
    }

    /// WorldPainter, whose levels are blocks.
    fn worldpainter(&mut self) -> Result<()> {
        let land = self.land;
        let map = self.land.height;
        let spacing_m = self.land.height.spacing_m;
        let land_stem = self.land_stem.clone();
        let [bottom, top] = BLOCKS;
        // A block is as high as it is wide.
        let blocks = Map {
            data: map.data.iter().map(|h| (f64::from(*h) / spacing_m) as f32).collect(),
            ..map.clone()
        };
        let outside =
            blocks.data.iter().filter(|y| !(bottom..=top).contains(&f64::from(**y))).count();
        if outside > 0 {
            self.out.warnings.push(format!(
                "{outside} of {} cells lie beyond the blocks {bottom} to {top} and were \
                 cut off there; make the relief smaller or the spacing larger",
                blocks.data.len()
            ));
        }
        let cut = Map {
            data: blocks.data.iter().map(|y| f64::from(*y).clamp(bottom, top) as f32).collect(),
            ..blocks
        };
        self.out.sixteen(
            &format!("{land_stem}.png"),
            &cut,
            MapFormat::Png,
            // A block is then 256 levels, which the preset that is named below turns back.
            (bottom, bottom + 65535.0 / 256.0),
        )?;
        self.say(format!(
            "A pixel is a block of {} m. File, Import New World From Height Map: Lower and \
             Upper Limit {bottom} and {},",
            rounded(spacing_m),
            top + 1.0
        ));
        self.say("preset \"256 to one\" for levels from -64.".into());
        self.say(sea(land, |m| format!("Water level: {}", (m / spacing_m).round())));
        let block = |m: f64| (m / spacing_m).round();
        let from = "in blocks from the north-west corner. Flood each up to its Y";
        self.lakes(from, |[x, y, z]| format!("X {}, Z {}, Y {}", block(x), block(y), block(z)));
        Ok(())
    }

    /// Layers of a height field of Houdini.
    fn houdini(&mut self) -> Result<()> {
        let land = self.land;
        let map = self.land.height;
        let spacing_m = self.land.height.spacing_m;
        let [across, down] = self.extent();
        let stem = self.out.stem.to_string();
        let layers: Vec<(&str, &Map)> =
            std::iter::once(("height", map)).chain(land.layers.iter().copied()).collect();
        self.out.files.push((format!("{stem}_layers.exr"), channels(&layers)?));
        let names: Vec<&str> = layers.iter().map(|(name, _)| *name).collect();
        self.say("HeightField File: one node for each channel of the EXR, Height Scale 1.".into());
        self.say(format!("Channels: {}", names.join(", ")));
        self.say(format!(
            "Size: {} x {}, Grid Spacing: {}",
            rounded(across),
            rounded(down),
            rounded(spacing_m)
        ));
        let place = |[x, y, z]: [f64; 3]| [x, z, y];
        self.say(format!(
            "The middle of the height field belongs at X {}, Y 0, Z {}.",
            rounded(across / 2.0),
            rounded(down / 2.0)
        ));
        self.say(sea(land, |m| format!("Water at Y = {}", rounded(m))));
        let from = "from the north-west sample, Y up, Z to the south";
        self.lakes(from, |metres| {
            let [x, y, z] = place(metres).map(rounded);
            format!("X {x}, Y {y}, Z {z}")
        });
        if self.river_table(from, place) {
            self.say(
                "Table Import: skip the first line, river and piece from columns 2 and 1, P from 3 to \
                 5, width from 6. Then Add: Polygons, By Group, By Attribute piece."
                    .into(),
            );
        }
        if map.width.max(map.height) > MESH_SIDE {
            self.say(format!(
                "There is no .usda of more than {MESH_SIDE} samples a side here: make one with \
                 thalweg convert height.tif land.usda --max-error 1."
            ));
            return Ok(());
        }
        let usd = format!("{stem}.usda");
        let mesh = Mesh::of(map, Some(self.error(1)))?;
        self.say(format!(
            "Or {usd}, a mesh for Solaris and Omniverse: metres, Y up, Z to the south."
        ));
        self.out.files.push((usd, mesh.encode(MeshFormat::Usda, &stem)?));
        Ok(())
    }
}

impl Made<'_> {
    /// How far a mesh may lie off the samples on a level of detail, m: a share of the relief.
    fn error(&self, level: usize) -> f64 {
        let (low, high) = self.land.height.min_max();
        (f64::from(high) - f64::from(low)).max(1e-3) * LOD_ERRORS[level]
    }

    /// Meshes of glTF in levels of detail, with colours and skirts.
    fn web(&mut self) -> Result<()> {
        let map = self.land.height;
        let [across, down] = self.extent();
        let stem = self.out.stem.to_string();
        // As deep as the coarsest level may be off at most, and what lies on its other side.
        let skirt = 2.0 * self.error(LOD_ERRORS.len() - 1);
        self.say("Metres: x to the east, y up, z to the south, from the north-west sample.".into());
        self.say(format!("The land is {} by {}.", rounded(across), rounded(down)));
        self.say("Levels of detail, for three.js' LOD and its kin:".into());
        for level in 0..LOD_ERRORS.len() {
            let error = self.error(level);
            let mut mesh = Mesh::of(map, Some(error))?.with_skirt(skirt);
            if let Some(picture) = self.land.picture {
                mesh = mesh.coloured(picture)?;
            }
            let [_, triangles] = mesh.counts();
            let file = format!("{stem}_lod{level}.glb");
            // Half a pixel of a window of 1080 lines with an angle of 50 degrees.
            let metres = if level == 0 { 0.0 } else { error * 1080.0 / 0.466 };
            self.say(format!(
                "  {file}: {triangles} triangles, within {} m, from {} m on",
                rounded((error * 1e3).round() / 1e3),
                metres.round()
            ));
            self.out.files.push((file, mesh.encode(MeshFormat::Glb, &stem)?));
        }
        self.say(sea(self.land, |m| format!("Water at y = {}", rounded(m))));
        self.lakes("from the north-west sample", |[x, y, z]| {
            format!("x {}, y {}, z {}", rounded(x), rounded(z), rounded(y))
        });
        self.river_table("from the north-west sample", |[x, y, z]| [x, z, y]);
        self.things(
            "from the north-west sample, and degrees about y",
            |[x, y, z]| [x, z, y],
            |clockwise| -clockwise,
        );
        self.out.splats(self.land, &Part::whole(map))?;
        Ok(())
    }
}

/// The lakes, the largest first, each with a place on its shore: metres to the east, to the south
/// and up from the north-west sample.
fn shores(water: &Vectors, spacing_m: f64) -> Vec<([f64; 3], &Lake)> {
    let mut lakes: Vec<_> = water.lakes.iter().filter(|lake| lake.id > 0).collect();
    lakes.sort_by(|a, b| b.area_m2.total_cmp(&a.area_m2));
    let shore = |lake: &Lake| {
        let ring = lake.polygons.first().and_then(|polygon| polygon.first());
        let [x, y] = ring.and_then(|ring| ring.first()).copied().unwrap_or_default();
        let [x, y] = [x, y].map(|half| f64::from(half) / 2.0 * spacing_m);
        [x, y, lake.level_m.into()]
    };
    lakes.into_iter().map(|lake| (shore(lake), lake)).collect()
}

/// A number as tables have it: to a thousandth, and no -0.
fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0 + 0.0
}

/// Centimetres, for people.
fn cm(metres: f64) -> f64 {
    rounded(metres * 100.0)
}

/// A stem that no program takes for more: digits, an x and digits would be the place of a tile.
fn plain(stem: &str) -> String {
    let all: Vec<char> = stem
        .chars()
        .map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '_' })
        .collect();
    let digit = |i: Option<usize>| i.and_then(|i| all.get(i)).is_some_and(char::is_ascii_digit);
    let place = |i: usize| all[i] == 'x' && digit(i.checked_sub(1)) && digit(Some(i + 1));
    let plain: String = (0..all.len()).map(|i| if place(i) { '-' } else { all[i] }).collect();
    if plain.is_empty() { "land".into() } else { plain }
}

/// A line on the sea; empty if there is none.
fn sea(land: &Land, line: impl Fn(f64) -> String) -> String {
    land.sea_level_m.map_or(String::new(), line)
}

/// A rectangle of a land that has files of its own.
struct Part {
    /// What the names of its files have after the land's; empty for the whole.
    name: String,
    /// Column and row of its north-west sample.
    at: [u32; 2],
    /// Columns and rows.
    size: [u32; 2],
}

impl Part {
    fn whole(map: &Map) -> Self {
        Self { name: String::new(), at: [0, 0], size: [map.width, map.height] }
    }

    /// Its pixels of four bytes each.
    fn pixels(&self, rgba: &[u8], map: &Map) -> Vec<u8> {
        let [column, row, width, height] =
            [self.at[0], self.at[1], self.size[0], self.size[1]].map(|n| n as usize);
        let rows = rgba.chunks(map.width as usize * 4).skip(row).take(height);
        rows.flat_map(|line| line.iter().skip(column * 4).take(width * 4).copied()).collect()
    }
}

/// Files as they come.
struct Writer<'a> {
    stem: &'a str,
    files: Vec<(String, Vec<u8>)>,
    warnings: Vec<String>,
}

impl Writer<'_> {
    fn sixteen(
        &mut self,
        name: &str,
        map: &Map,
        format: MapFormat,
        range: (f64, f64),
    ) -> Result<()> {
        // What a format cannot say of a place on Earth, an engine does not want to know.
        let encoded =
            encode_within(&Map { georef: None, ..map.clone() }, format, Some(range), &[])?;
        self.files.push((name.into(), encoded.bytes));
        self.warnings.extend(encoded.warnings);
        Ok(())
    }

    /// One grey picture for each material or biome.
    fn weights(&mut self, land: &Land, part: &Part) -> Result<()> {
        for (names, rgba) in land.textures {
            let rgba = part.pixels(rgba, land.height);
            for (channel, name) in names.iter().enumerate() {
                let grey = rgba.iter().skip(channel).step_by(4).copied().collect();
                let [width, height] = part.size;
                let picture =
                    GrayImage::from_raw(width, height, grey).ok_or_else(|| short(name))?;
                let plain: String =
                    name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
                let file = format!("{}_weight_{plain}{}.png", self.stem, part.name);
                self.files.push((file, encode_picture(picture)?));
            }
        }
        Ok(())
    }

    /// Textures of four materials or biomes each.
    fn splats(&mut self, land: &Land, part: &Part) -> Result<()> {
        for (n, (_, rgba)) in land.textures.iter().enumerate() {
            let [width, height] = part.size;
            let picture = RgbaImage::from_raw(width, height, part.pixels(rgba, land.height))
                .ok_or_else(|| short("a texture"))?;
            self.files.push((self.splat(part, n + 1), encode_picture(picture)?));
        }
        Ok(())
    }

    /// The file of a texture, which are counted from 1.
    fn splat(&self, part: &Part, n: usize) -> String {
        format!("{}{}_splat_{n}.png", self.stem, part.name)
    }

    fn normals(&mut self, map: &Map, green_down: bool) -> Result<()> {
        self.files
            .push((format!("{}_normal.png", self.stem), encode_picture(normals(map, green_down))?));
        Ok(())
    }
}

fn short(what: &str) -> Error {
    Error::param(format!("{what}: too few bytes for the land"))
}

/// The directions in which the land faces: red to the east, green to the north (`green_down`: to
/// the south), blue up; −1 to 1 as 0 to 255.
pub fn normals(map: &Map, green_down: bool) -> RgbImage {
    let (w, h) = (map.width as usize, map.height as usize);
    let at = |x: usize, y: usize| f64::from(map.data[y * w + x]);
    RgbImage::from_fn(map.width, map.height, |x, y| {
        let (x, y) = (x as usize, y as usize);
        let slope = |low: f64, high: f64, cells: usize| {
            (high - low) / (cells.max(1) as f64 * map.spacing_m)
        };
        let (west, east) = (x.saturating_sub(1), (x + 1).min(w - 1));
        let (north, south) = (y.saturating_sub(1), (y + 1).min(h - 1));
        let east_up = slope(at(west, y), at(east, y), east - west);
        let south_up = slope(at(x, north), at(x, south), south - north);
        // A normal is (-dz/dx, -dz/dy, 1) with y to the north, and rows go to the south.
        let green = if green_down { -south_up } else { south_up };
        let length = (east_up * east_up + south_up * south_up + 1.0).sqrt();
        image::Rgb([-east_up, green, 1.0].map(|v| ((v / length + 1.0) * 127.5).round() as u8))
    })
}

/// The same heights in red, green and blue, 32-bit floats.
fn rgb(map: &Map) -> Result<Vec<u8>> {
    let width = map.width as usize;
    let at = |Vec2(x, y): Vec2<usize>| map.data[y * width + x];
    let channels =
        SpecificChannels::rgb(|position: Vec2<usize>| (at(position), at(position), at(position)));
    let image = Image::from_encoded_channels(
        (width, map.height as usize),
        Encoding::UNCOMPRESSED,
        channels,
    );
    let mut out = Cursor::new(vec![]);
    image.write().non_parallel().to_buffered(&mut out).map_err(unwritten)?;
    Ok(out.into_inner())
}

/// Maps as named channels, 32-bit floats.
fn channels(maps: &[(&str, &Map)]) -> Result<Vec<u8>> {
    let [(_, first), ..] = maps else { return Err(Error::param("no map to write")) };
    let channel = |(name, map): &(&str, &Map)| {
        AnyChannel::new(Text::from(*name), FlatSamples::F32(map.data.clone()))
    };
    let list: SmallVec<[_; 4]> = maps.iter().map(channel).collect();
    let size = (first.width as usize, first.height as usize);
    let layer = Layer::new(
        size,
        LayerAttributes::default(),
        Encoding::UNCOMPRESSED,
        AnyChannels::sort(list),
    );
    let mut out = Cursor::new(vec![]);
    Image::from_layer(layer).write().non_parallel().to_buffered(&mut out).map_err(unwritten)?;
    Ok(out.into_inner())
}

fn unwritten(e: ::exr::error::Error) -> Error {
    Error::limit(format!("this map cannot be written as EXR: {e}"))
}

//! The maps that a run can leave: one table, from which recipes, decoding, manifests and the page
//! of maps follow.

use crate::arith::{CELL, HEIGHT_END, LEDGER_WORDS, NOWHERE, THICKEST};
use crate::morphometry::HeightGrid;
use crate::site::{Layer, Scale};
use crate::water::Water;

/// A map that a run can leave: what it is called, what its values mean, where its words are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Field {
    /// Its name in recipes, manifests and file names.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: &'static str,
    /// What its values mean, in sentences.
    pub about: &'static str,
    /// How its words become values.
    pub decode: Decode,
    /// Which runs have it.
    pub origin: Origin,
    /// What becomes of it between two resolutions of the same land.
    pub resample: Resample,
    /// Where its words are when a run has ended.
    pub(crate) source: Source,
}

/// How the words of a field become values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decode {
    /// 2⁻¹⁸ cells above the datum; values in metres.
    Height,
    /// 2⁻¹⁸ cells; values in metres.
    Thickness,
    /// 2⁻¹⁶; values from 0 to 1.
    Fraction,
    /// A count without sign.
    Count,
    /// The number of a thing in a list, which is never scaled.
    Number,
    /// 65536 · red + 256 · green + blue.
    Colour,
    /// The bits of an `f32`.
    Float,
    /// An offset in cells, to the east in the low and to the south in the high 16 bits; values are
    /// its length in metres, −1 for none.
    Length,
    /// The same; values are its direction in degrees clockwise from north, −1 for none and for an
    /// offset of 0.
    Bearing,
}

/// Which runs have a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Every run.
    Every,
    /// Runs with a stage that lists the field in [`crate::stage::Stage::maps`].
    Stage,
    /// Runs with a stage that makes the layer.
    Layer(Layer),
    /// Runs with a stage that changes heights; it is read from the ledger, which is kept if the
    /// field is asked for.
    Ledger,
    /// Runs of recipes with a table `water`.
    Water,
    /// Runs of recipes with a table `materials`.
    Materials,
}

/// What becomes of a field between two resolutions of the same land.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resample {
    /// A smooth quantity: down by the mean of the neighbourhood, up by interpolation.
    Smooth,
    /// A number or a colour: down and up by the nearest cell.
    Nearest,
    /// It does not travel: it follows from the height of its own resolution.
    Derived,
}

/// Where the words of a field are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// One word of the `each` words that the buffer has for a cell.
    Word { buffer: &'static str, each: usize, word: usize },
    /// The difference of two such words.
    Difference { buffer: &'static str, each: usize, word: usize, less: usize },
    /// Computed from the final height on the host.
    Grid(fn(&HeightGrid) -> Vec<f32>),
    /// Computed from the water of the final height on the host, as words.
    Water(fn(&Water) -> Vec<i32>),
    /// The weight of a material, by its number in [`crate::materials::NAMES`], from other maps.
    Material(usize),
}

impl Source {
    const fn cell(buffer: &'static str) -> Self {
        Self::Word { buffer, each: 1, word: 0 }
    }

    const fn ledger(word: usize) -> Self {
        Self::Word { buffer: "ledger", each: LEDGER_WORDS, word }
    }
}

/// Every field, in the order in which recipes list them.
pub static FIELDS: [Field; 38] = [
    Field {
        name: "height",
        unit: "m",
        about: "Metres above the datum of the input, or above the recipe's 0. Words are multiples \
                of 2⁻¹⁸ of the spacing; 32-bit floats hold them exactly up to 64 cells from the \
                datum.",
        decode: Decode::Height,
        origin: Origin::Every,
        resample: Resample::Smooth,
        source: Source::cell("height"),
    },
    Field {
        name: "flow",
        unit: "particles that passed, counted once a step, or cells that drain here",
        about: "How many droplets, snowballs or grains passed, each counted once a step in the \
                nearest cell. The count grows with `rain`, `lifetime` and the length of the slope \
                above, so only its ratios compare between recipes; its mean is about `rain` · \
                `lifetime`, less what ran off over the border. After `incision` it is the \
                catchment area in cells, weighted by the layer `rain`. What comes from beyond the \
                border is missing; with `margin_cells` rivers come from there. If several stages \
                leave it, it is the last one's.",
        decode: Decode::Count,
        origin: Origin::Stage,
        resample: Resample::Smooth,
        source: Source::cell("flow"),
    },
    Field {
        name: "biome",
        unit: "number",
        about: "The number of the biome with the most weight, from 0 in the order of the recipe; \
                the manifest has the names. If two stages make biomes, it is the second's. As \
                `png`, `tif`, `exr` or `npy` it can be the `file` of another recipe's biomes.",
        decode: Decode::Number,
        origin: Origin::Stage,
        resample: Resample::Nearest,
        source: Source::cell("biome"),
    },
    Field {
        name: "biome_colour",
        unit: "0xRRGGBB",
        about: "The colours of the biomes, mixed by weight: 65536 · red + 256 · green + blue.",
        decode: Decode::Colour,
        origin: Origin::Stage,
        resample: Resample::Nearest,
        source: Source::cell("biome_colour"),
    },
    Field {
        name: "rain",
        unit: "0 to 1",
        about: "The share of a cell's droplets that fall on it, as earlier stages set it for later \
                ones. `layer` combines with the earlier values by its `combine`; `biomes` replaces \
                them everywhere, even where a biome has no value of its own. See \
                [stages.md](stages.md).",
        decode: Decode::Fraction,
        origin: Origin::Layer(Layer::Rain),
        resample: Resample::Smooth,
        source: Source::cell("rain"),
    },
    Field {
        name: "hardness",
        unit: "0 to 1",
        about: "The share of erosion that bedrock resists, made like `rain`.",
        decode: Decode::Fraction,
        origin: Origin::Layer(Layer::Hardness),
        resample: Resample::Smooth,
        source: Source::cell("hardness"),
    },
    Field {
        name: "vegetation",
        unit: "0 to 1",
        about: "The share of the ground that roots hold, made like `rain`.",
        decode: Decode::Fraction,
        origin: Origin::Layer(Layer::Vegetation),
        resample: Resample::Smooth,
        source: Source::cell("vegetation"),
    },
    Field {
        name: "uplift",
        unit: "0 to 1",
        about: "The share of `uplift_m` by which `incision` raises the land in a step, made like \
                `rain`.",
        decode: Decode::Fraction,
        origin: Origin::Layer(Layer::Uplift),
        resample: Resample::Smooth,
        source: Source::cell("uplift"),
    },
    Field {
        name: "sediment",
        unit: "m",
        about: "The thickness of loose material. Deposits are loose, and erosion takes loose \
                material first.",
        decode: Decode::Thickness,
        origin: Origin::Layer(Layer::Sediment),
        resample: Resample::Smooth,
        source: Source::ledger(1),
    },
    Field {
        name: "erosion",
        unit: "m",
        about: "The total lowering of a cell, over every step of every stage that changes heights. \
                Erosion and deposition can both be large, as where a river bed is filled and cut \
                again. The sum stops at 8192 cells of height; then `deposition` shrinks instead, \
                so that `change` stays true.",
        decode: Decode::Thickness,
        origin: Origin::Ledger,
        resample: Resample::Smooth,
        source: Source::ledger(2),
    },
    Field {
        name: "deposition",
        unit: "m",
        about: "The total raising of a cell, summed like `erosion`.",
        decode: Decode::Thickness,
        origin: Origin::Ledger,
        resample: Resample::Smooth,
        source: Source::ledger(3),
    },
    Field {
        name: "change",
        unit: "m",
        about: "`deposition` − `erosion`, positive where land was gained: the final height less \
                the height before the first of these stages. Rock that rises (`uplift_m`), the \
                roughness that a finer level begins with, generators behind that stage and ground \
                levelled around dungeon entrances are not in it; with levels, neither is what \
                strokes before the levels changed.",
        decode: Decode::Thickness,
        origin: Origin::Ledger,
        resample: Resample::Smooth,
        source: Source::Difference { buffer: "ledger", each: LEDGER_WORDS, word: 3, less: 2 },
    },
    Field {
        name: "slope",
        unit: "degrees",
        about: "The angle of the ground with the horizontal, 0 where level, by B. K. P. Horn's \
                gradient (*Hill shading and the reflectance map*, 1981), as in `gdaldem slope`.",
        decode: Decode::Float,
        origin: Origin::Every,
        resample: Resample::Derived,
        source: Source::Grid(|grid| grid.slope()),
    },
    Field {
        name: "aspect",
        unit: "degrees clockwise from north, -1 where level",
        about: "The direction in which the ground falls, by the same gradient, as in `gdaldem \
                aspect`: 0 north, 90 east, 180 south, 270 west, always below 360; −1 on level \
                ground.",
        decode: Decode::Float,
        origin: Origin::Every,
        resample: Resample::Derived,
        source: Source::Grid(|grid| grid.aspect()),
    },
    Field {
        name: "curvature",
        unit: "1/m",
        about: "Minus the sum of the second differences from west to east and from north to south: \
                −2 (D + E) of L. W. Zevenbergen and C. R. Thorne's quadric (*Quantitative analysis \
                of land surface topography*, 1987). It is positive on ridges and tops, negative in \
                valleys and pits, 0 on a plane, and 2 / r on top of a sphere of radius r. Some \
                programs multiply it by 100.",
        decode: Decode::Float,
        origin: Origin::Every,
        resample: Resample::Derived,
        source: Source::Grid(|grid| grid.curvature()),
    },
    Field {
        name: "sky_view",
        unit: "0 to 1",
        about: "The sky-view factor, the share of the sky that the surrounding ground leaves free: \
                1 on a plain or a summit, low in gorges and at the feet of cliffs. It is one minus \
                the mean sine of the horizon's angle in 16 directions, within 32 cells (K. Zakšek, \
                K. Oštir, Ž. Kokalj, *Sky-view factor as a relief visualization technique*, 2011). \
                It serves as ambient occlusion, and as shading without a light direction.",
        decode: Decode::Float,
        origin: Origin::Every,
        resample: Resample::Derived,
        source: Source::Grid(|grid| grid.sky()),
    },
    Field {
        name: "water_depth",
        unit: "m",
        about: "The depth of the sea and lakes; 0 on dry ground, in puddles and in rivers (see \
                `river_depth`). No map of water has inflow over the border. See \
                [water.md](water.md).",
        decode: Decode::Thickness,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::depth),
    },
    Field {
        name: "water_level",
        unit: "m",
        about: "The surface of the sea and lakes; elsewhere the ground. It never rises along the \
                flow: where water breaches a rim it is below the height, and over a puddle it is \
                level with the rim.",
        decode: Decode::Height,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(|water| water.surface.clone()),
    },
    Field {
        name: "drainage_area",
        unit: "m²",
        about: "The area that drains through a cell, itself included, each cell weighted by the \
                layer `rain`. Water goes to the neighbour of steepest descent on `water_level` \
                (D8); with `routing = \"lowest\"` to the lowest of the eight, with `area_routing = \
                \"mfd\"` to all lower ones.",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::drainage_area),
    },
    Field {
        name: "flow_direction",
        unit: "code",
        about: "Where the water of a cell goes: 1 to the east, 2 south-east, 4 south, 8 \
                south-west, 16 west, 32 north-west, 64 north, 128 north-east; 0 over the border, \
                in the sea and in a depression that keeps its water. These are the codes of GIS \
                programs (D8).",
        decode: Decode::Count,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::flow_direction),
    },
    Field {
        name: "stream_order",
        unit: "order",
        about: "The order of rivers by A. N. Strahler (*Quantitative analysis of watershed \
                geomorphology*, 1957), also across lakes; 0 elsewhere. Rivers begin at \
                `channel_area_km2` of drainage area.",
        decode: Decode::Count,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::stream_order),
    },
    Field {
        name: "basin",
        unit: "number",
        about: "The number of the mouth to which a cell drains: on the border, at the shore of the \
                sea, or in a depression that keeps its water. Mouths count from 1 in the order of \
                the map; the sea has 0.",
        decode: Decode::Count,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::basins),
    },
    Field {
        name: "river_width",
        unit: "m",
        about: "The width of rivers, by `law`: `width_m` times the square root of the discharge in \
                m³/s; 0 elsewhere. See [water.md](water.md).",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::river_width),
    },
    Field {
        name: "river_depth",
        unit: "m",
        about: "The mean depth of rivers, by `law`: `depth_m` times the discharge in m³/s to the \
                power 0.4 or 0.3; 0 elsewhere.",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::river_depth),
    },
    Field {
        name: "river_velocity",
        unit: "m/s",
        about: "The mean velocity of rivers, discharge / (width · depth); 0 elsewhere.",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::river_velocity),
    },
    Field {
        name: "river_discharge",
        unit: "m³/s",
        about: "The discharge of rivers: `runoff_mm` a year from the D8 drainage area, less what \
                lakes lose; 0 elsewhere.",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::river_discharge),
    },
    Field {
        name: "distance_to_water",
        unit: "m",
        about: "The distance to the nearest cell with a river, a lake, a puddle or the sea, from \
                middle to middle; 0 there, −1 where the map has none.",
        decode: Decode::Float,
        origin: Origin::Water,
        resample: Resample::Derived,
        source: Source::Water(Water::distance),
    },
    Field {
        name: "coast_distance",
        unit: "m",
        about: "The distance to the nearest cell of the coast, from middle to middle, on land and \
                at sea: 0 on the coast, −1 where none is within `within_cells` cells. Words are \
                the offsets to that cell, so squared distances are exact. See \
                [coasts.md](coasts.md).",
        decode: Decode::Length,
        origin: Origin::Stage,
        resample: Resample::Derived,
        source: Source::cell("coast"),
    },
    Field {
        name: "coast_direction",
        unit: "degrees clockwise from north, -1 on the coast and without one",
        about: "The direction to the nearest cell of the coast: 0 north, 90 east, 180 south, 270 \
                west, always below 360. It has the words of `coast_distance`.",
        decode: Decode::Bearing,
        origin: Origin::Stage,
        resample: Resample::Derived,
        source: Source::cell("coast"),
    },
    Field {
        name: "beach",
        unit: "0 to 1",
        about: "How much of the ground is beach: low, gentle land near the coast.",
        decode: Decode::Fraction,
        origin: Origin::Stage,
        resample: Resample::Derived,
        source: Source::cell("beach"),
    },
    Field {
        name: "grass",
        unit: "0 to 1",
        about: "The share of grass: what nothing else covers. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(0),
    },
    Field {
        name: "forest",
        unit: "0 to 1",
        about: "The share of forest: by default on slopes that trees stand on, below the tree line. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(1),
    },
    Field {
        name: "gravel",
        unit: "0 to 1",
        about: "The share of gravel: beds and banks. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(2),
    },
    Field {
        name: "sand",
        unit: "0 to 1",
        about: "The share of sand: shores of the sea, and deposits on level ground. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(3),
    },
    Field {
        name: "wet",
        unit: "0 to 1",
        about: "The share of wet ground: where water gathers. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(4),
    },
    Field {
        name: "scree",
        unit: "0 to 1",
        about: "The share of scree: below cliffs. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(5),
    },
    Field {
        name: "rock",
        unit: "0 to 1",
        about: "The share of bare rock: steep ground. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(6),
    },
    Field {
        name: "snow",
        unit: "0 to 1",
        about: "The share of snow: high ground that is not too steep. See \
                [materials.md](materials.md).",
        decode: Decode::Fraction,
        origin: Origin::Materials,
        resample: Resample::Derived,
        source: Source::Material(7),
    },
];

/// The field called `name`.
pub fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

impl Field {
    /// The word at which its values stop, where they do.
    pub(crate) fn end(&self) -> Option<i64> {
        match (self.decode, self.origin) {
            (Decode::Height, _) => Some(HEIGHT_END.into()),
            (Decode::Thickness, Origin::Layer(_)) => Some(THICKEST.into()),
            (Decode::Thickness, _) => Some(i32::MAX.into()),
            _ => None,
        }
    }

    /// The values of words of this field.
    pub fn values(&self, words: &[i32], scale: &Scale) -> Vec<f32> {
        let mut values = vec![0.0; words.len()];
        self.values_into(words, scale, &mut values);
        values
    }

    /// The same in memory that is there. What is longer of the two is left alone.
    pub fn values_into(&self, words: &[i32], scale: &Scale, values: &mut [f32]) {
        fn fill(words: &[i32], values: &mut [f32], of: impl Fn(i32) -> f32) {
            values.iter_mut().zip(words).for_each(|(value, word)| *value = of(*word));
        }
        let metres = scale.spacing_m / CELL as f64;
        match self.decode {
            Decode::Height => fill(words, values, |w| scale.height_m(f64::from(w)) as f32),
            Decode::Thickness => fill(words, values, |w| (f64::from(w) * metres) as f32),
            Decode::Fraction => fill(words, values, |w| w as f32 / 65536.0),
            Decode::Count | Decode::Number | Decode::Colour => {
                fill(words, values, |w| w as u32 as f32)
            }
            Decode::Float => fill(words, values, |w| f32::from_bits(w as u32)),
            Decode::Length => fill(words, values, |w| {
                length(w).map_or(-1.0, |cells| (cells * scale.spacing_m) as f32)
            }),
            Decode::Bearing => {
                fill(words, values, |w| bearing(w).map_or(-1.0, |degrees| degrees as f32))
            }
        }
    }
}

/// An offset to the east and to the south, in cells; none if the word says that there is none.
fn offset(word: i32) -> Option<[f64; 2]> {
    (word != NOWHERE).then(|| [f64::from(word as i16), f64::from(word >> 16)])
}

fn length(word: i32) -> Option<f64> {
    offset(word).map(|[east, south]| (east * east + south * south).sqrt())
}

fn bearing(word: i32) -> Option<f64> {
    let [east, south] = offset(word).filter(|_| word != 0)?;
    let degrees = libm::atan2(east, -south).to_degrees();
    Some(if degrees < 0.0 { degrees + 360.0 } else { degrees })
}

//! Tiles as XYZ: what a result's and a world's have in common. Their places, layers and encodings,
//! the pixels, and the answers.

use super::extract::Path as Place;
use super::problem::{Answer, Problem};
use super::results::{media_type, sizes, unchanging};
use crate::field::{Decode, Field};
use crate::io::{Elevation, encode_picture};
use crate::map::Map;
use crate::params::rounded;
use crate::render::{Style, coloured};
use crate::tiles::tilejson as described;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use image::{Rgb, RgbImage};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;

/// Pixels of a side of a tile.
pub const SIDE: u32 = 256;
/// Bytes of tiles that are kept in memory.
const KEPT: u64 = 64 << 20;
/// Metres round the equator of the Web Mercator map.
pub const EQUATOR_M: f64 = 2.0 * std::f64::consts::PI * 6_378_137.0;
/// The layer of light and shade, which is a picture and no map.
pub const HILLSHADE: &str = "hillshade";

/// Tiles in memory, by address.
pub type Kept = moka::sync::Cache<String, Arc<Tile>>;

/// A memory for tiles.
pub fn kept() -> Kept {
    moka::sync::Cache::builder()
        .max_capacity(KEPT)
        .weigher(|key: &String, tile: &Arc<Tile>| (key.len() + tile.bytes.len() + 128) as u32)
        .build()
}

/// A tile.
pub struct Tile {
    /// What is sent.
    pub bytes: Bytes,
    /// Metres of a pixel.
    pub spacing_m: f64,
    /// What 0 and the highest integer stand for, where values became integers by a range.
    pub range: Option<(f32, f32)>,
}

#[derive(Deserialize, IntoParams)]
pub struct Coding {
    /// How a PNG holds values: `terrarium` (steps of 1/256 m), `terrain-rgb` (steps of 0.1 m),
    /// `grey` (8 bits of the map's range) or `colours`. Without it: `terrarium` for metres,
    /// `colours` for pictures, biomes and colours, `grey` for others.
    pub encoding: Option<String>,
}

/// Where a tile lies.
#[derive(Clone, Copy)]
pub struct At {
    pub zoom: u32,
    pub x: u32,
    pub y: u32,
}

/// The parts of a tile's address: what it is of, the layer, z, x, and y with its form.
pub type Parts = Place<(String, String, String, String, String)>;

/// What a tile's address says.
pub struct Address {
    /// The digest of the result or the world.
    pub digest: String,
    pub layer: String,
    pub at: At,
    /// `png`, `r32` …
    pub form: String,
    /// The encoding that was asked for.
    pub encoding: Option<String>,
    /// The name of these bytes, which never changes its meaning.
    pub key: String,
}

impl Address {
    /// Of the parts of a path, where these forms are served. `of` is what the tiles are of, such as
    /// `worlds`, with what else the bytes depend on.
    pub fn of(
        Place((digest, layer, z, x, y)): Parts,
        forms: &[&str],
        coding: Coding,
        of: &str,
    ) -> Answer<Self> {
        let nowhere = || {
            let forms: Vec<String> = forms.iter().map(|form| format!(".{form}")).collect();
            Problem::missing(format!("tiles are at /tiles/LAYER/Z/X/Y{}", forms.join(" or ")))
        };
        let (y, form) =
            y.split_once('.').filter(|(_, form)| forms.contains(form)).ok_or_else(nowhere)?;
        let number = |text: &str| {
            // One spelling of each number, so that a tile has one address: no `+1` and no `01`.
            text.parse::<u32>().ok().filter(|n| n.to_string() == text).ok_or_else(nowhere)
        };
        let at = At { zoom: number(&z)?, x: number(&x)?, y: number(y)? };
        let encoding = coding.encoding;
        let coded = encoding.as_deref().unwrap_or("-");
        let key = format!("{of}/{digest}/{layer}/{z}/{x}/{y}.{form}/{coded}");
        Ok(Self { digest, layer, at, form: form.into(), encoding, key })
    }

    /// The answer that has the tile.
    pub fn answer(&self, headers: &HeaderMap, tile: &Tile) -> Response {
        let name = format!("tile.{}", self.form);
        let mut response = unchanging(headers, &self.key, media_type(&name), tile.bytes.clone());
        sizes(&mut response, [SIDE, SIDE], tile.spacing_m);
        if let Some((low, high)) = tile.range
            && let Ok(value) = HeaderValue::from_str(&format!("{low} {high}"))
        {
            response.headers_mut().insert("thalweg-range", value);
        }
        response
    }
}

/// What a tile shows.
#[derive(Clone, Copy)]
pub enum Layer {
    Field(&'static Field),
    Picture(&'static str),
}

impl Layer {
    /// What it is, for people.
    pub fn about(self) -> String {
        match self {
            Self::Field(field) => format!("{} ({})", field.name, field.unit),
            Self::Picture(name) => name.into(),
        }
    }
}

/// How values become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Elevation(Elevation),
    Grey,
    Colours,
}

impl Encoding {
    const ALL: [(&str, Self); 4] = [
        ("terrarium", Self::Elevation(Elevation::Terrarium)),
        ("terrain-rgb", Self::Elevation(Elevation::TerrainRgb)),
        ("grey", Self::Grey),
        ("colours", Self::Colours),
    ];

    /// How a layer is shown. What is `whole` has a range for grey and a palette for colours.
    pub fn of(layer: Layer, asked: Option<&str>, whole: bool) -> Answer<Self> {
        let [terrarium, terrain_rgb, grey, colours] = Self::ALL.map(|(_, encoding)| encoding);
        let decode = match layer {
            Layer::Picture(_) => None,
            Layer::Field(field) => Some(field.decode),
        };
        let allowed: &[Self] = match decode {
            None => &[colours],
            Some(Decode::Colour | Decode::Number) if whole => &[colours],
            Some(Decode::Height | Decode::Thickness) if whole => &[terrarium, terrain_rgb, grey],
            Some(_) if whole => &[grey, terrarium, terrain_rgb],
            Some(Decode::Height | Decode::Thickness) => &[terrarium, terrain_rgb],
            Some(_) if asked.is_none() => {
                return Err(Problem::bad(
                    "a map that is no height has no colours of its own here, since a world has no \
                     range: take .r32, or encoding=terrarium or terrain-rgb",
                ));
            }
            Some(_) => &[terrarium, terrain_rgb],
        };
        let Some(asked) = asked else { return Ok(allowed[0]) };
        let found =
            Self::ALL.iter().find(|(name, _)| *name == asked).map(|(_, encoding)| *encoding);
        found.filter(|encoding| allowed.contains(encoding)).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL
                .iter()
                .filter(|(_, encoding)| allowed.contains(encoding))
                .map(|(name, _)| *name)
                .collect();
            Problem::bad(format!(
                "encoding = {asked:?}: allowed for this layer {}",
                names.join(", ")
            ))
        })
    }

    /// Its name, as TileJSON has it.
    fn name(self) -> &'static str {
        match self {
            Self::Elevation(elevation) => elevation.name(),
            other => Self::ALL.iter().find(|(_, known)| *known == other).map_or("", |(n, _)| n),
        }
    }
}

/// The samples of a tile as little-endian float32.
pub fn samples(map: &Map) -> Vec<u8> {
    map.data.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A tile whose colours are numbers.
pub fn numbers(map: &Map, elevation: Elevation) -> crate::Result<Vec<u8>> {
    let pixel = |x: u32, y: u32| Rgb(elevation.rgb(map.data[(y * SIDE + x) as usize]));
    encode_picture(RgbImage::from_fn(SIDE, SIDE, pixel))
}

/// Light and shade of heights.
pub fn hillshade(map: &Map, style: &Style) -> crate::Result<RgbImage> {
    let grey = Map { data: vec![0xd8_d8_d8 as f32; map.data.len()], ..map.clone() };
    coloured(map, &grey, &Style { sea_level_m: None, relief: 1.0, ..style.clone() })
}

/// What is tiled, for its TileJSON.
pub struct Tiled<'a> {
    /// The path of its tiles from `/v1` on, up to the layer.
    pub path: String,
    /// The first pixel of the last zoom that it has, and how many pixels it has there.
    pub first: [u32; 2],
    pub size: [u32; 2],
    /// The first and the last zoom.
    pub zooms: [u32; 2],
    pub spacing_m: f64,
    /// What the address of a tile ends with: names and values.
    pub asked: [(&'a str, &'a Option<String>); 2],
}

impl Tiled<'_> {
    /// The TileJSON of a layer, as the host of a request has it.
    pub fn json(&self, layer: Layer, name: &str, encoding: Encoding, headers: &HeaderMap) -> Value {
        // The guard has let the name pass.
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
        let asked: Vec<String> = self
            .asked
            .iter()
            .filter_map(|(key, value)| Some(format!("{key}={}", (*value).as_ref()?)))
            .collect();
        let suffix = if asked.is_empty() { String::new() } else { format!("?{}", asked.join("&")) };
        let mut json = described(self.first, self.size, SIDE, self.zooms);
        json["name"] = json!(layer.about());
        json["tiles"] =
            json!([format!("http://{host}/v1/{}/{name}/{{z}}/{{x}}/{{y}}.png{suffix}", self.path)]);
        json["encoding"] = json!(encoding.name());
        json["spacing_m"] = json!(self.spacing_m);
        json["exaggeration"] = json!(exaggeration(&json, self.spacing_m));
        json
    }
}

/// What the heights of a land are multiplied by so that they fit its width on the map: the metres
/// of the map that a cell takes in the land's middle.
fn exaggeration(described: &Value, spacing_m: f64) -> f64 {
    let number =
        |pointer: &str| described.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
    let pixel_m = EQUATOR_M * libm::cos(number("/center/1").to_radians())
        / (f64::from(SIDE) * libm::exp2(number("/maxzoom")));
    rounded(pixel_m / spacing_m)
}

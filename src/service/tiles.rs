//! Tiles of a result: squares of 256 pixels, addressed as XYZ. Zoom 0 has all of the land, and at
//! the last zoom a pixel is a cell.
//!
//! A map of a result becomes a pyramid of files when its first tile is wanted: each next one is
//! half as wide, by the mean of 2 × 2 cells for smooth quantities and by the north-western cell for
//! others. A tile reads its rows from one of them.

use super::extract::{Path as Place, Query};
use super::problem::{Answer, Problem};
use super::results::open;
use super::xyz::{
    Address, At, Coding, EQUATOR_M, Encoding, HILLSHADE, Layer, Parts, SIDE, Tile, Tiled,
    hillshade, numbers, samples,
};
use super::{Service, Shared, blocking};
use crate::api::files::is_digest;
use crate::field::{Decode, Field, Resample};
use crate::io::encode_picture;
use crate::job::Maps;
use crate::map::Map;
use crate::render::{Style, coloured, grey, shaded};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use image::{GrayAlphaImage, LumaA, Rgba, RgbaImage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use utoipa::IntoParams;

/// Removes a folder that did not come whole.
struct ScratchFolder(PathBuf);

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Layers that are pictures, and no maps.
const PICTURES: [&str; 2] = [HILLSHADE, "colours"];

#[derive(Deserialize, IntoParams)]
pub struct Laid {
    /// `corner` lays the land on the whole map from its north-western corner on, `equator` lays it
    /// in about its true size to the south-east of 0° N, 0° E, where the map keeps shapes and
    /// heights.
    #[param(default = "corner")]
    at: Option<String>,
}

/// Where tiles lie on the Web Mercator map: zooms that come before the land's own, and the land's
/// first pixel at the last zoom.
#[derive(Clone, Copy)]
struct Laying {
    before: u32,
    first: u32,
}

impl Laying {
    fn of(laid: &Laid, spacing_m: f64, last: u32) -> Answer<Self> {
        match laid.at.as_deref() {
            None | Some("corner") => Ok(Self { before: 0, first: 0 }),
            Some("equator") => {
                // The zoom whose pixels at the equator are nearest to a cell, of those that have
                // the land in a quarter of the map.
                let zoom = libm::log2(EQUATOR_M / (f64::from(SIDE) * spacing_m)).round();
                let zoom = zoom.min(24.0).max(f64::from(last + 1)) as u32;
                Ok(Self { before: zoom - last, first: SIDE << (zoom - 1) })
            }
            Some(other) => Err(Problem::bad(format!("at = {other:?}: allowed corner, equator"))),
        }
    }

    /// The place of a tile among those of the land.
    fn own(self, at: At) -> Option<At> {
        let zoom = at.zoom.checked_sub(self.before)?;
        // The land begins in the middle of the map, so half of the zoom's tiles come before it.
        let first = if self.before == 0 { 0 } else { 1 << (at.zoom - 1) };
        Some(At { zoom, x: at.x.checked_sub(first)?, y: at.y.checked_sub(first)? })
    }
}

/// A layer of a result.
fn layer_of(maps: &Maps, name: &str) -> Answer<Layer> {
    match PICTURES.iter().find(|known| **known == name) {
        Some(name) => Ok(Layer::Picture(name)),
        None => maps.field(name).map(Layer::Field).map_err(|e| Problem { status: 404, ..e.into() }),
    }
}

/// The last zoom: a pixel is a cell there.
fn zoom_max([width, height]: [u32; 2]) -> u32 {
    width.max(height).div_ceil(SIDE).next_power_of_two().ilog2()
}

/// A map in halves.
struct Pyramid {
    folder: PathBuf,
    head: Head,
}

#[derive(Serialize, Deserialize)]
struct Head {
    size: [u32; 2],
    range: (f32, f32),
}

impl Head {
    /// The size of the map halved so often.
    fn at(&self, halvings: u32) -> [u32; 2] {
        self.size.map(|side| side.div_ceil(1 << halvings))
    }
}

const HEAD: &str = "head.json";

impl Pyramid {
    /// The pyramid of a map, which is made if it is not there.
    fn of(
        service: &Service,
        digest: &str,
        folder: &Path,
        maps: &Maps,
        field: &'static Field,
    ) -> Answer<Self> {
        let place = folder.join("pyramids").join(field.name);
        let read = || -> Option<Head> {
            serde_json::from_slice(&std::fs::read(place.join(HEAD)).ok()?).ok()
        };
        if let Some(head) = read() {
            return Ok(Self { folder: place, head });
        }
        // One is made at a time: maps are large.
        let _making = service.pyramids.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have made it while this one waited.
        if let Some(head) = read() {
            return Ok(Self { folder: place, head });
        }
        let scratch =
            ScratchFolder(folder.join("pyramids").join(format!("new-{}", service.number())));
        let new = &scratch.0;
        std::fs::create_dir_all(new)?;
        let map = maps.map(field.name)?;
        let head = Head { size: [map.width, map.height], range: map.min_max() };
        let mut values = map.data;
        for halvings in 0..=zoom_max(head.size) {
            if halvings > 0 {
                values = halved(&values, head.at(halvings - 1), field.resample == Resample::Smooth);
            }
            let mut file = File::create(new.join(format!("{halvings}.r32")))?;
            for piece in values.chunks(1 << 16) {
                file.write_all(&piece.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
            }
        }
        // The folder is renamed when all is in it, so whoever finds the head finds the rest.
        std::fs::write(new.join(HEAD), serde_json::to_vec(&head)?)?;
        let _ = std::fs::remove_dir_all(&place);
        std::fs::rename(new, &place)?;
        service.store.grown(digest, service.limits.disk_bytes);
        Ok(Self { folder: place, head })
    }

    /// The values of a tile with a border, whose width is in pixels. Beyond the land its edge goes
    /// on.
    fn read(&self, at: &At, border: u32) -> Answer<Map> {
        let halvings = zoom_max(self.head.size) - at.zoom;
        let [width, height] = self.head.at(halvings);
        let side = (SIDE + 2 * border) as usize;
        let mut file = File::open(self.folder.join(format!("{halvings}.r32")))?;
        let first = |tile: u32| i64::from(tile) * i64::from(SIDE) - i64::from(border);
        let (left, top) = (first(at.x), first(at.y));
        let within = |at: i64, side: u32| at.clamp(0, i64::from(side) - 1) as usize;
        let (from, to) = (within(left, width), within(left + side as i64 - 1, width));
        // Of each row only the part on the land is read.
        let mut line = vec![0; (to - from + 1) * 4];
        let mut data = Vec::with_capacity(side * side);
        for row in 0..side as i64 {
            let row = within(top + row, height);
            file.seek(SeekFrom::Start(((row * width as usize + from) * 4) as u64))?;
            file.read_exact(&mut line)?;
            let values: Vec<f32> =
                line.as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect();
            data.extend((0..side as i64).map(|column| values[within(left + column, width) - from]));
        }
        let (width, height) = (side as u32, side as u32);
        Ok(Map { width, height, spacing_m: 1.0, data, range_m: None, georef: None })
    }
}

/// A map of half the width and height.
fn halved(values: &[f32], [width, height]: [u32; 2], smooth: bool) -> Vec<f32> {
    let (w, h) = (width as usize, height as usize);
    let cell = |x: usize, y: usize| {
        if !smooth {
            // A mean of two biomes would be the number of a third.
            return values[2 * y * w + 2 * x];
        }
        // At an odd edge there are fewer.
        let rows =
            (2 * y..(2 * y + 2).min(h)).map(|row| &values[row * w..][2 * x..(2 * x + 2).min(w)]);
        let (sum, count) =
            rows.flatten().fold((0.0, 0), |(sum, count), v| (sum + f64::from(*v), count + 1));
        (sum / f64::from(count)) as f32
    };
    (0..h.div_ceil(2))
        .flat_map(|y| (0..w.div_ceil(2)).map(move |x| (x, y)))
        .map(|(x, y)| cell(x, y))
        .collect()
}

/// Makes a tile.
fn make(service: &Service, address: &Address, laid: &Laid) -> Answer<Tile> {
    let (digest, at, form) = (&address.digest, address.at, address.form.as_str());
    let asked = address.encoding.as_deref();
    let (folder, _) = open(service, digest)?;
    let maps = Maps::open(folder.join("words"))?;
    let layer = layer_of(&maps, &address.layer)?;
    let (size, last) = (maps.size(), zoom_max(maps.size()));
    let laying = Laying::of(laid, maps.spacing_m(), last)?;
    let [first, end] = [0, last].map(|zoom| zoom + laying.before);
    let missing = || {
        Problem::missing(format!(
            "tile {}/{}/{}: the land has none; its zooms are {first} to {end}",
            at.zoom, at.x, at.y
        ))
    };
    if at.zoom > end {
        return Err(missing());
    }
    let at = &laying.own(at).ok_or_else(missing)?;
    let [width, height] = size.map(|side| side.div_ceil(1 << (last - at.zoom)));
    if u64::from(at.x) * u64::from(SIDE) >= u64::from(width)
        || u64::from(at.y) * u64::from(SIDE) >= u64::from(height)
    {
        return Err(missing());
    }
    let land = Land {
        service,
        digest,
        folder: &folder,
        maps: &maps,
        at,
        size: [width, height],
        spacing_m: maps.spacing_m() * f64::from(1u32 << (last - at.zoom)),
    };
    match (form, layer) {
        ("png", _) => {
            let encoding = Encoding::of(layer, asked, true)?;
            match layer {
                Layer::Field(field) => land.encoded(field, encoding),
                Layer::Picture(kind) => land.drawn(kind),
            }
        }
        _ if asked.is_some() => Err(Problem::bad("encoding: only a tile.png has one")),
        (_, Layer::Field(field)) => land.values(field, form),
        (_, Layer::Picture(_)) => Err(Problem::missing("a picture has tiles of .png alone")),
    }
}

/// A land of which a tile is made.
struct Land<'a> {
    service: &'a Service,
    digest: &'a str,
    folder: &'a Path,
    maps: &'a Maps,
    at: &'a At,
    /// Width and height in pixels at the tile's zoom.
    size: [u32; 2],
    spacing_m: f64,
}

impl Land<'_> {
    fn pyramid(&self, name: &str) -> Answer<Pyramid> {
        let field = self.maps.field(name)?;
        Pyramid::of(self.service, self.digest, self.folder, self.maps, field)
    }

    /// 255 on the land, and 0 beyond it, where pixels are clear.
    fn alpha(&self, x: u32, y: u32) -> u8 {
        let inside = self.at.x * SIDE + x < self.size[0] && self.at.y * SIDE + y < self.size[1];
        if inside { 255 } else { 0 }
    }

    fn tile(&self, bytes: Vec<u8>, range: Option<(f32, f32)>) -> Tile {
        Tile { bytes: bytes.into(), spacing_m: self.spacing_m, range }
    }

    /// The values of a map without a picture: floats, or 16 bits over the range of the whole map,
    /// so that tiles fit together.
    fn values(&self, field: &Field, form: &str) -> Answer<Tile> {
        let pyramid = self.pyramid(field.name)?;
        let map = pyramid.read(self.at, 0)?;
        if form == "r32" {
            return Ok(self.tile(samples(&map), None));
        }
        let (low, high) = pyramid.head.range;
        // A level map has no range to divide by; its values become 0.
        let steps = 65535.0 / (f64::from(high) - f64::from(low)).max(f64::MIN_POSITIVE);
        let step =
            |v: &f32| (((f64::from(*v) - f64::from(low)) * steps).round() as u16).to_le_bytes();
        Ok(self.tile(map.data.iter().flat_map(step).collect(), Some((low, high))))
    }

    /// A map as a picture of its values.
    fn encoded(&self, field: &Field, encoding: Encoding) -> Answer<Tile> {
        let pyramid = self.pyramid(field.name)?;
        let map = pyramid.read(self.at, 0)?;
        match encoding {
            Encoding::Grey => {
                let (low, high) = pyramid.head.range;
                let range = Some((low.into(), high.into()));
                let grey = grey(&map, range, field.decode == Decode::Count);
                let clear = |x, y| LumaA([grey.get_pixel(x, y).0[0], self.alpha(x, y)]);
                let picture = encode_picture(GrayAlphaImage::from_fn(SIDE, SIDE, clear))?;
                Ok(self.tile(picture, Some((low, high))))
            }
            Encoding::Elevation(elevation) => Ok(self.tile(numbers(&map, elevation)?, None)),
            Encoding::Colours => {
                let colour = |v: f32| match field.decode {
                    Decode::Number => {
                        self.maps.palette().get(v as usize).copied().unwrap_or_default()
                    }
                    _ => {
                        // A colour has 24 bits, and red the highest.
                        let [_, red, green, blue] = (v as u32).to_be_bytes();
                        [red, green, blue]
                    }
                };
                self.coloured(|x, y| colour(map.data[(y * SIDE + x) as usize]))
            }
        }
    }

    /// A shaded picture of the land.
    fn drawn(&self, kind: &str) -> Answer<Tile> {
        // A border, so that slopes go on from tile to tile.
        let height = self.pyramid("height")?;
        let (low, high) = height.head.range;
        let map = Map { spacing_m: self.spacing_m, ..height.read(self.at, 1)? };
        let style = Style {
            sea_level_m: self.maps.sea_level_m(),
            range_m: Some((low.into(), high.into())),
            ..Style::default()
        };
        let picture = match kind {
            HILLSHADE => hillshade(&map, &style)?,
            _ if self.maps.field("biome_colour").is_ok() => {
                coloured(&map, &self.pyramid("biome_colour")?.read(self.at, 1)?, &style)?
            }
            _ => shaded(&map, &style),
        };
        self.coloured(|x, y| picture.get_pixel(x + 1, y + 1).0)
    }

    fn coloured(&self, colour: impl Fn(u32, u32) -> [u8; 3]) -> Answer<Tile> {
        let pixel = |x: u32, y: u32| {
            let [red, green, blue] = colour(x, y);
            Rgba([red, green, blue, self.alpha(x, y)])
        };
        Ok(self.tile(encode_picture(RgbaImage::from_fn(SIDE, SIDE, pixel))?, None))
    }
}

/// A tile of a result
///
/// The layer is a map (`height`, `flow`, `slope` …), `hillshade` or `colours`. A `.png` has values
/// as its encoding says, `.r16` has them as little-endian 16-bit integers over the range of the
/// whole map (`Thalweg-Range`), `.r32` as little-endian float32. Pixels beyond the land are clear
/// where there is an alpha channel, and else go on as its edge.
#[utoipa::path(get, path = "/v1/results/{digest}/tiles/{layer}/{z}/{x}/{y}",
    params(("digest" = String, Path), ("layer" = String, Path), ("z" = u32, Path),
        ("x" = u32, Path), ("y" = String, Path, description = "A number with .png, .r16 or .r32."),
        Coding, Laid), tag = "tiles",
        responses((status = 200, description = "The tile.",
            content((Vec<u8> = "image/png"), (Vec<u8> = "application/octet-stream"))),
            (status = 304, description = "It is what the client has."),
            (status = 404, description = "The land has no such tile.", body = Problem,
                content_type = "application/problem+json")))]
pub async fn tile(
    State(service): State<Shared>,
    parts: Parts,
    Query(coding): Query<Coding>,
    Query(laid): Query<Laid>,
    headers: HeaderMap,
) -> Answer<Response> {
    let of = format!("results/{}", laid.at.as_deref().unwrap_or("corner"));
    let address = Arc::new(Address::of(parts, &["png", "r16", "r32"], coding, &of)?);
    let tile = match service.tiles.get(&address.key) {
        Some(tile) => {
            // A land whose tiles all come from memory is wanted, too.
            if !service.store.is_touched(&address.digest) {
                let (service, address) = (service.clone(), address.clone());
                blocking(move || {
                    service.store.touch(&address.digest);
                    Ok(())
                })
                .await?;
            }
            tile
        }
        None => {
            let slot =
                service.tile_permits.clone().acquire_owned().await.map_err(Problem::fault)?;
            let (service, address) = (service.clone(), address.clone());
            blocking(move || {
                let _slot = slot;
                // Another may have made it while this one waited.
                if let Some(tile) = service.tiles.get(&address.key) {
                    return Ok(tile);
                }
                let tile = Arc::new(make(&service, &address, &laid)?);
                service.tiles.insert(address.key.clone(), tile.clone());
                Ok(tile)
            })
            .await?
        }
    };
    Ok(address.answer(&headers, &tile))
}

/// What a layer's tiles are, as TileJSON 3.0.0
///
/// The land is a plane and has no place on Earth, so it is laid on the square of the Web Mercator
/// map from its north-western corner on, or in about its true size at the equator. `exaggeration`
/// is what heights are multiplied by so that they fit the width of the land in the middle of its
/// bounds.
#[utoipa::path(get, path = "/v1/results/{digest}/tiles/{layer}/tilejson.json",
    params(("digest" = String, Path), ("layer" = String, Path), Coding, Laid), tag = "tiles",
    responses((status = 200, description = "The TileJSON.", body = Value),
        (status = 404, description = "There is no such result or layer.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn tilejson(
    State(service): State<Shared>,
    Place((digest, name)): Place<(String, String)>,
    Query(coding): Query<Coding>,
    Query(laid): Query<Laid>,
    headers: HeaderMap,
) -> Answer<Json<Value>> {
    blocking(move || {
        if !is_digest(&digest) {
            return Err(Problem::missing("there is no such result"));
        }
        let (folder, meta) = open(&service, &digest)?;
        let maps = Maps::open(folder.join("words"))?;
        let layer = layer_of(&maps, &name)?;
        let encoding = Encoding::of(layer, coding.encoding.as_deref(), true)?;
        let (size, last) = (maps.size(), zoom_max(maps.size()));
        let laying = Laying::of(&laid, maps.spacing_m(), last)?;
        let tiled = Tiled {
            path: format!("results/{digest}/tiles"),
            first: [laying.first; 2],
            size,
            zooms: [0, last].map(|zoom| zoom + laying.before),
            spacing_m: maps.spacing_m(),
            asked: [("encoding", &coding.encoding), ("at", &laid.at)],
        };
        let mut json = tiled.json(layer, &name, encoding, &headers);
        json["range_m"] = meta["range_m"].clone();
        Ok(Json(json))
    })
    .await
}

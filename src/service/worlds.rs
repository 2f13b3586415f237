//! Worlds: tiles of recipes without an end, made when they are wanted and kept in a store of tiles.
//!
//! At zoom 22 a pixel is a cell, and the tile 2²¹, 2²¹ begins at the world's origin: so a web map
//! has 2³⁰ x 2³⁰ cells round it. Each zoom before it is the next coarser level.

use super::extract::{Path as Place, Query};
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::results::{media_type, sizes, unchanging};
use super::store::{Request, is_digest};
use super::tiles::{Coding, Tile as Made, exaggeration};
use super::{Service, Shared, blocking, engine};
use crate::device::{Device, DeviceOptions};
use crate::error::Error;
use crate::field::{Decode, Field};
use crate::identity;
use crate::io::{Elevation, Files, encode_picture};
use crate::job::Job;
use crate::map::Map;
use crate::render::{Style, coloured};
use crate::site::Window;
use crate::tiles::{Store, Tile, Tiles, tilejson as described};
use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use image::{Rgb, RgbImage};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Pixels of a side of a tile.
const SIDE: u32 = 256;
/// The last zoom. Web maps have no more.
const LAST: u32 = 22;
/// Worlds whose newest tiles are kept in memory.
const KEPT: u64 = 2;
/// The layer that is a picture, and no map.
const HILLSHADE: &str = "hillshade";
/// What of the disk's quota the store of tiles may have.
const SHARE_OF_DISK: u64 = 4;

/// A world: its run, which says what there is, and its tiles, which one thread at a time makes.
#[derive(Clone)]
pub struct World {
    job: Arc<Job>,
    tiles: Arc<Mutex<Tiles>>,
}

/// Worlds in memory, by digest.
pub type Worlds = moka::sync::Cache<String, World>;

/// A memory for worlds.
pub fn kept() -> Worlds {
    moka::sync::Cache::new(KEPT)
}

fn nowhere() -> Problem {
    Problem::missing("there is no such world, or not any more: send its recipe to POST /v1/worlds")
}

impl Service {
    fn world_path(&self, digest: &str) -> PathBuf {
        self.store.root().join("worlds").join(format!("{digest}.json"))
    }

    /// A world, from memory or as it was sent.
    fn world(&self, digest: &str) -> Answer<World> {
        if let Some(world) = self.worlds.get(digest) {
            return Ok(world);
        }
        let text = is_digest(digest)
            .then(|| std::fs::read(self.world_path(digest)).ok())
            .flatten()
            .ok_or_else(nowhere)?;
        let request: Request = serde_json::from_slice(&text).map_err(|_| nowhere())?;
        let job = request.job(&self.store, request.recipe()?)?;
        if request.digest(&job) != digest {
            // Its address never changes its meaning, so it has no tiles of this edition.
            return Err(Problem::missing(format!(
                "the world was named by another edition of thalweg than this, {}: send its recipe \
                 to POST /v1/worlds again",
                identity::engine()
            )));
        }
        let store = Store::open(
            self.store.root().join("worlds").join("tiles"),
            Some(self.limits.disk_bytes / SHARE_OF_DISK),
        )?;
        let tiles = Tiles::new(job.clone(), SIDE)?.stored_in(store);
        let world = World { job: Arc::new(job), tiles: Arc::new(Mutex::new(tiles)) };
        self.worlds.insert(digest.into(), world.clone());
        Ok(world)
    }

    /// Refuses a world whose tiles are too much work, before it is taken.
    fn admit_world(&self, job: &Job) -> Answer<()> {
        let finest = job.recipe().finest();
        let cost = job.schedule().cost(
            SIDE,
            finest,
            &Window { origin: [0, 0], width: SIDE, height: SIDE },
        )?;
        let cells =
            cost.levels.iter().map(|level| level.longest * level.longest).max().unwrap_or(0);
        if cells > self.limits.cells || cost.work() > self.limits.work {
            return Err(Problem::large(format!(
                "a tile of the world depends on {cells} cells of a level and takes {:.3e} steps of \
                 a cell, allowed here {} and {:.3e}: lower \
                 lifetime or rain, or start the service with --max-cells or --max-work",
                cost.work(),
                self.limits.cells,
                self.limits.work
            )));
        }
        crate::memory::admit("a tile", cost.bytes())?;
        Ok(())
    }
}

/// Name a world without an end
///
/// The recipe has `endless = true`. Its tiles are made when they are wanted, and are the same
/// however often and in whatever order they are asked for. The address is the digest of the recipe,
/// so the same recipe has the same one.
#[utoipa::path(
    post, path = "/v1/worlds", tag = "worlds",
    request_body(content((Value = "application/json"), (String = "application/toml")), description = "A recipe with endless = true."),
    responses(
        (status = 201, description = "The world, with the addresses of its layers.", body = Value),
        (status = 413, description = "Its tiles are too much work.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong, or has an end.", body = Problem, content_type = "application/problem+json"),
    )
)]
pub async fn submit(State(service): State<Shared>, request: HttpRequest) -> Answer<Response> {
    let request = receive(&service, request).await?.request(None)?;
    blocking(move || {
        let recipe = request.recipe()?;
        if !recipe.endless {
            let what = "endless = false: a world has endless = true; send a land with borders to \
                        POST /v1/jobs";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at("/endless"));
        }
        let job = request.job(&service.store, recipe)?;
        service.admit_world(&job)?;
        let digest = request.digest(&job);
        Tiles::new(job.clone(), SIDE)?;
        let layers: Vec<&str> = Tiles::fields_of(&job).into_iter().map(|field| field.name).collect();
        let text = serde_json::to_vec(&request).map_err(Problem::fault)?;
        let mut files = Files::default();
        files.write(&service.world_path(&digest), &text)?;
        files.keep();
        let href = format!("/v1/worlds/{digest}/");
        let told = json!({
            "digest": digest, "href": href, "layers": layers.iter().chain([&HILLSHADE]).collect::<Vec<_>>(),
            "tilejson": format!("{href}tiles/height/tilejson.json"), "minzoom": first_zoom(&job), "maxzoom": LAST,
        });
        Ok((StatusCode::CREATED, [(header::LOCATION, href)], Json(told)).into_response())
    })
    .await
}

fn first_zoom(job: &Job) -> u32 {
    (LAST + 1).saturating_sub(job.schedule().levels())
}

/// What a layer shows.
enum Layer {
    Field(&'static Field),
    Hillshade,
}

impl Layer {
    fn of(job: &Job, name: &str) -> Answer<Self> {
        let fields = Tiles::fields_of(job);
        match fields.iter().find(|field| field.name == name) {
            Some(field) => Ok(Self::Field(field)),
            None if name == HILLSHADE => Ok(Self::Hillshade),
            None => {
                let known = fields
                    .iter()
                    .map(|field| field.name)
                    .chain([HILLSHADE])
                    .collect::<Vec<_>>()
                    .join(", ");
                Err(Problem::missing(format!(
                    "{name:?}: the world has {known}; output.maps of its recipe says which"
                )))
            }
        }
    }

    /// How heights become colours; none for a picture.
    fn elevation(&self, asked: Option<&str>) -> Answer<Option<Elevation>> {
        let metres =
            matches!(self, Self::Field(Field { decode: Decode::Height | Decode::Thickness, .. }));
        match (self, asked) {
            (Self::Hillshade, None) => Ok(None),
            (Self::Field(_), Some("terrarium")) => Ok(Some(Elevation::Terrarium)),
            (Self::Field(_), None) if metres => Ok(Some(Elevation::Terrarium)),
            (Self::Field(_), Some("terrain-rgb")) => Ok(Some(Elevation::TerrainRgb)),
            (Self::Field(_), None) => Err(Problem::bad(
                "a map that is no height has no colours of its own here, since a world has no \
                 range: take .r32, or encoding=terrarium or terrain-rgb",
            )),
            (_, Some(asked)) => Err(Problem::bad(format!(
                "encoding = {asked:?}: allowed for maps terrarium, terrain-rgb; hillshade has none"
            ))),
        }
    }
}

/// A tile of a world
///
/// The layer is one of the recipe's maps, or `hillshade`. A `.png` has values as its encoding says,
/// `.r32` has them as little-endian float32. A tile that nobody has asked for yet is made now,
/// which may take seconds.
#[utoipa::path(get, path = "/v1/worlds/{digest}/tiles/{layer}/{z}/{x}/{y}", params(("digest" = String, Path), ("layer" = String, Path), ("z" = u32, Path), ("x" = u32, Path), ("y" = String, Path, description = "A number with .png or .r32."), Coding), tag = "worlds", responses((status = 200, description = "The tile.", content((Vec<u8> = "image/png"), (Vec<u8> = "application/octet-stream"))), (status = 304, description = "It is what the client has."), (status = 404, description = "There is no such world, layer or zoom.", body = Problem, content_type = "application/problem+json")))]
pub async fn tile(
    State(service): State<Shared>,
    Place((digest, layer, z, x, y)): Place<(String, String, String, String, String)>,
    Query(coding): Query<Coding>,
    headers: HeaderMap,
) -> Answer<Response> {
    let nowhere = || Problem::missing("tiles are at /tiles/LAYER/Z/X/Y.png or .r32");
    let (y, form) =
        y.split_once('.').filter(|(_, form)| ["png", "r32"].contains(form)).ok_or_else(nowhere)?;
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|n| n.to_string() == text).ok_or_else(nowhere);
    let at = [number(&z)?, number(&x)?, number(y)?];
    let encoding = coding.encoding.as_deref().unwrap_or("-");
    let key = format!("{digest}/{layer}/{z}/{x}/{y}.{form}/{encoding}");
    let made = match service.tiles.get(&key) {
        Some(made) => made,
        None => {
            // One after another: previews keep their places, and who hangs up waits no more.
            let slot = service.worlders.clone().acquire_owned().await.map_err(Problem::fault)?;
            let (done, answer) = oneshot::channel();
            let (place, key, span) = (service.clone(), key.clone(), tracing::Span::current());
            let is_png = form == "png";
            let work = move || {
                let _inside = span.enter();
                engine::be_nice(engine::NICE[0]);
                let _slot = slot;
                let work = || make(&place, &digest, &layer, at, is_png, coding.encoding.as_deref());
                let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                let made = made
                    .unwrap_or_else(|_| Err(Problem::fault("the engine panicked")))
                    .map(Arc::new);
                if let Ok(made) = &made {
                    place.tiles.insert(key, made.clone());
                }
                // The client may have gone; the tile is in the store.
                let _ = done.send(made);
            };
            std::thread::Builder::new().name("world".into()).spawn(work)?;
            answer.await.map_err(Problem::fault)??
        }
    };
    let mut response = unchanging(
        &headers,
        &key,
        media_type(&key[..key.rfind('/').unwrap_or(key.len())]),
        made.bytes(),
    );
    sizes(&mut response, [SIDE, SIDE], made.spacing_m());
    Ok(response)
}

/// Makes a tile.
fn make(
    service: &Service,
    digest: &str,
    layer: &str,
    [z, x, y]: [u32; 3],
    is_png: bool,
    asked: Option<&str>,
) -> Answer<Made> {
    let World { job, tiles } = service.world(digest)?;
    let _first = service.first();
    let mut tiles = tiles.lock().unwrap_or_else(PoisonError::into_inner);
    let layer = Layer::of(&job, layer)?;
    let first = first_zoom(&job);
    if !(first..=LAST).contains(&z) || x.max(y) >= 1 << z {
        return Err(Problem::missing(format!(
            "tile {z}/{x}/{y}: the world's zooms are {first} to {LAST}, each with 2^zoom x 2^zoom \
             tiles"
        )));
    }
    let elevation = if is_png { layer.elevation(asked)? } else { None };
    if !is_png && (asked.is_some() || matches!(layer, Layer::Hillshade)) {
        return Err(Problem::bad("only a tile.png has an encoding, and hillshade is a picture"));
    }
    let half = 1i64 << (z - 1);
    let level = job.recipe().finest() + (LAST - z) as i32;
    let own =
        tiles.window(Tile { level, slab: 0, x: i64::from(x) - half, y: i64::from(y) - half })?;
    // A border, so that slopes go on from tile to tile.
    let wide = Window { origin: own.origin.map(|at| at - 1), width: SIDE + 2, height: SIDE + 2 };
    let (field, window) = match layer {
        Layer::Field(field) => (field, own),
        Layer::Hillshade => (crate::field::find("height").ok_or_else(nowhere)?, wide),
    };
    let attempt = |tiles: &mut Tiles, options: &DeviceOptions| -> crate::Result<Map> {
        service.idle.with(options, |executor| tiles.map(level, window, field, executor))
    };
    let options = service.preview_device();
    let map = match attempt(&mut tiles, &options) {
        // Only a device that nobody named may be replaced.
        Err(Error::Device(_) | Error::Limit(_))
            if service.device.device == Device::Auto && options.device != Device::Cpu =>
        {
            attempt(&mut tiles, &DeviceOptions { device: Device::Cpu, ..options })?
        }
        made => made?,
    };
    let bytes = match (is_png, elevation) {
        (false, _) => map.data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        (true, Some(elevation)) => encode_picture(RgbImage::from_fn(SIDE, SIDE, |x, y| {
            Rgb(elevation.rgb(map.data[(y * SIDE + x) as usize]))
        }))?,
        (true, None) => {
            let grey = Map { data: vec![0xd8_d8_d8 as f32; map.data.len()], ..map.clone() };
            let picture = coloured(
                &map,
                &grey,
                &Style { sea_level_m: None, relief: 1.0, ..Style::default() },
            )?;
            encode_picture(RgbImage::from_fn(SIDE, SIDE, |x, y| *picture.get_pixel(x + 1, y + 1)))?
        }
    };
    Ok(Made::new(bytes, map.spacing_m))
}

/// What a layer's tiles are, as TileJSON 3.0.0
///
/// A world is a plane and has no place on Earth, so its origin is laid on the middle of the Web
/// Mercator map.
#[utoipa::path(get, path = "/v1/worlds/{digest}/tiles/{layer}/tilejson.json", params(("digest" = String, Path), ("layer" = String, Path), Coding), tag = "worlds", responses((status = 200, description = "The TileJSON.", body = Value), (status = 404, description = "There is no such world or layer.", body = Problem, content_type = "application/problem+json")))]
pub async fn tilejson(
    State(service): State<Shared>,
    Place((digest, name)): Place<(String, String)>,
    Query(coding): Query<Coding>,
    headers: HeaderMap,
) -> Answer<Json<Value>> {
    // The guard has let the name pass.
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default()
        .to_string();
    blocking(move || {
        let World { job, .. } = service.world(&digest)?;
        let layer = Layer::of(&job, &name)?;
        let elevation = layer.elevation(coding.encoding.as_deref())?;
        let suffix =
            coding.encoding.as_deref().map_or(String::new(), |name| format!("?encoding={name}"));
        let mut json = described([0; 2], [SIDE << LAST; 2], SIDE, [first_zoom(&job), LAST]);
        json["name"] = match layer {
            Layer::Field(field) => json!(format!("{} ({})", field.name, field.unit)),
            Layer::Hillshade => json!(HILLSHADE),
        };
        json["tiles"] = json!([format!(
            "http://{host}/v1/worlds/{digest}/tiles/{name}/{{z}}/{{x}}/{{y}}.png{suffix}"
        )]);
        json["encoding"] = elevation.map_or(json!("colours"), |elevation| json!(elevation.name()));
        let spacing_m = job.schedule().scale_on(job.recipe().finest()).spacing_m;
        json["spacing_m"] = json!(spacing_m);
        json["exaggeration"] = json!(exaggeration(&json, spacing_m));
        Ok(Json(json))
    })
    .await
}

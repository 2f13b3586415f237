//! Worlds: tiles of recipes without an end, made when they are wanted and kept in a store of tiles.
//!
//! At zoom 22 a pixel is a cell, and the tile 2²¹, 2²¹ begins at the world's origin: so a web map
//! has 2³⁰ x 2³⁰ cells round it. Each zoom before it is the next coarser level.

use super::extract::{Path as Place, Query};
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::xyz::{
    Address, At, Coding, Encoding, HILLSHADE, Layer, Parts, SIDE, Tile as Made, Tiled, hillshade,
    numbers, samples,
};
use super::{Service, Shared, blocking, engine};
use crate::api::files::is_digest;
use crate::api::request::Request;
use crate::device::{Device, DeviceOptions};
use crate::error::Error;
use crate::identity;
use crate::io::{Files, encode_picture};
use crate::job::Job;
use crate::map::Map;
use crate::render::Style;
use crate::site::Window;
use crate::tiles::{Store, Tile, Tiles};
use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use image::RgbImage;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The last zoom. Web maps have no more.
const LAST: u32 = 22;
/// Worlds whose newest tiles are kept in memory.
const KEPT: u64 = 2;
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
        let job = request.job(request.recipe()?, &self.store.files())?;
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
        // One tile stands for all, wherever it lies.
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
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe with endless = true."),
    responses(
        (status = 201, description = "The world, with the addresses of its layers.", body = Value),
        (status = 413, description = "Its tiles are too much work.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong, or has an end.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn submit(State(service): State<Shared>, request: HttpRequest) -> Answer<Response> {
    let request = receive(&service, request).await?.request(None)?;
    blocking(move || {
        let recipe = request.recipe()?;
        if !recipe.endless {
            let what = "endless = false: a world has endless = true; send a land with borders to \
                        POST /v1/jobs";
            return Err(
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at("/endless")
            );
        }
        let job = request.job(recipe, &service.store.files())?;
        service.admit_world(&job)?;
        let digest = request.digest(&job);
        // A recipe that has no tiles is refused now.
        Tiles::new(job.clone(), SIDE)?;
        let layers: Vec<&str> =
            Tiles::fields_of(&job).into_iter().map(|field| field.name).collect();
        let text = serde_json::to_vec(&request).map_err(Problem::fault)?;
        let mut files = Files::default();
        files.write(&service.world_path(&digest), &text)?;
        files.keep();
        let href = format!("/v1/worlds/{digest}/");
        let told = json!({
            "digest": digest, "href": href,
            "layers": layers.iter().chain([&HILLSHADE]).collect::<Vec<_>>(),
            "tilejson": format!("{href}tiles/height/tilejson.json"), "minzoom": first_zoom(&job),
            "maxzoom": LAST,
        });
        Ok((StatusCode::CREATED, [(header::LOCATION, href)], Json(told)).into_response())
    })
    .await
}

fn first_zoom(job: &Job) -> u32 {
    (LAST + 1).saturating_sub(job.schedule().levels())
}

/// A layer of a world.
fn layer_of(job: &Job, name: &str) -> Answer<Layer> {
    let fields = Tiles::fields_of(job);
    match fields.iter().find(|field| field.name == name) {
        Some(field) => Ok(Layer::Field(field)),
        None if name == HILLSHADE => Ok(Layer::Picture(HILLSHADE)),
        None => {
            let known: Vec<&str> =
                fields.iter().map(|field| field.name).chain([HILLSHADE]).collect();
            Err(Problem::missing(format!(
                "{name:?}: the world has {}; output.maps of its recipe says which",
                known.join(", ")
            )))
        }
    }
}

/// A tile of a world
///
/// The layer is one of the recipe's maps, or `hillshade`. A `.png` has values as its encoding says,
/// `.r32` has them as little-endian float32. A tile that nobody has asked for yet is made now,
/// which may take seconds.
#[utoipa::path(get, path = "/v1/worlds/{digest}/tiles/{layer}/{z}/{x}/{y}",
    params(("digest" = String, Path), ("layer" = String, Path), ("z" = u32, Path),
        ("x" = u32, Path), ("y" = String, Path, description = "A number with .png or .r32."),
        Coding), tag = "worlds",
        responses((status = 200, description = "The tile.",
            content((Vec<u8> = "image/png"), (Vec<u8> = "application/octet-stream"))),
            (status = 304, description = "It is what the client has."),
            (status = 404, description = "There is no such world, layer or zoom.", body = Problem,
                content_type = "application/problem+json")))]
pub async fn tile(
    State(service): State<Shared>,
    parts: Parts,
    Query(coding): Query<Coding>,
    headers: HeaderMap,
) -> Answer<Response> {
    let address = Arc::new(Address::of(parts, &["png", "r32"], coding, "worlds")?);
    let made = match service.tiles.get(&address.key) {
        Some(made) => made,
        None => {
            // One after another: previews keep their places, and who hangs up waits no more.
            let slot = service.worlders.clone().acquire_owned().await.map_err(Problem::fault)?;
            let (done, answer) = oneshot::channel();
            let (place, address, span) =
                (service.clone(), address.clone(), tracing::Span::current());
            let work = move || {
                let _inside = span.enter();
                engine::be_nice(engine::NICE[0]);
                let _slot = slot;
                let work = || make(&place, &address);
                let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                let made = made
                    .unwrap_or_else(|_| Err(Problem::fault("the engine panicked")))
                    .map(Arc::new);
                if let Ok(made) = &made {
                    place.tiles.insert(address.key.clone(), made.clone());
                }
                // The client may have gone; the tile is in the store.
                let _ = done.send(made);
            };
            std::thread::Builder::new().name("world".into()).spawn(work)?;
            answer.await.map_err(Problem::fault)??
        }
    };
    Ok(address.answer(&headers, &made))
}

/// Makes a tile.
fn make(service: &Service, address: &Address) -> Answer<Made> {
    let World { job, tiles } = service.world(&address.digest)?;
    let _first = service.first();
    let mut tiles = tiles.lock().unwrap_or_else(PoisonError::into_inner);
    let layer = layer_of(&job, &address.layer)?;
    let At { zoom: z, x, y } = address.at;
    let first = first_zoom(&job);
    if !(first..=LAST).contains(&z) || x.max(y) >= 1 << z {
        return Err(Problem::missing(format!(
            "tile {z}/{x}/{y}: the world's zooms are {first} to {LAST}, each with 2^zoom x 2^zoom \
             tiles"
        )));
    }
    let asked = address.encoding.as_deref();
    let encoding = match address.form.as_str() {
        "png" => Some(Encoding::of(layer, asked, false)?),
        _ if asked.is_some() || matches!(layer, Layer::Picture(_)) => {
            return Err(Problem::bad(
                "only a tile.png has an encoding, and hillshade is a picture",
            ));
        }
        _ => None,
    };
    // Tiles are counted from the middle of the map, where the world's origin lies.
    let half = 1i64 << (z - 1);
    let level = job.recipe().finest() + (LAST - z) as i32;
    let own =
        tiles.window(Tile { level, slab: 0, x: i64::from(x) - half, y: i64::from(y) - half })?;
    // A border, so that slopes go on from tile to tile.
    let wide = Window { origin: own.origin.map(|at| at - 1), width: SIDE + 2, height: SIDE + 2 };
    let (field, window) = match layer {
        Layer::Field(field) => (field, own),
        Layer::Picture(_) => (crate::field::find("height").ok_or_else(nowhere)?, wide),
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
    let bytes = match encoding {
        None => samples(&map),
        Some(Encoding::Elevation(elevation)) => numbers(&map, elevation)?,
        Some(_) => {
            let picture = hillshade(&map, &Style::default())?;
            encode_picture(RgbImage::from_fn(SIDE, SIDE, |x, y| *picture.get_pixel(x + 1, y + 1)))?
        }
    };
    Ok(Made { bytes: bytes.into(), spacing_m: map.spacing_m, range: None })
}

/// What a layer's tiles are, as TileJSON 3.0.0
///
/// A world is a plane and has no place on Earth, so its origin is laid on the middle of the Web
/// Mercator map.
#[utoipa::path(get, path = "/v1/worlds/{digest}/tiles/{layer}/tilejson.json",
    params(("digest" = String, Path), ("layer" = String, Path), Coding), tag = "worlds",
    responses((status = 200, description = "The TileJSON.", body = Value),
        (status = 404, description = "There is no such world or layer.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn tilejson(
    State(service): State<Shared>,
    Place((digest, name)): Place<(String, String)>,
    Query(coding): Query<Coding>,
    headers: HeaderMap,
) -> Answer<Json<Value>> {
    blocking(move || {
        let World { job, .. } = service.world(&digest)?;
        let layer = layer_of(&job, &name)?;
        let encoding = Encoding::of(layer, coding.encoding.as_deref(), false)?;
        let tiled = Tiled {
            path: format!("worlds/{digest}/tiles"),
            first: [0; 2],
            size: [SIDE << LAST; 2],
            zooms: [first_zoom(&job), LAST],
            spacing_m: job.schedule().scale_on(job.recipe().finest()).spacing_m,
            asked: [("encoding", &coding.encoding), ("at", &None)],
        };
        let json = tiled.json(layer, &name, encoding, &headers);
        Ok(Json(json))
    })
    .await
}

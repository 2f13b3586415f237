//! Previews: the coarse levels of a land, sent as they are made. Nothing is stored, and a client
//! that hangs up ends the work.

use super::engine::CancelOnDrop;
use super::extract::Query;
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::store::Request;
use super::{Service, Shared, engine};
use crate::device::{Device, DeviceOptions};
use crate::error::Error;
use crate::field;
use crate::job::{AfterStage, Cancel, Event, Job, Outcome, digest};
use crate::map::Map;
use crate::params;
use crate::recipe::{Colour, Recipe};
use crate::stage::biomes;
use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use utoipa::IntoParams;

/// Cells of the longer side of a preview: the fewest, the most, and those where nothing is said.
const CELLS: [u32; 3] = [64, 1024, 512];
/// How long a client may take to read a record.
const READ: Duration = Duration::from_secs(30);

#[derive(Deserialize, IntoParams)]
pub struct Asked {
    /// Most cells of the longer side, 64 to 1024.
    #[param(minimum = 64, maximum = 1024, default = 512)]
    cells: Option<u32>,
    /// The maps to send, parted by commas: names of fields.
    #[param(default = "height")]
    fields: Option<String>,
    /// Whether the first record is to be the land before any stage changes it, as fine as the last
    /// one. Its header has `"draft": true`.
    #[param(default = false)]
    draft: Option<bool>,
}

/// Stream the coarse levels of a recipe as they are made
///
/// The body is a sequence of records. A record is the length of a JSON header as a little-endian
/// u32, the header, and for each of its `fields` width * height little-endian float32 values, row
/// by row from the north. Where a level has no such map, `missing` says why. The last record has
/// `"final": true`. An error in mid-stream is a record whose header is `{"error": problem}`.
/// Hanging up cancels the work.
#[utoipa::path(
    post, path = "/v1/preview", params(Asked), tag = "previews",
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe."),
    responses(
        (status = 200, description = "The records.", content_type = "application/octet-stream",
            body = Vec<u8>),
        (status = 413, description = "The land is larger than a preview may be.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn preview(
    State(service): State<Shared>,
    Query(asked): Query<Asked>,
    request: HttpRequest,
) -> Answer<Response> {
    let wanted = Wanted {
        cells: cells_of(asked.cells, CELLS)?,
        fields: fields(asked.fields.as_deref())?,
        draft: asked.draft.unwrap_or(false),
    };
    let request = receive(&service, request).await?.request(None)?;
    let cancel = Cancel::default();
    // From here on a client that hangs up drops this.
    let cancel_on_drop = CancelOnDrop(cancel.clone());
    // Who hangs up while waiting here is dropped from the queue of the semaphore.
    let slot = service.previews.clone().acquire_owned().await.map_err(Problem::fault)?;
    let (records, received) = mpsc::channel(4);
    let (admitted, answer) = oneshot::channel();
    let (place, span) = (service.clone(), tracing::Span::current());
    let work = move || {
        let _inside = span.enter();
        engine::be_nice(engine::NICE[0]);
        let sender = Sender { records, cancel: cancel.clone() };
        let begun = Instant::now();
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            send(&place, &request, &wanted, &sender, admitted)
        }));
        match ran {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => drop(sender.send(&json!({ "error": problem }), &[])),
            Err(_) => {
                drop(sender.send(&json!({ "error": Problem::fault("the engine panicked") }), &[]))
            }
        }
        place.metrics.previewed(begun.elapsed(), cancel.is_cancelled());
        drop(slot);
    };
    std::thread::Builder::new().name("preview".into()).spawn(work)?;
    // Up to here an error is the answer, and later it is a record of the body.
    answer.await.map_err(Problem::fault)??;
    let body = Body::from_stream(Records { received, _cancel_on_drop: cancel_on_drop });
    Ok((
        [(header::CONTENT_TYPE, "application/octet-stream"), (header::CACHE_CONTROL, "no-store")],
        body,
    )
        .into_response())
}

/// The cells that are asked for: between the fewest and the most, and where nothing is said the
/// last of the three.
pub fn cells_of(asked: Option<u32>, [fewest, most, usual]: [u32; 3]) -> Answer<u32> {
    let cells = asked.unwrap_or(usual);
    if (fewest..=most).contains(&cells) {
        Ok(cells)
    } else {
        Err(Problem::bad(format!("cells = {cells}: allowed {fewest} to {most}")))
    }
}

/// What a client wants to see.
struct Wanted {
    cells: u32,
    fields: Vec<&'static str>,
    draft: bool,
}

/// The fields that are asked for.
fn fields(names: Option<&str>) -> Answer<Vec<&'static str>> {
    let mut fields = vec![];
    for name in names.unwrap_or("height").split(',').map(str::trim).filter(|name| !name.is_empty())
    {
        let field = field::find(name).ok_or_else(|| {
            Problem::from(Error::from(crate::params::unknown(
                "map",
                name,
                field::FIELDS.iter().map(|field| field.name),
            )))
        })?;
        if !fields.contains(&field.name) {
            fields.push(field.name);
        }
    }
    if fields.is_empty() {
        Err(Problem::bad("fields: name at least one map, such as height"))
    } else {
        Ok(fields)
    }
}

/// The body of a preview.
struct Records {
    received: mpsc::Receiver<Bytes>,
    _cancel_on_drop: CancelOnDrop,
}

impl Stream for Records {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_recv(context).map(|record| record.map(Ok))
    }
}

/// Where the engine's thread puts records.
struct Sender {
    records: mpsc::Sender<Bytes>,
    cancel: Cancel,
}

impl Sender {
    /// Sends a record. A client that does not read is one that has gone.
    fn send(&self, head: &Value, maps: &[&Map]) -> crate::Result<()> {
        let head = head.to_string();
        let cells: usize = maps.iter().map(|map| map.data.len()).sum();
        let mut record = Vec::with_capacity(4 + head.len() + cells * 4);
        record.extend((head.len() as u32).to_le_bytes());
        record.extend(head.as_bytes());
        for map in maps {
            record.extend(map.data.iter().flat_map(|v| v.to_le_bytes()));
        }
        let mut record = Bytes::from(record);
        let begun = Instant::now();
        // A send that blocks could not be cancelled.
        loop {
            match self.records.try_send(record) {
                Ok(()) => return Ok(()),
                Err(mpsc::error::TrySendError::Full(back))
                    if begun.elapsed() < READ && !self.cancel.is_cancelled() =>
                {
                    record = back;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => {
                    self.cancel.cancel();
                    return Err(Error::Cancelled);
                }
            }
        }
    }
}

/// The run of a preview, of whose maps only those that are sent are made.
fn job(service: &Service, request: &Request, Wanted { cells, fields, .. }: &Wanted) -> Answer<Job> {
    let mut recipe: Recipe = request.recipe()?;
    recipe.output.colour = Colour::Height;
    coarse(service, request, recipe, fields, *cells)
}

/// The run of a recipe down to the finest level of at most `cells` a side, with these maps alone.
pub fn coarse(
    service: &Service,
    request: &Request,
    mut recipe: Recipe,
    fields: &[&'static str],
    cells: u32,
) -> Answer<Job> {
    recipe.output.maps = fields.iter().map(|name| name.to_string()).collect();
    recipe.output.formats.clear();
    recipe.output.format = "r32".into();
    recipe.output.program = None;
    recipe.scatter.clear();
    for step in recipe.stages.iter_mut().filter(|step| step.stage.name == biomes::STAGE.name) {
        step.settings.set(step.stage.params, "splat", &params::Value::Switch(false))?;
        step.settings.set(step.stage.params, "weights", &params::Value::Word("none".into()))?;
    }
    recipe.check()?;
    let job = request.job(&service.store, recipe)?;
    // A coarser level covers the finer one with a vertex or two more than half.
    let small = |(level, land, _): &(i32, crate::site::Window, _)| {
        (land.width.max(land.height) <= cells + 2).then_some(*level)
    };
    // The lowest number is that of the finest level.
    let Some(level) = job.schedule().lands().filter_map(|land| small(&land)).min() else {
        let (land, _) = job.schedule().land();
        let why = match job.schedule().levels() {
            1 => {
                "the recipe has no levels, so its land is made at once: make it smaller, or put \
                 levels = \"auto\" in it"
            }
            _ => "even its coarsest level is larger: give it more levels",
        };
        return Err(Problem::large(format!(
            "the land has {} x {} cells, and this preview at most {cells} a side; {why}",
            land.width, land.height
        ))
        .at("/width"));
    };
    let job = if job.schedule().levels() > 1 { cut_short(job, fields, level)? } else { job };
    service.limits.admit(&job)?;
    Ok(job)
}

/// Runs a job of [`coarse`] on the device for previews.
pub fn run(
    service: &Service,
    job: &Job,
    watch: &mut dyn FnMut(Event) -> crate::Result<()>,
) -> crate::Result<Outcome> {
    let _first = service.first();
    let mut attempt = |options: &DeviceOptions| {
        service.idle.with(options, |executor| job.run_on(executor, watch))
    };
    let options = service.preview_device();
    match attempt(&options) {
        // Only a device that nobody named may be replaced. Levels that were sent come again, with
        // the same words.
        Err(e)
            if e.is_of_device()
                && service.device.device == Device::Auto
                && options.device != Device::Cpu =>
        {
            attempt(&DeviceOptions { device: Device::Cpu, ..options })
        }
        done => done,
    }
}

/// The job down to a level, with the maps that the level has. The records say which it has not.
fn cut_short(job: Job, fields: &[&'static str], level: i32) -> Answer<Job> {
    let mut recipe = job.recipe().clone();
    recipe.output.maps.retain(|name| lacks(&job, name, level).is_none());
    if recipe.output.maps.is_empty() {
        let why =
            fields.iter().filter_map(|name| Some(format!("{name}: {}", lacks(&job, name, level)?)));
        let what = format!(
            "{}; ask for more cells, or for other fields",
            why.collect::<Vec<_>>().join("; ")
        );
        return Err(
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "param", what).at("/output/maps")
        );
    }
    Ok(job.with_recipe(recipe)?.until_level(level)?)
}

/// Why a level has no such map.
fn lacks(job: &Job, name: &str, level: i32) -> Option<String> {
    field::find(name).and_then(|field| job.recipe().lacks(field, level))
}

fn send(
    service: &Service,
    request: &Request,
    wanted: &Wanted,
    sender: &Sender,
    admitted: oneshot::Sender<Answer<()>>,
) -> Answer<()> {
    let job = match job(service, request, wanted) {
        Ok(job) => job.cancel_by(sender.cancel.clone()),
        Err(problem) => {
            let _ = admitted.send(Err(problem));
            return Ok(());
        }
    };
    let _ = admitted.send(Ok(()));
    let levels = Levels {
        job: &job,
        wanted,
        sender,
        finest: job.schedule().lands().map(|(level, ..)| level).min().unwrap_or(0),
    };
    let outcome = run(service, &job, &mut |event| match event {
        Event::Stage(after) => levels.after(after),
        _ => Ok(()),
    })?;
    let mut maps = BTreeMap::new();
    for name in &wanted.fields {
        if outcome.names().any(|known| known == *name) {
            maps.insert(*name, outcome.map(name)?);
        }
    }
    levels.send(levels.finest, &maps, Some(outcome.digest("height")?.into()), true)?;
    Ok(())
}

/// What a preview sends of each level.
struct Levels<'a> {
    job: &'a Job,
    wanted: &'a Wanted,
    sender: &'a Sender,
    finest: i32,
}

impl Levels<'_> {
    /// Sends the land of a level that is done, and the draft of the finest where it is wanted.
    fn after(&self, after: &mut AfterStage) -> crate::Result<()> {
        if self.wanted.draft && after.on_level() == self.finest && after.is_bare() {
            let height = BTreeMap::from([("height", after.map("height")?)]);
            return self.send(self.finest, &height, None, false);
        }
        let Some((level, words)) = after.level().map(|level| (level.level, digest(&level.words)))
        else {
            return Ok(());
        };
        // The land is not done with its finest level.
        if level == self.finest {
            return Ok(());
        }
        let mut maps = BTreeMap::new();
        for name in &self.wanted.fields {
            match after.map(name) {
                Ok(map) => drop(maps.insert(*name, map)),
                // Some maps are those of the finest level: `missing` says why.
                Err(Error::Param(_)) => {}
                Err(e) => return Err(e),
            }
        }
        self.send(level, &maps, Some(words), false)
    }

    /// Sends maps of a level. Without a digest of its heights it is a draft.
    fn send(
        &self,
        level: i32,
        maps: &BTreeMap<&str, Map>,
        digest: Option<String>,
        last: bool,
    ) -> crate::Result<()> {
        let fields = &self.wanted.fields;
        let sent: Vec<&str> =
            fields.iter().copied().filter(|name| maps.contains_key(name)).collect();
        let Some(first) = maps.values().next() else { return Ok(()) };
        let land = self.job.schedule().lands().find(|(known, ..)| *known == level);
        let mut head = json!({
            "level": level, "width": first.width, "height": first.height,
            "spacing_m": first.spacing_m, "origin": land.map(|(_, land, _)| land.origin),
            "digest": digest, "fields": sent, "final": last,
        });
        let recipe = self.job.recipe();
        let why = |name: &str| recipe.lacks_on_the_way(field::find(name)?, level, self.finest);
        let missing = fields.iter().filter_map(|name| Some((*name, why(name)?)));
        let missing: BTreeMap<_, _> = missing.collect();
        if !missing.is_empty() {
            head["missing"] = json!(missing);
        }
        if digest.is_none() {
            head["draft"] = true.into();
        }
        self.sender.send(&head, &sent.iter().map(|name| &maps[name]).collect::<Vec<_>>())
    }
}

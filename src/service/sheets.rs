//! Contact sheets of variants: the coarse levels of a recipe's land for consecutive seeds, as small
//! pictures. Nothing is stored, and a client that hangs up ends the work.

use super::engine::{self, CancelOnDrop};
use super::extract::Query;
use super::preview::{cells_of, coarse, run};
use super::problem::{Answer, Problem};
use super::recipes::receive;
use super::store::Request;
use super::{Service, Shared};
use crate::io::encode_picture;
use crate::job::Cancel;
use crate::recipe::{Colour, Recipe};
use crate::render::{sheet, thumbnail};
use axum::extract::{Request as HttpRequest, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::time::Instant;
use tokio::sync::oneshot;
use utoipa::IntoParams;

/// Cells of the longer side of a land: the fewest, the most, and those where nothing is said.
const CELLS: [u32; 3] = [64, 512, 128];
/// Most lands of a sheet.
const COUNT_MAX: u32 = 36;

#[derive(Deserialize, IntoParams)]
pub struct Asked {
    /// Most cells of the longer side of a land, 64 to 512.
    #[param(minimum = 64, maximum = 512, default = 128)]
    cells: Option<u32>,
    /// How many lands, of consecutive seeds, 1 to 36. A single one is drawn without its number.
    #[param(minimum = 1, maximum = 36, default = 12)]
    count: Option<u32>,
    /// The first seed; left out: the recipe's.
    seed: Option<u64>,
    /// What the colours show: height, ground or biomes; left out: what the recipe says.
    colour: Option<String>,
}

/// Draw variants of a recipe's land, of consecutive seeds, on a contact sheet
///
/// Each land is the coarse level that the whole run has on its way.
#[utoipa::path(
    post, path = "/v1/sheet", params(Asked), tag = "previews",
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe."),
    responses(
        (status = 200, description = "The picture.", content_type = "image/png", body = Vec<u8>),
        (status = 413, description = "The land is larger than a preview may be.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn variants(
    State(service): State<Shared>,
    Query(asked): Query<Asked>,
    request: HttpRequest,
) -> Answer<Response> {
    let cells = cells_of(asked.cells, CELLS)?;
    let count = asked.count.unwrap_or(12);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Problem::bad(format!("count = {count}: allowed 1 to {COUNT_MAX}")));
    }
    let colour = asked.colour.as_deref().map(named).transpose()?;
    let request = receive(&service, request).await?.request(None)?;
    let cancel = Cancel::default();
    // From here on a client that hangs up drops this.
    let _cancel_on_drop = CancelOnDrop(cancel.clone());
    let slot = service.previews.clone().acquire_owned().await.map_err(Problem::fault)?;
    let (answer, answered) = oneshot::channel();
    let span = tracing::Span::current();
    let work = move || {
        let _inside = span.enter();
        engine::be_nice(engine::NICE[0]);
        let variants = Variants { count, cells, seed: asked.seed, colour };
        let begun = Instant::now();
        let drawn = variants.draw(&service, &request, &cancel);
        service.metrics.previewed(begun.elapsed(), cancel.is_cancelled());
        drop(answer.send(drawn));
        drop(slot);
    };
    // A thread of its own, since it stays as nice as it is made here.
    std::thread::Builder::new().name("sheet".into()).spawn(work)?;
    // Who panics does not answer.
    let bytes = answered.await.map_err(Problem::fault)??;
    let head = [(header::CONTENT_TYPE, "image/png"), (header::CACHE_CONTROL, "no-store")];
    Ok((head, bytes).into_response())
}

/// What a client wants to see.
struct Variants {
    count: u32,
    cells: u32,
    seed: Option<u64>,
    colour: Option<Colour>,
}

impl Variants {
    /// The picture, as PNG.
    fn draw(&self, service: &Service, request: &Request, cancel: &Cancel) -> Answer<Vec<u8>> {
        let mut recipe: Recipe = request.recipe()?;
        recipe.seed = self.seed.unwrap_or(recipe.seed);
        recipe.output.colour = self.colour.unwrap_or(recipe.output.colour);
        let last = recipe.seed.checked_add(u64::from(self.count) - 1).ok_or_else(|| {
            let (count, largest) = (self.count, u64::MAX);
            Problem::bad(format!("count = {count}: seeds beyond {largest}, the largest"))
        })?;
        let mut pictures = vec![];
        for seed in recipe.seed..=last {
            let recipe = Recipe { seed, ..recipe.clone() };
            let job = coarse(service, request, recipe, &["height"], self.cells)?;
            let outcome = run(service, &job.cancel_by(cancel.clone()), &mut |_| Ok(()))?;
            pictures.push((seed, thumbnail(outcome.picture()?, self.count as usize)));
        }
        let drawn = match &pictures[..] {
            [(_, picture)] => picture.clone(),
            pictures => sheet(pictures)?,
        };
        Ok(encode_picture(drawn)?)
    }
}

/// The colours of a name.
fn named(name: &str) -> Answer<Colour> {
    let found = Colour::ALL.into_iter().find(|colour| colour.name() == name);
    found.ok_or_else(|| {
        let all = Colour::ALL.into_iter().map(Colour::name);
        crate::Error::from(crate::params::unknown("colour", name, all)).into()
    })
}

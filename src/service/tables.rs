//! What there is: stages, parameters, maps, presets, examples; and recipes that are checked.

use super::extract::{Path, Query};
use super::problem::{Answer, Problem};
use super::recipes::{Chunks, Form, receive, upload};
use super::results::{media_type, sizes, unchanging};
use super::{Shared, blocking};
use crate::api::{self, files, query, tables, uploads};
use crate::recipe::Recipe;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// The stages with their parameters, and the maps
///
/// Every parameter has its name, unit, type (`number`, `integer`, `choice`, `switch`, `file`,
/// `list`), range or choices, default and text.
#[utoipa::path(get, path = "/v1/stages", tag = "tables",
    responses((status = 200, description = "{\"stages\": […], \"fields\": […]}", body = Value)))]
pub async fn stages() -> Json<Value> {
    Json(Recipe::tables())
}

/// The JSON Schema of recipes
#[utoipa::path(get, path = "/v1/recipe.schema.json", tag = "tables",
    responses((status = 200, description = "The schema.", content_type = "application/schema+json",
        body = Value)))]
pub async fn schema() -> Response {
    ([(header::CONTENT_TYPE, "application/schema+json")], Recipe::schema().to_string())
        .into_response()
}

/// The presets of erosion
#[utoipa::path(get, path = "/v1/presets", tag = "tables",
    responses((status = 200,
        description = "[{\"name\", \"text\", \"stage\", \"stage_by_level\"}]: the stage as a \
                       recipe has it, for a land as it is and for one with levels, where the \
                       preset is for one", body = Value)))]
pub async fn presets() -> Json<Value> {
    Json(tables::presets())
}

/// Recipes to start from
#[utoipa::path(get, path = "/v1/examples", tag = "tables",
    responses((status = 200, description = "[{\"name\", \"text\", \"recipe\", \"toml\"}]",
        body = Value)))]
pub async fn examples() -> Answer<Json<Value>> {
    Ok(Json(tables::examples()?))
}

/// Check a recipe
///
/// It is answered as JSON and as TOML, with what it would make; as TOML, if that is asked for; or
/// as an archive of the recipe and the files that it names, from which the command makes the same
/// land.
#[utoipa::path(
    post, path = "/v1/recipes", tag = "tables",
    request_body(content((Value = "application/json"), (String = "application/toml")),
        description = "A recipe."),
    responses(
        (status = 200, description = "{\"digest\", \"name\", \"width\", \"height\", \"spacing_m\", \
                                      \"levels\", \"memory_bytes\", \"maps\", \"toml\", \"json\"}; \
                                      as TOML, if that is asked for, the recipe alone; as a ZIP \
                                      archive, the recipe and its files.",
            content((Value = "application/json"), (String = "application/toml"),
                (Vec<u8> = "application/zip"))),
        (status = 422, description = "The recipe is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn check(State(service): State<Shared>, request: Request) -> Answer<Response> {
    let wanted = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let bundle = wanted.contains("zip");
    let wanted = if wanted.contains("toml") { Form::Toml } else { Form::Json };
    let sent = receive(&service, request).await?;
    blocking(move || {
        let sent_recipe = sent.recipe.clone();
        let request = sent.request(None)?;
        let recipe = request.recipe()?;
        let about = tables::About::of(&recipe, &sent_recipe);
        let job = request.job(recipe, &service.store.files())?;
        if bundle {
            let archive = request.archive(&service.store.files())?;
            return Ok(
                ([(header::CONTENT_TYPE, media_type("recipe.zip"))], archive).into_response()
            );
        }
        if wanted == Form::Toml {
            return Ok(
                ([(header::CONTENT_TYPE, "application/toml")], about.toml()?).into_response()
            );
        }
        Ok(Json(about.told(&job, &request.digest(&job), service.limits.cells)).into_response())
    })
    .await
}

/// Send a file of heights or of a mask
///
/// It is kept under the digest of its format and its bytes. Recipes name it by `input = { upload =
/// "DIGEST" }`, and so do stages with a `file`.
#[utoipa::path(
    post, path = "/v1/inputs", params(query::Input), tag = "inputs",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The \
        file."),
    responses(
        (status = 200, description = "{\"digest\", \"width\", \"height\", \"spacing_m\", \
                                      \"min_m\", \"max_m\", \"warnings\", \"href\"}", body = Value),
        (status = 413, description = "The file is too large.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "It is no map.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn input(
    State(service): State<Shared>,
    Query(named): Query<query::Input>,
    request: Request,
) -> Answer<Json<Value>> {
    let digest = upload(&service, &named.name, Chunks::Body(request.into_body())).await?;
    let slot = service.encoders.clone().acquire_owned().await.map_err(Problem::fault)?;
    blocking(move || {
        let _slot = slot;
        let gone = || Problem::missing("the file was evicted: send it again");
        let stored = service.store.upload(&digest)?.ok_or_else(gone)?;
        Ok(Json(uploads::about(&digest, &stored.map(&named.name, service.limits.cells)?)))
    })
    .await
}

/// The heights of a file that was sent
///
/// Little-endian float32 metres, or shares of a mask, row by row from the north.
#[utoipa::path(get, path = "/v1/inputs/{digest}/height.r32", params(("digest" = String, Path)),
    tag = "inputs",
    responses((status = 200, description = "The heights.",
        content_type = "application/octet-stream", body = Vec<u8>),
        (status = 404, description = "There is no such file, or not any more.", body = Problem,
            content_type = "application/problem+json")))]
pub async fn input_heights(
    State(service): State<Shared>,
    Path(digest): Path<String>,
    headers: HeaderMap,
) -> Answer<Response> {
    let slot = service.encoders.clone().acquire_owned().await.map_err(Problem::fault)?;
    blocking(move || {
        let _slot = slot;
        let missing = || Problem::missing("there is no such file, or not any more: send it again");
        if !files::is_digest(&digest) {
            return Err(missing());
        }
        let stored = service.store.upload(&digest)?.ok_or_else(missing)?;
        let map = stored.map(&digest, service.limits.cells)?.map;
        let bytes: Vec<u8> = map.data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut response = unchanging(&headers, &digest, "application/octet-stream", bytes);
        sizes(&mut response, [map.width, map.height], map.spacing_m);
        Ok(response)
    })
    .await
}

/// Make a dungeon
///
/// The body has its `kind` (`isaac`, `rebirth`, `tinykeep`), its `seed`, and the settings of
/// `thalweg dungeon` by their names in recipes. `steps` is how its layout came about, up to the
/// corridors, as a list: `what` happens, `boxes` as \[x, y, width, height, mark\] and `lines` as
/// \[x, y, x, y, mark\], in the cells of the dungeon's grid.
#[utoipa::path(
    post, path = "/v1/dungeons", params(query::Dungeon), tag = "tables",
    request_body(content = Value, content_type = "application/json", description = "{\"kind\": \
        \"isaac\", \"seed\": 7, \"level\": 3}"),
    responses(
        (status = 200, description = "The dungeon.", body = Value),
        (status = 422, description = "A setting is wrong.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn dungeon(
    State(service): State<Shared>,
    Query(drawn): Query<query::Dungeon>,
    request: Request,
) -> Answer<Response> {
    let bytes =
        super::recipes::bytes(request.into_body(), super::recipes::RECIPE_BYTES_MAX, "a dungeon")
            .await?;
    let slot = service.encoders.clone().acquire_owned().await.map_err(Problem::fault)?;
    blocking(move || {
        let _slot = slot;
        let format = drawn.format.as_deref().unwrap_or("json");
        let (media_type, made) = api::dungeon::written(&bytes, format)?;
        Ok(([(header::CONTENT_TYPE, media_type)], made).into_response())
    })
    .await
}

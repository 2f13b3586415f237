//! Reads recipes as the service does: with a file that came along, up to what it tells of the run.
#![no_main]

use std::sync::Arc;
use thalweg::api::files::Upload;
use thalweg::api::problem::Answer;
use thalweg::api::recipes::{Form, value};
use thalweg::api::request::Request;
use thalweg::api::tables::About;

/// Most cells of which the work is found.
const CELLS_MAX: u64 = 1 << 12;

fn ask(data: &[u8]) -> Answer<()> {
    let sent = value(data, Form::guess(data))?;
    let digest = "0".repeat(64);
    let files = vec![("land.r32".into(), digest)];
    let land = Arc::new(vec![0; 16 * 16 * 4]);
    let find = |_: &str| Ok(Some(Upload::of("land.r32", land.clone())));
    let request = Request::of(sent.clone(), files, None)?;
    let recipe = request.recipe()?;
    let about = About::of(&recipe, &sent);
    let job = request.job(recipe, &find)?;
    let told = about.told(&job, &request.digest(&job), CELLS_MAX);
    assert!(told["width"].as_u64().is_some_and(|width| width > 0), "a land has cells");
    request.archive(&find)?;
    Ok(())
}

thalweg_fuzz::target!(256, |data| {
    if let Err(problem) = ask(data) {
        assert!((400..500).contains(&problem.status), "an error of the client: {problem:?}");
        assert!(!problem.detail.is_empty(), "{problem:?}");
    }
});

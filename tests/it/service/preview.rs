//! Previews: levels as they are made, equal to those of a job, and nothing left when the client goes.

use super::{LONG, RECIPE, Service, floats};
use crate::command::Folder;
use serde_json::{Value, json};
use std::io::Read;
use std::time::{Duration, Instant};

/// The records of a body: heads and values.
fn records(mut body: &[u8]) -> Vec<(Value, Vec<f32>)> {
    let mut all = vec![];
    while !body.is_empty() {
        let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&body[4..4 + length]).unwrap();
        let fields = head["fields"].as_array().map_or(0, Vec::len) as u64;
        let count = (head["width"].as_u64().unwrap_or(0) * head["height"].as_u64().unwrap_or(0) * fields) as usize;
        all.push((head, floats(&body[4 + length..][..count * 4])));
        body = &body[4 + length + count * 4..];
    }
    all
}

/// Levels come in order, each the level of the whole run, with the maps that were asked for.
#[test]
fn levels_are_those_of_the_job() {
    let folder = Folder::new("service-preview");
    let service = Service::start(&folder, "");
    let answer = service.post("/v1/preview?cells=256&fields=height,flow,slope", RECIPE).ok();
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    let seen = records(&answer.body);
    assert_eq!(seen.len(), 2);
    let job = service.job("/v1/jobs", RECIPE);
    let href = job["result"]["href"].as_str().unwrap();
    let manifest = service.get(&format!("{href}manifest.json")).ok().json();
    for (n, (head, values)) in seen.iter().enumerate() {
        let level = &job["levels"][n];
        for key in ["level", "width", "height", "spacing_m"] {
            assert_eq!(head[key], level[key]);
        }
        assert_eq!(head["digest"], manifest["levels"][n]["words_blake3"]);
        assert_eq!(head["fields"], json!(["height", "flow", "slope"]));
        assert_eq!(head["final"], n == 1);
        let heights = floats(&service.get(level["href"].as_str().unwrap()).ok().body);
        assert_eq!(values[..heights.len()], heights);
    }
    let (_, values) = &seen[1];
    let cells = 160 * 128;
    for (n, map) in ["height", "flow", "slope"].iter().enumerate() {
        let whole = floats(&service.get(&format!("{href}fields/{map}.r32")).ok().body);
        assert_eq!(values[n * cells..][..cells], whole, "{map}");
    }
    // Fewer cells, fewer levels: the last has all that the run has there.
    let small = records(&service.post("/v1/preview?cells=96", RECIPE).ok().body);
    assert_eq!(small.len(), 1);
    assert_eq!((&small[0].0["level"], &small[0].0["final"]), (&json!(1), &json!(true)));
    assert_eq!(small[0].1, seen[0].1[..small[0].1.len()]);
    // Nothing is stored.
    assert_eq!(service.get("/v1/jobs").json()["jobs"].as_array().unwrap().len(), 1);
}

/// What cannot be shown is refused before a record comes, with the field at fault.
#[test]
fn what_is_wrong_is_said_at_once() {
    let folder = Folder::new("service-preview-refused");
    let service = Service::start(&folder, "");
    let flat = RECIPE.replace("levels = 2\n", "");
    assert_eq!(records(&service.post("/v1/preview", &flat).ok().body).len(), 1);
    service.post("/v1/preview?cells=64", &flat).problem(413, &["160 x 128 cells", "levels"]);
    service.post("/v1/preview?cells=64", RECIPE).problem(413, &["160 x 128 cells", "coarsest"]);
    let wrong = service.post("/v1/preview", &RECIPE.replace("rain = 1", "rain = -1")).problem(422, &["rain = -1"]);
    assert_eq!(wrong["errors"][0]["pointer"], "/stage/1/rain");
    assert_eq!(wrong["errors"][0]["given"], "-1");
    service.post("/v1/preview?cells=63", RECIPE).problem(400, &["cells = 63", "64 to 1024"]);
    service.post("/v1/preview?fields=hight", RECIPE).problem(422, &["height"]);
    service.post("/v1/preview?fields=,", RECIPE).problem(400, &["at least one map"]);
    service.post("/v1/preview?fields=biome", RECIPE).problem(422, &["biome"]);
    assert_eq!(service.ask("POST", "/v1/preview?cells=x", &[], RECIPE.as_bytes()).status, 400);
}

/// A client that hangs up ends its preview, and the next one does not wait for it, though only one has a place.
#[test]
fn hanging_up_makes_room() {
    let folder = Folder::new("service-preview-hangup");
    let service = Service::start(&folder, "--previews 1");
    let begun = Instant::now();
    for _ in 0..3 {
        let mut stream = service.send("POST", "/v1/preview", &[("content-type", "application/toml")], LONG.as_bytes());
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        drop(stream);
    }
    assert_eq!(records(&service.post("/v1/preview", RECIPE).ok().body).len(), 2);
    assert!(begun.elapsed() < Duration::from_secs(30), "three long ones take many minutes: {:?}", begun.elapsed());
    let figures = service.get("/metrics").ok().text();
    assert!(figures.contains("thalweg_previews_total{state=\"cancelled\"} 3"), "{figures}");
}

//! Previews: levels as they are made, equal to those of a job, and nothing left when the client
//! goes.

use super::{LONG, RECIPE, Service, floats};
use crate::command::{Folder, pixels};
use serde_json::{Value, json};
use std::io::Read;

/// The records of a body: heads and values.
fn records(mut body: &[u8]) -> Vec<(Value, Vec<f32>)> {
    let mut all = vec![];
    while !body.is_empty() {
        let length = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&body[4..4 + length]).unwrap();
        let fields = head["fields"].as_array().map_or(0, Vec::len) as u64;
        let count = (head["width"].as_u64().unwrap_or(0)
            * head["height"].as_u64().unwrap_or(0)
            * fields) as usize;
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
    // A draft is the land before the first stage that changes it.
    let drafted = records(&service.post("/v1/preview?cells=256&draft=true", RECIPE).ok().body);
    assert_eq!(drafted.len(), 3);
    assert_eq!(
        (&drafted[0].0["draft"], &drafted[0].0["level"], &drafted[0].0["digest"]),
        (&json!(true), &json!(0), &Value::Null)
    );
    let bare =
        RECIPE.split("[[stage]]\nkind = \"droplets\"").next().unwrap().replace("levels = 2\n", "");
    assert_eq!(drafted[0].1, records(&service.post("/v1/preview?cells=256", &bare).ok().body)[0].1);
    assert_eq!(drafted[2].1, values[..cells]);
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
    let wrong = service
        .post("/v1/preview", &RECIPE.replace("rain = 1", "rain = -1"))
        .problem(422, &["rain = -1"]);
    assert_eq!(wrong["errors"][0]["pointer"], "/stage/1/rain");
    assert_eq!(wrong["errors"][0]["given"], "-1");
    service.post("/v1/preview?cells=63", RECIPE).problem(400, &["cells = 63", "64 to 1024"]);
    service.post("/v1/preview?fields=hight", RECIPE).problem(422, &["height"]);
    service.post("/v1/preview?fields=,", RECIPE).problem(400, &["at least one map"]);
    service.post("/v1/preview?fields=biome", RECIPE).problem(422, &["biome"]);
    assert_eq!(service.ask("POST", "/v1/preview?cells=x", &[], RECIPE.as_bytes()).status, 400);
}

/// A sheet has the pictures that the command draws of the same levels, under their seeds.
#[test]
fn sheets_have_the_pictures_of_the_command() {
    let folder = Folder::new("service-sheet");
    let service = Service::start(&folder, "");
    folder.file("r.toml", RECIPE);
    let drawn = |options: &str, name: &str| {
        folder.thalweg(&format!("run r.toml --level 1 {options} -o {name}")).ok();
        name.to_string()
    };
    let ground = drawn("--seed 9 --set output.colour=ground", "ground");
    let known = folder.read(&format!("{ground}/preview.png"));
    let answer = service.post("/v1/sheet?cells=80&count=1&seed=9&colour=ground", RECIPE).ok();
    assert_eq!(answer.header("content-type"), Some("image/png"));
    assert!(pixels(answer.body) == pixels(known));
    // Three lands of the recipe's seed and the next ones, in its own colours.
    let sheet = drawn("--count 3 --sheet", "sheet.png");
    let known = pixels(folder.read(&sheet));
    assert!(pixels(service.post("/v1/sheet?cells=80&count=3", RECIPE).ok().body) == known);
    let figures = service.get("/metrics").ok().text();
    assert!(figures.contains("thalweg_previews_total{state=\"ended\"} 2"), "{figures}");
    let refused = |query: &str, status, words: &[&str]| {
        service.post(&format!("/v1/sheet?{query}"), RECIPE).problem(status, words);
    };
    refused("cells=63", 400, &["cells = 63", "64 to 512"]);
    refused("count=0", 400, &["count = 0", "1 to 36"]);
    refused("count=37", 400, &["count = 37", "1 to 36"]);
    refused("seed=18446744073709551615", 400, &["count = 12", "18446744073709551615"]);
    refused("colour=red", 422, &["red", "height", "ground", "biomes"]);
    refused("cells=64", 413, &["160 x 128 cells", "coarsest"]);
    // Nothing is stored.
    assert!(service.get("/v1/jobs").json()["jobs"].as_array().unwrap().is_empty());
}

/// A client that hangs up ends its preview, which would take many minutes, and the next one does
/// not wait for it, though only one has a place.
#[test]
fn hanging_up_makes_room() {
    let folder = Folder::new("service-preview-hangup");
    let service = Service::start(&folder, "--previews 1");
    for _ in 0..3 {
        let mut stream = service.send(
            "POST",
            "/v1/preview",
            &[("content-type", "application/toml")],
            LONG.as_bytes(),
        );
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        drop(stream);
    }
    assert_eq!(records(&service.post("/v1/preview", RECIPE).ok().body).len(), 2);
    let figures = service.get("/metrics").ok().text();
    assert!(figures.contains("thalweg_previews_total{state=\"cancelled\"} 3"), "{figures}");
}

/// P8: every map that a run can leave is in a preview and in a job of every level, with the values
/// of a run that ends there, or the level has not got it, which is said with the reason before any
/// work.
#[test]
fn every_map_of_every_level_is_there_or_refused() {
    let folder = Folder::new("service-preview-maps");
    let service = Service::start(&folder, "");
    let layer =
        |map: &str, more: &str| format!("[[stage]]\nkind = \"layer\"\nmap = \"{map}\"\n{more}\n");
    let biomes = "[[stage]]\nkind = \"biomes\"\nfrequency = 0.2\npadding_cells = 2\nfeature_cells \
                  = 40\n\
                  [[stage.biome]]\nname = \"a\"\ncolour = \"#087020\"\n\
                  [[stage.biome]]\nname = \"b\"\ncolour = \"#805020\"\n";
    let rain = "[[stage]]\nkind = \"droplets\"\nlifetime = 8\nrain = 0.5\n";
    let shore = "[[stage]]\nkind = \"shore\"\nsea_level_m = 60\nwithin_cells = 20\n";
    let layers = layer("rain", "from = \"height\"\nlow = 0.3")
        + &layer("uplift", "from = \"height\"")
        + &layer("vegetation", "from = \"slope\"")
        + &layer("sediment", "thickness_m = 5");
    let before = format!(
        "{layers}{}{biomes}{rain}{shore}",
        layer("hardness", "from = \"noise\"\nfeature_cells = 30")
    );
    let behind = format!("{rain}{shore}{biomes}{}", layer("hardness", "from = \"slope\""));
    let mut seen = std::collections::BTreeSet::new();
    for (stages, lacking) in [(before, 3), (behind, 6)] {
        let land = RECIPE.split("[[stage]]\nkind = \"droplets\"").next().unwrap();
        let text = |maps: &[&str]| {
            format!(
                "{land}{stages}[materials]\n[water]\nchannel_area_km2 = 0.02\n[output]\n\
                 maps = {maps:?}\n\
                 format = \"npy\"\npreview = false\n"
            )
        };
        let recipe = thalweg::Recipe::from_toml(&text(&["height"]), "", "all").unwrap();
        let all: Vec<&str> = recipe.fields().iter().map(|field| field.name).collect();
        seen.extend(all.iter().copied());
        let values = |job: &Value, map: &str| {
            let href = job["result"]["href"].as_str().unwrap_or_else(|| panic!("{job}"));
            floats(&service.get(&format!("{href}fields/{map}.r32")).ok().body)
        };
        let fine = service.job("/v1/jobs", &text(&all));
        let refused = |map: &str| {
            let answer = service.post("/v1/jobs?level=1", &text(&[map]));
            let refused = answer.status == 422;
            if refused {
                let words = [map, "level 1 has no such map", "on the finest level alone"];
                let problem = answer.problem(422, &words);
                assert_eq!(problem["errors"][0]["pointer"], "/output/maps/0");
                service
                    .post(&format!("/v1/preview?cells=96&fields={map}"), &text(&["height"]))
                    .problem(422, &words);
            } else {
                service.wait(answer.json()["id"].as_str().unwrap());
            }
            refused
        };
        let (no, yes): (Vec<&str>, Vec<&str>) = all.iter().partition(|map| refused(map));
        assert_eq!(no.len(), lacking, "{no:?}");
        let coarse = service.job("/v1/jobs?level=1", &text(&yes));
        let fields = all.join(",");
        let shown = records(
            &service
                .post(&format!("/v1/preview?cells=256&fields={fields}"), &text(&["height"]))
                .ok()
                .body,
        );
        let small = records(
            &service
                .post(&format!("/v1/preview?cells=96&fields={fields}"), &text(&["height"]))
                .ok()
                .body,
        );
        for (head, data) in [&shown[0], &shown[1], &small[0]] {
            let (there, job) = if head["level"] == 1 { (&yes, &coarse) } else { (&all, &fine) };
            // On the way to a finer level, biomes from before the levels are those of that one.
            let on_the_way = head["level"] == 1 && head["final"] == false;
            let there: Vec<&str> = there
                .iter()
                .copied()
                .filter(|map| !(on_the_way && map.starts_with("biome")))
                .collect();
            let missing: Vec<&String> =
                head["missing"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
            assert_eq!(missing.len(), all.len() - there.len(), "{head}");
            assert_eq!(head["fields"], json!(there), "{head}");
            let cells =
                (head["width"].as_u64().unwrap() * head["height"].as_u64().unwrap()) as usize;
            for (n, map) in there.iter().enumerate() {
                assert!(data[n * cells..][..cells] == values(job, map), "{map}: {head}");
            }
        }
    }
    let known: std::collections::BTreeSet<&str> =
        thalweg::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(seen, known);
}

//! What there is besides jobs: tables, checks of recipes, dungeons, the page, figures, and the
//! documents that say so.

use super::{RECIPE, Service};
use crate::command::Folder;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use thalweg::recipe::EXAMPLES;
use thalweg::stage::STAGES;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Forms get every stage and every parameter, with what the tables say of them.
#[test]
fn tables_are_those_of_the_stages() {
    let folder = Folder::new("service-tables");
    let service = Service::start(&folder, "");
    let told = service.get("/v1/stages").ok().json();
    let stages = told["stages"].as_array().unwrap();
    assert_eq!(stages.len(), STAGES.len());
    for (told, stage) in stages.iter().zip(STAGES) {
        assert_eq!((&told["kind"], &told["text"]), (&json!(stage.name), &json!(stage.about)));
        for (told, param) in told["parameters"].as_array().unwrap().iter().zip(stage.params) {
            assert_eq!(
                (&told["name"], &told["unit"], &told["text"]),
                (&json!(param.name), &json!(param.unit), &json!(param.doc))
            );
            // The default is one that is allowed, by the form's own words.
            let default = &told["default"];
            let allowed = match told["type"].as_str().unwrap() {
                "number" | "integer" => {
                    let [low, high, value] =
                        [&told["min"], &told["max"], default].map(|v| v.as_f64().unwrap());
                    low <= value && value <= high
                }
                "choice" => told["choices"].as_array().unwrap().contains(default),
                "switch" => default.is_boolean(),
                "file" => default == "",
                "list" => default.is_array() && told["items"].is_string(),
                _ => false,
            };
            assert!(allowed, "{}.{}: {told}", stage.name, param.name);
        }
    }
    assert!(
        told["fields"]
            .as_array()
            .unwrap()
            .iter()
            .any(|field| field["name"] == "flow" && field["unit"] != "")
    );
    let schema = service.get("/v1/recipe.schema.json").ok().json();
    let kept: Value =
        serde_json::from_slice(&std::fs::read(root().join("schemas/recipe.schema.json")).unwrap())
            .unwrap();
    assert_eq!(schema, kept);
    assert!(
        service
            .get("/v1/presets")
            .ok()
            .json()
            .as_array()
            .unwrap()
            .iter()
            .any(|preset| preset["name"] == "deep")
    );
    for example in service.get("/v1/examples").ok().json().as_array().unwrap() {
        let checked = service.ask(
            "POST",
            "/v1/recipes",
            &[("content-type", "application/json")],
            example["recipe"].to_string().as_bytes(),
        );
        let toml = service.post("/v1/recipes", example["toml"].as_str().unwrap()).ok().json();
        assert_eq!(checked.ok().json()["digest"], toml["digest"], "{}", example["name"]);
    }
}

/// A recipe that is checked comes back in both forms, which are the same recipe, and with what it
/// would make.
#[test]
fn recipes_are_checked() {
    let folder = Folder::new("service-recipes");
    let service = Service::start(&folder, "");
    let told = service.post("/v1/recipes", RECIPE).ok().json();
    assert_eq!(
        (&told["width"], &told["height"], &told["name"]),
        (&json!(160), &json!(128), &json!("hills"))
    );
    assert_eq!(
        told["levels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|level| level["level"].as_i64().unwrap())
            .collect::<Vec<_>>(),
        [1, 0]
    );
    assert!(told["memory_bytes"].as_u64().unwrap() > 160 * 128 * 4);
    assert!(told["maps"].as_array().unwrap().contains(&json!("deposition")));
    let from_toml = service.post("/v1/recipes", told["toml"].as_str().unwrap()).ok().json();
    assert_eq!((&from_toml["digest"], &from_toml["json"]), (&told["digest"], &told["json"]));
    let alone = service
        .ask(
            "POST",
            "/v1/recipes",
            &[("accept", "application/toml")],
            told["json"].to_string().as_bytes(),
        )
        .ok();
    assert_eq!(
        (alone.header("content-type"), alone.text()),
        (Some("application/toml"), told["toml"].as_str().unwrap().to_string())
    );
    // Whatever a stage needs, the pointer leads to it.
    for (from, to, pointer) in [
        ("rain = 1", "rain = 1e9", "/stage/1/rain"),
        ("steps = 4", "step = 4", "/stage/2/step"),
        ("seed = 5", "seed = -5", "/seed"),
        ("\"thermal\"", "\"termal\"", "/stage/2/kind"),
        ("\"erosion\"", "\"weat\"", "/output/maps/2"),
        ("levels = 2", "levels = 12", "/levels"),
        ("levels = 2", "levels = { count = 13 }", "/levels/count"),
        ("levels = 2", "levels = { max = 13 }", "/levels/max"),
    ] {
        let problem = service.post("/v1/recipes", &RECIPE.replace(from, to)).problem(422, &[]);
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    }
}

/// A recipe that is written as TOML reads as what it was, its keys in the order of the examples.
#[test]
fn recipes_that_are_written_read_as_they_were() {
    use thalweg::api::text;
    for (name, example) in EXAMPLES {
        let value: Value = toml::from_str(example).unwrap();
        let written = text::toml(&value).unwrap();
        assert_eq!(toml::from_str::<Value>(&written).unwrap(), value, "{name}: {written}");
        assert!(written.starts_with("schema = 2\n"), "{written}");
        let is_head = |line: &&str| line.starts_with('[') && !line.contains('.');
        let heads = |text: &str| text.lines().filter(is_head).map(String::from).collect::<Vec<_>>();
        assert_eq!(heads(&written), heads(example), "{name}");
    }
    let odd = json!({ "schema": 2, "name": "a \"b\"\n\\c", "stage": [
        { "kind": "layer", "file": { "upload": "00" }, "start": -1.5e-7, "end": 1e300,
            "table": [["a"], []], "no bare key": [] },
    ] });
    assert_eq!(toml::from_str::<Value>(&text::toml(&odd).unwrap()).unwrap(), odd);
    // TOML has no null, and no whole number above 2⁶³.
    assert_eq!(text::toml(&json!({ "seed": u64::MAX })), None);
    assert_eq!(text::toml(&json!({ "seed": null })), None);
}

/// Dungeons are those of the command.
#[test]
fn dungeons_are_those_of_the_command() {
    let folder = Folder::new("service-dungeons");
    let service = Service::start(&folder, "");
    for (settings, line) in [
        (json!({ "kind": "isaac", "seed": 7, "level": 3, "locks": 2 }), "isaac --seed 7 --level 3"),
        (
            json!({ "kind": "rebirth", "seed": 9, "level": 6, "locks": 2 }),
            "rebirth --seed 9 --level 6",
        ),
        (
            json!({ "kind": "tinykeep", "seed": 1, "room_count": 40, "locks": 2 }),
            "tinykeep --seed 1 --room-count 40",
        ),
    ] {
        for format in ["json", "svg", "png", "txt", "tmj", "ldtk"] {
            super::thalweg(&folder, &format!("dungeon {line} -o floor.{format} --force"));
            let got = service
                .ask(
                    "POST",
                    &format!("/v1/dungeons?format={format}"),
                    &[],
                    settings.to_string().as_bytes(),
                )
                .ok();
            assert_eq!(got.body, folder.read(&format!("floor.{format}")), "{line} {format}");
        }
    }
    // All rooms that were thrown, also those that are dropped, and where they came to lie.
    let keep = br#"{"kind":"tinykeep","seed":5,"room_count":90}"#;
    let made = service.ask("POST", "/v1/dungeons", &[], keep).ok().json();
    let steps = service.ask("POST", "/v1/dungeons?format=steps", &[], keep).ok().json();
    let steps = steps.as_array().unwrap();
    assert_eq!(steps[0]["what"], "rooms appear");
    let mains = steps.iter().find(|step| step["what"] == "main rooms").unwrap()["boxes"]
        .as_array()
        .unwrap();
    let rooms = made["rooms"].as_array().unwrap();
    let thrown = |step: &serde_json::Value| {
        step["boxes"].as_array().unwrap().iter().filter(|b| b[4] != "cell").count()
    };
    assert!(
        steps
            .iter()
            .all(|step| thrown(step) == 90 || step["what"].as_str().unwrap().contains("corridors"))
    );
    assert_eq!(rooms.len() + made["unused"].as_array().unwrap().len(), 90);
    for room in rooms {
        let tiles = &room["tiles"];
        let place = [&tiles["x"], &tiles["y"], &tiles["width"], &tiles["height"]];
        let found = mains
            .iter()
            .find(|one| (0..4).all(|k| one[k] == *place[k]))
            .expect("a room that is kept was thrown");
        assert_eq!(found[4] == "faint", room["role"] == "hallway", "{room}");
    }
    let last = &steps.iter().rfind(|step| step["what"] == "edges added back").unwrap()["lines"];
    let count = |mark: &str| last.as_array().unwrap().iter().filter(|line| line[4] == mark).count();
    let edges = made["edges"].as_array().unwrap();
    assert_eq!(count("extra"), edges.iter().filter(|edge| edge["extra"] == true).count());
    assert_eq!(count("tree"), edges.iter().filter(|edge| edge["extra"] != true).count());
    let wrong = service
        .ask("POST", "/v1/dungeons", &[], br#"{"kind":"isaac","levl":3}"#)
        .problem(422, &["levl"]);
    assert_eq!(wrong["errors"][0]["pointer"], "/levl");
    service.ask("POST", "/v1/dungeons", &[], br#"{"kind":"issac"}"#).problem(422, &["isaac"]);
    service
        .ask("POST", "/v1/dungeons?format=pdf", &[], br#"{"kind":"isaac"}"#)
        .problem(422, &["pdf"]);
}

/// The page, its files, and what watches over the service.
#[test]
fn the_service_says_how_it_is() {
    let folder = Folder::new("service-pages");
    let service = Service::start(&folder, "-vv --log-json");
    let page = service.get("/").ok();
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert_eq!(page.body, std::fs::read(root().join("web/index.html")).unwrap());
    assert_eq!(service.get("/index.html").ok().body, page.body);
    assert_eq!(
        service.ask("GET", "/", &[("if-none-match", page.header("etag").unwrap())], b"").status,
        304
    );
    let script = service.get("/js/main.js").ok();
    assert_eq!(script.header("content-type"), Some("text/javascript"));
    assert_eq!(script.body, std::fs::read(root().join("web/js/main.js")).unwrap());
    service.get("/js/none.js").problem(404, &["none.js"]);
    service.get("/nowhere").problem(404, &["/openapi.json"]);
    assert_eq!(service.job("/v1/jobs", RECIPE)["state"], "succeeded");
    let ready = service.get("/readyz").ok().json();
    assert_eq!((&ready["ready"], &ready["devices"]), (&json!(true), &json!(["cpu"])));
    service.post("/v1/preview", RECIPE).ok();
    let figures = service.get("/metrics").ok();
    assert!(figures.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    let text = figures.text();
    assert!(
        text.ends_with("# EOF\n") && text.contains("thalweg_jobs_total{state=\"succeeded\"} 1"),
        "{text}"
    );
    assert!(
        text.contains("thalweg_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 2"),
        "{text}"
    );
    let page = std::fs::read_to_string(root().join("docs/service.md")).unwrap();
    let of_line = |line: &str| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        Some(if kind == "counter" { format!("{name}_total") } else { name.to_string() })
    };
    let served: BTreeSet<String> = text.lines().filter_map(of_line).collect();
    let told = page.split('`').filter(|word| word.starts_with("thalweg_"));
    assert_eq!(served, told.map(String::from).collect());
    let alerts = std::fs::read_to_string(root().join("docs/serve/alerts.yml")).unwrap();
    let words = alerts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let asked: BTreeSet<&str> = words.filter(|word| word.starts_with("thalweg_")).collect();
    assert!(asked.len() > 2 && asked.iter().all(|name| served.contains(*name)), "{asked:?}");
    let log = String::from_utf8(folder.read("log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    assert!(
        lines
            .iter()
            .any(|line| line["fields"]["path"] == "/v1/jobs" && line["fields"]["status"] == 202)
    );
    assert!(
        lines.iter().any(|line| line["fields"]["state"] == "succeeded" && line["span"]["id"] == 1),
        "{log}"
    );
}

/// The document of the service is the one that is checked in, and names every route.
#[test]
fn the_openapi_document_is_that_of_the_routes() {
    let path = root().join("schemas/openapi.json");
    let made = format!("{}\n", serde_json::to_string_pretty(&thalweg::service::openapi()).unwrap());
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "schemas/openapi.json is old: run this test with THALWEG_BLESS=1");
    let folder = Folder::new("service-openapi");
    let service = Service::start(&folder, "");
    let told = service.get("/openapi.json").ok().json();
    assert_eq!(told, serde_json::from_str::<Value>(&kept).unwrap());
    // Each address exists: it takes its method, and nothing is missing but what its words name.
    for (path, methods) in told["paths"].as_object().unwrap() {
        for method in methods
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| ["get", "post", "delete"].contains(&key.as_str()))
        {
            let path = path.replace(['{', '}'], "");
            let answer = service.ask(&method.to_uppercase(), &path, &[], b"");
            let nowhere = answer.status == 405
                || String::from_utf8_lossy(&answer.body).contains("nothing is here");
            assert!(!nowhere, "{method} {path}: {}", answer.status);
        }
    }
}

/// The commands of the page do what it says, as a user pastes them: each block is one shell, and
/// all run in one folder.
#[cfg(unix)]
#[test]
fn the_commands_of_the_page_work() {
    let page = std::fs::read_to_string(root().join("docs/service.md")).unwrap();
    let folder = Folder::new("service-docs");
    std::os::unix::fs::symlink(root().join("docs"), folder.0.join("docs")).unwrap();
    std::fs::create_dir(folder.0.join("examples")).unwrap();
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    for entry in examples.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        std::fs::copy(&entry, folder.0.join("examples").join(entry.file_name().unwrap())).unwrap();
    }
    // The same valley in an eighth of the time.
    let valley = std::fs::read_to_string(root().join("examples/valley.toml")).unwrap();
    let small = valley.replace("width = 640\nheight = 640\n", "width = 224\nheight = 224\n");
    assert_ne!(small, valley);
    std::fs::write(folder.0.join("examples/valley.toml"), small).unwrap();
    let service = Service::start(&folder, "");
    let blocks: Vec<&str> =
        page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let run: Vec<&&str> = blocks
        .iter()
        .filter(|block| block.contains("curl") || block.contains("client.py"))
        .collect();
    assert!(run.len() > 5, "{} blocks", run.len());
    for program in ["curl", "python3"] {
        if std::process::Command::new(program).arg("--version").output().is_err() {
            eprintln!("LEFT OUT: the_commands_of_the_page_work: {program} is missing");
            assert!(std::env::var("CI").is_err(), "{program} is missing");
            return;
        }
    }
    let requests = std::process::Command::new("python3")
        .args(["-c", "import requests"])
        .status()
        .is_ok_and(|status| status.success());
    for block in run {
        if block.contains("client.py") && !requests {
            eprintln!("LEFT OUT: examples/client.py: python3 has no requests");
            continue;
        }
        let text = block.replace("http://127.0.0.1:7373", &format!("http://{}", service.address));
        let ran = std::process::Command::new("sh")
            .current_dir(&folder.0)
            .args(["-euc", &text])
            .output()
            .unwrap();
        let (out, err) =
            (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{text}\n{out}\n{err}");
        assert!(!out.contains("urn:thalweg:problem"), "{text}\n{out}");
    }
}

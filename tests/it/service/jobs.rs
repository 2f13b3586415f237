//! Jobs: the bytes of `thalweg run`, levels on the way, events, cancelling, results by digest.

use super::{LONG, RECIPE, Service, events, floats, thalweg};
use crate::command::Folder;
use serde_json::{Value, json};

/// A job leaves the files of `thalweg run`, byte for byte, and its manifest among them; and so does
/// its archive.
/// Holds M6.
#[test]
fn a_job_has_the_bytes_of_a_run() {
    let folder = Folder::new("service-bytes");
    std::fs::write(folder.0.join("hills.toml"), RECIPE).unwrap();
    thalweg(&folder, "run hills.toml -o run --device cpu --frames 4");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs?frames=4", RECIPE);
    assert_eq!(job["state"], "succeeded", "{job}");
    let result = &job["result"];
    let mut seen = vec![];
    for file in result["files"].as_array().unwrap() {
        let name = file["name"].as_str().unwrap();
        let expected = folder.read(&format!("run/{name}"));
        let got = service.get(file["href"].as_str().unwrap()).ok();
        assert_eq!(got.body, expected, "{name}");
        assert_eq!(file["bytes"], expected.len(), "{name}");
        assert_eq!(file["blake3"], blake3::hash(&expected).to_hex().to_string(), "{name}");
        assert_eq!(got.header("content-type"), file["media_type"].as_str(), "{name}");
        seen.push(name.to_string());
    }
    let mut there: Vec<String> = std::fs::read_dir(folder.0.join("run"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    there.retain(|name| name != "frames");
    there.extend((0..4).map(|n| format!("frames/{n:04}.png")));
    there.sort();
    assert_eq!(seen, there);
    let picture = service.get(&format!("{}timelapse/2.png", result["href"].as_str().unwrap())).ok();
    assert_eq!(picture.body, folder.read("run/frames/0002.png"));
    // The archive has the same files.
    let archive = service.get(&format!("{}bundle.zip", result["href"].as_str().unwrap())).ok();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(archive.body)).unwrap();
    assert_eq!(archive.len(), seen.len());
    for name in &seen {
        let mut bytes = vec![];
        std::io::Read::read_to_end(&mut archive.by_name(name).unwrap(), &mut bytes).unwrap();
        assert_eq!(bytes, folder.read(&format!("run/{name}")), "{name}");
    }
}

/// Levels are those of a run that ends there.
#[test]
fn levels_are_those_of_shorter_runs() {
    let folder = Folder::new("service-levels");
    std::fs::write(folder.0.join("hills.toml"), RECIPE).unwrap();
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    let levels = job["levels"].as_array().unwrap();
    assert_eq!(
        levels.iter().map(|level| level["level"].as_i64().unwrap()).collect::<Vec<_>>(),
        [1, 0]
    );
    for level in levels {
        let n = &level["level"];
        thalweg(
            &folder,
            &format!(
                "run hills.toml -o run{n} --level {n} --device cpu --set output.format=r32 --set \
                 output.maps=height"
            ),
        );
        let got = service.get(level["href"].as_str().unwrap()).ok();
        assert_eq!(got.body, folder.read(&format!("run{n}/height.r32")), "level {n}");
        for (name, key) in [
            ("thalweg-width", "width"),
            ("thalweg-height", "height"),
            ("thalweg-spacing", "spacing_m"),
        ] {
            assert_eq!(
                got.header(name).unwrap().parse::<f64>().unwrap(),
                level[key].as_f64().unwrap()
            );
        }
    }
    service.get("/v1/jobs/1/levels/7/height.r32").problem(404, &["level 7"]);
}

/// The same recipe again is answered at once, from the store; another is not, nor is the same one
/// with another name.
#[test]
fn the_same_recipe_is_answered_from_the_store() {
    let folder = Folder::new("service-again");
    let service = Service::start(&folder, "");
    let first = service.job("/v1/jobs", RECIPE);
    // As JSON and with a default spelled out it is the same recipe.
    let told = service.post("/v1/recipes", RECIPE).ok().json();
    let mut other = told["json"].clone();
    other["stage"][2]["every"] = Value::Null;
    other["stage"][2].as_object_mut().unwrap().remove("every");
    other["margin_cells"] = 0.into();
    let again = service.ask(
        "POST",
        "/v1/jobs",
        &[("content-type", "application/json")],
        other.to_string().as_bytes(),
    );
    assert_eq!(again.status, 200);
    let again = again.json();
    assert_eq!((&again["state"], &again["result"]), (&json!("succeeded"), &first["result"]));
    assert_eq!(again["recipe_digest"], told["digest"]);
    assert_ne!(again["id"], first["id"]);
    assert_eq!(service.post("/v1/jobs", &RECIPE.replace("seed = 5", "seed = 6")).status, 202);
    // A key names a request, also where the result is there already.
    let known = || {
        let headers = [("content-type", "application/toml"), ("idempotency-key", "k0")];
        service.ask("POST", "/v1/jobs", &headers, RECIPE.as_bytes())
    };
    assert_eq!(known().json()["id"], known().json()["id"]);
    // Requests with one key at the same time are one job.
    let headers = [("content-type", "application/toml"), ("idempotency-key", "k9")];
    let recipe = RECIPE.replace("seed = 5", "seed = 9");
    let ask = || service.ask("POST", "/v1/jobs", &headers, recipe.as_bytes());
    let ids: Vec<Value> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap().json()["id"].clone()).collect()
    });
    assert!(ids.iter().all(|id| id.is_string() && *id == ids[0]), "{ids:?}");
    let key = |recipe: &str| {
        service.ask(
            "POST",
            "/v1/jobs",
            &[("content-type", "application/toml"), ("idempotency-key", "k1")],
            recipe.as_bytes(),
        )
    };
    let (first, second) = (
        key(&RECIPE.replace("seed = 5", "seed = 7")),
        key(&RECIPE.replace("seed = 5", "seed = 7")),
    );
    assert_eq!((first.status, second.status), (202, 200));
    assert_eq!(first.json()["id"], second.json()["id"]);
    key(&RECIPE.replace("seed = 5", "seed = 8")).problem(422, &["Idempotency-Key"]);
}

/// A client that watches sees the states, the levels, and the end; one that comes again sees what
/// it has not seen.
#[test]
fn events_can_be_taken_up_again() {
    let folder = Folder::new("service-events");
    let service = Service::start(&folder, "");
    let id = service.post("/v1/jobs", RECIPE).json()["id"].as_str().unwrap().to_string();
    let path = format!("/v1/jobs/{id}/events");
    let seen = events(&service.get(&path).ok().text());
    let kinds = |seen: &[(String, String, Value)]| {
        seen.iter()
            .map(|(kind, ..)| kind.clone())
            .filter(|kind| kind != "progress")
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&seen).last().unwrap(), "end");
    assert_eq!(kinds(&seen).iter().filter(|kind| *kind == "level").count(), 2);
    assert_eq!(seen.last().unwrap().2["state"], "succeeded");
    // The end of a job that has ended is told again, with its levels.
    let late = events(&service.get(&path).ok().text());
    assert_eq!(kinds(&late), ["job", "level", "level", "end"]);
    // A browser comes again after the end, unless it is told not to.
    assert_eq!(service.ask("GET", &path, &[("last-event-id", &late[3].1)], b"").status, 204);
    for n in 0..late.len() - 1 {
        let resumed = service.ask("GET", &path, &[("last-event-id", &late[n].1)], b"").ok();
        assert_eq!(events(&resumed.text()), late[n + 1..], "after event {n}");
    }
    // Numbers from before the end belong to other events: a client gets all events again.
    for (_, number, _) in &seen {
        let resumed = service.ask("GET", &path, &[("last-event-id", number)], b"").ok();
        assert_eq!(events(&resumed.text()), late, "after {number}");
    }
    // What is no number of an event here is none.
    for garbage in ["", "x", "-", "0-1", "99999999999999999999", &format!("{}9", late[0].1)] {
        let resumed = service.ask("GET", &path, &[("last-event-id", garbage)], b"").ok();
        assert_eq!(events(&resumed.text()), late, "{garbage:?}");
    }
}

/// A job of many minutes ends when it is cancelled, wherever it is, and as often as it is
/// cancelled.
#[test]
fn jobs_are_cancelled_and_stay_so() {
    let folder = Folder::new("service-cancel");
    let service = Service::start(&folder, "");
    let id = service.post("/v1/jobs", LONG).json()["id"].as_str().unwrap().to_string();
    let waits = service.post("/v1/jobs", &LONG.replace("seed = 1", "seed = 2")).json()["id"]
        .as_str()
        .unwrap()
        .to_string();
    service.until(&id, |job| job["progress"]["step"].as_u64().unwrap_or(0) > 3);
    let job = service.ask("DELETE", &format!("/v1/jobs/{waits}"), &[], b"").ok().json();
    assert_eq!(job["state"], "cancelled");
    assert_eq!(service.ask("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 200);
    let job = service.wait(&id);
    assert_eq!(job["state"], "cancelled");
    assert!(job["result"].is_null() && job["error"].is_null());
    for _ in 0..2 {
        assert_eq!(service.ask("DELETE", &format!("/v1/jobs/{id}"), &[], b"").ok().json(), job);
    }
    assert_eq!(
        std::fs::read_dir(folder.0.join("state/work")).unwrap().count(),
        0,
        "nothing is left"
    );
    // After its end, nothing is cancelled any more.
    let done = service.job("/v1/jobs", RECIPE);
    let after = service
        .ask("DELETE", &format!("/v1/jobs/{}", done["id"].as_str().unwrap()), &[], b"")
        .ok()
        .json();
    assert_eq!(after, done);
    service.ask("DELETE", "/v1/jobs/999", &[], b"").problem(404, &["no such job"]);
    service.get("/v1/jobs/x1").problem(404, &["no such job"]);
    let all = service.get("/v1/jobs").ok().json();
    let states: Vec<&str> =
        all["jobs"].as_array().unwrap().iter().map(|job| job["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["succeeded", "cancelled", "cancelled"]);
}

/// Results have strong tags, ranges, and addresses that never change.
#[test]
fn results_are_cached_and_cut() {
    let folder = Folder::new("service-results");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    let href = job["result"]["href"].as_str().unwrap();
    let path = format!("{href}height.tif");
    let whole = service.get(&path).ok();
    let tag = whole.header("etag").unwrap().to_string();
    assert_eq!(tag, format!("\"{}\"", blake3::hash(&whole.body).to_hex()));
    assert_eq!(whole.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    for given in [tag.as_str(), "*", &format!("\"x\", W/{tag}")] {
        let same = service.ask("GET", &path, &[("if-none-match", given)], b"");
        assert_eq!(
            (same.status, same.body.len(), same.header("etag")),
            (304, 0, Some(tag.as_str()))
        );
    }
    assert_eq!(service.ask("GET", &path, &[("if-none-match", "\"x\"")], b"").status, 200);
    let length = whole.body.len();
    for (range, part) in
        [("bytes=0-9", 0..10), ("bytes=10-", 10..length), ("bytes=-5", length - 5..length)]
    {
        let got = service.ask("GET", &path, &[("range", range)], b"");
        assert_eq!(got.status, 206, "{range}");
        assert_eq!(got.body, whole.body[part.clone()], "{range}");
        assert_eq!(
            got.header("content-range").unwrap(),
            format!("bytes {}-{}/{length}", part.start, part.end - 1)
        );
        assert_eq!(got.header("etag"), Some(tag.as_str()));
    }
    // A range of what another tag names would be a range of something else.
    assert_eq!(
        service.ask("GET", &path, &[("range", "bytes=0-9"), ("if-range", "\"x\"")], b"").body,
        whole.body
    );
    assert_eq!(
        service.ask("GET", &path, &[("range", "bytes=0-9"), ("if-range", &tag)], b"").status,
        206
    );
    for range in [format!("bytes={length}-"), "bytes=9-3".into(), format!("bytes={}0-", length)] {
        let refused = service.ask("GET", &path, &[("range", &range)], b"");
        assert!([416, 200].contains(&refused.status), "{range}: {}", refused.status);
        assert!(refused.status == 416 || refused.body == whole.body);
    }
    // HEAD has the head of GET.
    let head = service.ask("HEAD", &path, &[], b"");
    assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, Some(tag.as_str())));
    assert_eq!(head.header("content-length").unwrap().parse::<usize>().unwrap(), length);
    // The listing is the job's own result.
    assert_eq!(service.get(href).ok().json(), job["result"]);
    assert_eq!(service.get(href.trim_end_matches('/')).header("location"), Some(href));
    service.get(&format!("{href}result.json")).problem(404, &["result.json"]);
    service
        .get(&format!("/v1/results/{}/", "0".repeat(64)))
        .problem(404, &["post its recipe again"]);
}

/// Any map can be had in any format: the bytes of a run that writes it so.
#[test]
fn maps_can_be_had_in_every_format() {
    let folder = Folder::new("service-fields");
    std::fs::write(folder.0.join("hills.toml"), RECIPE).unwrap();
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    let href = job["result"]["href"].as_str().unwrap();
    assert_eq!(
        job["result"]["fields"],
        json!(["height", "flow", "erosion", "slope", "aspect", "curvature", "sky_view"])
    );
    for format in ["png", "tif", "exr", "npy", "r16", "r32", "asc"] {
        let run = format!(
            "run hills.toml -o {format} --device cpu --set output.format={format} --set \
             output.maps=height,flow,slope,sky_view"
        );
        thalweg(&folder, &run);
        for map in ["height", "flow", "slope", "sky_view"] {
            let got = service.get(&format!("{href}fields/{map}.{format}")).ok();
            assert_eq!(
                got.body,
                folder.read(&format!("{format}/{map}.{format}")),
                "{map}.{format}"
            );
            assert_eq!(
                (got.header("thalweg-width"), got.header("thalweg-height")),
                (Some("160"), Some("128"))
            );
        }
    }
    let heights = floats(&service.get(&format!("{href}fields/height.r32")).ok().body);
    let (low, high) =
        heights.iter().fold((f32::MAX, f32::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    assert_eq!(job["result"]["range_m"], json!([low, high]));
    let problem =
        service.get(&format!("{href}fields/biome.tif")).problem(422, &["biome", "height, flow"]);
    assert_eq!(problem["type"], "urn:thalweg:problem:param");
    service.get(&format!("{href}fields/height.bmp")).problem(422, &[".bmp"]);
}

/// Files come with the recipe or before it, and are named by digest or by part; the bytes are those
/// of a run with the files.
#[test]
fn inputs_are_sent_and_named() {
    let folder = Folder::new("service-inputs");
    let recipe = "schema = 2\nname = \"hills\"\nspacing_m = 5\ninput = \"land.r32\"\n[[stage]]\n\
                  kind = \"layer\"\nmap = \"hardness\"\n\
                  from = \"file\"\nfile = \"mask.png\"\n[[stage]]\nkind = \"strokes\"\n\
                  stroke = [{ tool = \"stamp\", file = \"mask.png\", \
                  at_m = [[80, 60]], radius_m = 60, amount_m = 30 }]\n[[stage]]\n\
                  kind = \"droplets\"\nrain = 0.5\nlifetime = 8\n[output]\n\
                  maps = [\"height\", \"hardness\"]\nformat = \"r32\"\n";
    let heights: Vec<u8> = (0..32 * 32)
        .flat_map(|i: i32| ((i % 32 * 7 % 13) as f32 + (i / 32) as f32).to_le_bytes())
        .collect();
    let mask = image::GrayImage::from_fn(32, 32, |x, y| image::Luma([(x * 8 / 2 + y * 4) as u8]));
    let png = thalweg::io::encode_picture(mask).unwrap();
    for (name, bytes) in
        [("hills.toml", recipe.as_bytes()), ("land.r32", &heights), ("mask.png", &png)]
    {
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    thalweg(&folder, "run hills.toml -o run --device cpu");
    let service = Service::start(&folder, "");
    let part = |name: &str, kind: &str, bytes: &[u8]| {
        let head = format!(
            "--x\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\
             content-type: {kind}\r\n\r\n"
        );
        [head.as_bytes(), bytes, b"\r\n"].concat()
    };
    let multipart = ("content-type", "multipart/form-data; boundary=x");
    let all = [
        part("land.r32", "application/octet-stream", &heights),
        part("recipe", "application/toml", recipe.as_bytes()),
        part("mask.png", "image/png", &png),
        b"--x--\r\n".to_vec(),
    ];
    let posted = service.ask("POST", "/v1/jobs", &[multipart], &all.concat());
    assert_eq!(posted.status, 202, "{posted:?}");
    let job = service.wait(posted.json()["id"].as_str().unwrap());
    assert_eq!(job["state"], "succeeded", "{job}");
    for name in ["height.r32", "hardness.r32", "manifest.json"] {
        let got = service.get(&format!("{}{name}", job["result"]["href"].as_str().unwrap())).ok();
        assert_eq!(got.body, folder.read(&format!("run/{name}")), "{name}");
    }
    // Sent before, and named by digest.
    let sent = service.ask("POST", "/v1/inputs?name=land.r32", &[], &heights).ok().json();
    assert_eq!(
        (&sent["width"], &sent["height"], &sent["max_m"]),
        (&json!(32), &json!(32), &json!(43.0))
    );
    assert_eq!(service.get(sent["href"].as_str().unwrap()).ok().body, heights);
    let mask = service.ask("POST", "/v1/inputs?name=mask.png", &[], &png).ok().json();
    let named = recipe
        .replace("\"land.r32\"", &format!("{{ upload = {} }}", sent["digest"]))
        .replace("\"mask.png\"", &format!("{{ upload = {} }}", mask["digest"]));
    let again = service.job("/v1/jobs", &named);
    let got = service.get(&format!("{}height.r32", again["result"]["href"].as_str().unwrap())).ok();
    assert_eq!(got.body, folder.read("run/height.r32"));
    // U4: the recipe with its files, from which the command makes the same land.
    let asked = [("content-type", "application/toml"), ("accept", "application/zip")];
    let packed = service.ask("POST", "/v1/recipes", &asked, named.as_bytes()).ok();
    assert_eq!(packed.header("content-type"), Some("application/zip"));
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(packed.body)).unwrap();
    archive.extract(folder.0.join("packed")).unwrap();
    thalweg(&folder, "run packed/recipe.toml -o again --device cpu");
    assert_eq!(folder.read("again/height.r32"), folder.read("run/height.r32"));
    // A preview takes them as well.
    assert_eq!(service.post("/v1/preview?cells=64", &named).status, 200);
    // Nothing of the server's can be named.
    std::fs::write(folder.0.join("state/secret.r32"), &heights).unwrap();
    for path in [
        "land.r32",
        "secret.r32",
        "../secret.r32",
        "/etc/passwd",
        "state/secret.r32",
        "http://localhost/x.r32",
        "CON.r32",
        "a\\b.r32",
    ] {
        let stolen = recipe
            .replace("input = \"land.r32\"", &format!("input = {path:?}"))
            .replace("mask.png", "");
        for route in ["/v1/jobs", "/v1/preview", "/v1/sheet", "/v1/recipes"] {
            let problem =
                service.post(route, &stolen).problem(422, &["cannot name files of the server"]);
            assert_eq!(problem["errors"][0]["pointer"], "/input");
        }
    }
    let problem = service
        .post("/v1/jobs", &named.replacen("file = {", "file = \"x.png\" # {", 1))
        .problem(422, &["x.png"]);
    assert_eq!(problem["errors"][0]["pointer"], "/stage/0/file");
    // Of a stroke no more than of a stage.
    for file in [json!("/etc/passwd"), json!("secret.r32"), json!({ "upload": "../../x" })] {
        let stamp = json!({ "tool": "stamp", "file": file, "at_m": [[80, 60]], "radius_m": 60,
            "amount_m": 30 });
        let stages = json!([{ "kind": "flat" }, { "kind": "strokes", "stroke": [stamp] }]);
        let stolen =
            json!({ "schema": 2, "width": 32, "height": 32, "spacing_m": 5, "stage": stages })
                .to_string();
        for route in ["/v1/jobs", "/v1/preview", "/v1/sheet", "/v1/recipes"] {
            let json = ("content-type", "application/json");
            let problem = service
                .ask("POST", route, &[json], stolen.as_bytes())
                .problem(422, &["POST /v1/inputs"]);
            assert_eq!(problem["errors"][0]["pointer"], "/stage/1/stroke/0/file");
        }
    }
    service
        .post("/v1/jobs", &recipe.replace("\"land.r32\"", "{ upload = \"../../x\" }"))
        .problem(422, &["POST /v1/inputs"]);
    // What is no map is said to be none, by the client's name for it.
    for (name, bytes, words) in [
        ("x.png", &png[..40], "x.png"),
        ("x.tif", b"II*\0".as_slice(), "x.tif"),
        ("x.exr", b"", "x.exr"),
    ] {
        service.ask("POST", &format!("/v1/inputs?name={name}"), &[], bytes).problem(422, &[words]);
    }
    for name in ["x", "..%2fx.png", ".png", "%00.png", &"x".repeat(300)] {
        service
            .ask("POST", &format!("/v1/inputs?name={name}"), &[], &png)
            .problem(400, &["name of a file"]);
    }
}

/// A level that is there stays there while its job ends and its files move to the result.
#[test]
fn levels_stay_while_a_job_ends() {
    let folder = Folder::new("service-levels-stay");
    let service = Service::start(&folder, "");
    for seed in 0..20 {
        let recipe = format!(
            "schema = 2\nwidth = 129\nheight = 129\nspacing_m = 10\nlevels = 2\nseed = {seed}\n\
             [[stage]]\nkind = \"noise\"\n[[stage]]\nkind = \"thermal\"\nsteps = 20\n"
        );
        let job = service.post("/v1/jobs", &recipe).json();
        let path = format!("/v1/jobs/{}/levels/1/height.r32", job["id"].as_str().unwrap());
        let mut seen = 0;
        while seen < 40 {
            let status = service.get(&path).status;
            assert!(status == 200 || seen == 0 && status == 404, "seed {seed}: {status}");
            seen += usize::from(status == 200);
        }
    }
}

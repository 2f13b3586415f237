//! What outlives the process: jobs that go on after a kill, to the same bytes; an index that is
//! lost or damaged; disk that runs out.

use super::{Answer, LONG, RECIPE, Service, thalweg};
use crate::command::Folder;

/// A service that is killed in the middle of a job finds it again and goes on from its last
/// snapshot, to the bytes of a run without a break; and a job that waits stays in the queue.
#[test]
fn a_killed_service_goes_on() {
    let folder = Folder::new("service-kill");
    // Its last stage takes long, so that it is killed there.
    let recipe = RECIPE.replace("steps = 4", "steps = 20000").replace("levels = 2", "levels = 3");
    let recipe = recipe.replace("kind = \"thermal\"", "kind = \"thermal\"\nfinest_only = true");
    std::fs::write(folder.0.join("hills.toml"), &recipe).unwrap();
    let service = Service::start(&folder, "--snapshots 0");
    let id = service.post("/v1/jobs", &recipe).json()["id"].as_str().unwrap().to_string();
    let waits = service.post("/v1/jobs", RECIPE).json()["id"].as_str().unwrap().to_string();
    let job = service.until(&id, |job| {
        job["progress"]["stage"] == "thermal" && job["progress"]["step"].as_u64().unwrap() > 0
    });
    assert_eq!(job["levels"].as_array().unwrap().len(), 3, "{job}");
    service.kill();
    let service = Service::start(&folder, "-v --snapshots 0");
    let job = service.wait(&id);
    assert_eq!(job["state"], "succeeded", "{job}");
    let log = String::from_utf8(folder.read("log")).unwrap();
    assert!(log.contains("resumes from a snapshot"), "{log}");
    thalweg(&folder, "run hills.toml -o run --device cpu");
    for file in job["result"]["files"].as_array().unwrap() {
        let name = file["name"].as_str().unwrap();
        assert_eq!(
            service.get(file["href"].as_str().unwrap()).ok().body,
            folder.read(&format!("run/{name}")),
            "{name}"
        );
    }
    assert_eq!(job["levels"].as_array().unwrap().len(), 3);
    assert_eq!(service.wait(&waits)["state"], "succeeded");
}

/// A snapshot that is torn is not used: the job starts over, to the same bytes.
#[test]
fn a_torn_snapshot_is_not_used() {
    let folder = Folder::new("service-torn");
    let recipe = RECIPE
        .replace("steps = 4", "steps = 20000")
        .replace("kind = \"thermal\"", "kind = \"thermal\"\nfinest_only = true");
    std::fs::write(folder.0.join("hills.toml"), &recipe).unwrap();
    let service = Service::start(&folder, "--snapshots 0");
    let id = service.post("/v1/jobs", &recipe).json()["id"].as_str().unwrap().to_string();
    service.until(&id, |job| {
        job["progress"]["stage"] == "thermal" && job["progress"]["step"].as_u64().unwrap() > 0
    });
    service.kill();
    let path = folder.0.join("state/work").join(&id).join("snapshot");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&path, bytes).unwrap();
    let service = Service::start(&folder, "-v");
    let job = service.wait(&id);
    assert_eq!(job["state"], "succeeded", "{job}");
    let log = String::from_utf8(folder.read("log")).unwrap();
    assert!(log.contains("the snapshot is not used"), "{log}");
    thalweg(&folder, "run hills.toml -o run --device cpu");
    let got =
        service.get(&format!("{}manifest.json", job["result"]["href"].as_str().unwrap())).ok();
    assert_eq!(got.body, folder.read("run/manifest.json"));
}

/// An orderly end interrupts the job that runs, and the next start goes on with it. Watchers learn
/// of it.
#[cfg(unix)]
#[test]
fn an_orderly_end_keeps_the_job() {
    let folder = Folder::new("service-end");
    let service = Service::start(&folder, "");
    let id = service.post("/v1/jobs", LONG).json()["id"].as_str().unwrap().to_string();
    service.until(&id, |job| job["progress"]["step"].as_u64().unwrap_or(0) > 3);
    let mut watching = service.send("GET", &format!("/v1/jobs/{id}/events"), &[], b"");
    assert_eq!(service.end(), Some(0));
    let mut heard = vec![];
    let _ = std::io::Read::read_to_end(&mut watching, &mut heard);
    assert!(
        String::from_utf8_lossy(&heard).contains("\"state\":\"interrupted\""),
        "{}",
        String::from_utf8_lossy(&heard)
    );
    let service = Service::start(&folder, "");
    service.until(&id, |job| job["state"] == "running");
    assert_eq!(service.ask("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 200);
    assert_eq!(service.wait(&id)["state"], "cancelled");
}

/// Without its index a service still has its results, and knows the recipes that made them; one
/// that is damaged is put aside.
#[test]
fn the_index_may_be_lost() {
    let folder = Folder::new("service-index");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    service.kill();
    for damage in
        [None, Some(b"no database at all, but long enough to be looked at by SQLite".repeat(100))]
    {
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            let _ = std::fs::remove_file(folder.0.join("state").join(name));
        }
        if let Some(bytes) = &damage {
            std::fs::write(folder.0.join("state/index.sqlite"), bytes).unwrap();
        }
        let service = Service::start(&folder, "");
        assert_eq!(service.get("/v1/jobs").json()["jobs"], serde_json::json!([]));
        let again = service.post("/v1/jobs", RECIPE);
        assert_eq!(again.status, 200, "from the store");
        assert_eq!(again.json()["result"], job["result"]);
        service.kill();
    }
    let aside = std::fs::read_dir(folder.0.join("state"))
        .unwrap()
        .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().contains("damaged"));
    assert_eq!(aside.count(), 1);
}

/// Another program may hold the index: requests that need it are told to come again, others are
/// answered, and a job that ends meanwhile is entered afterwards.
#[test]
fn the_index_may_be_held() {
    let folder = Folder::new("service-held");
    let service = Service::start(&folder, "");
    let recipe = RECIPE.replace("steps = 4", "steps = 3000");
    let id = service.post("/v1/jobs", &recipe).json()["id"].as_str().unwrap().to_string();
    service.until(&id, |job| job["progress"]["fraction"].as_f64().unwrap_or(0.0) > 0.0);
    let other = rusqlite::Connection::open(folder.0.join("state/index.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = service.post("/v1/jobs", RECIPE);
    let problem = refused.problem(503, &["another program holds", "index.sqlite"]);
    assert_eq!(problem["type"], "urn:thalweg:problem:index");
    assert!(refused.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    assert_eq!(service.get("/healthz").status, 200);
    assert_eq!(service.post("/v1/preview", RECIPE).status, 200);
    let log = || String::from_utf8(folder.read("log")).unwrap();
    let begun = std::time::Instant::now();
    while !log().contains("a job waits for the index") {
        assert!(begun.elapsed().as_secs() < 120, "{}", log());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    other.execute_batch("ROLLBACK").unwrap();
    let job = service.wait(&id);
    assert_eq!(job["state"], "succeeded", "{job}");
    assert_eq!(service.get(job["result"]["href"].as_str().unwrap()).status, 200);
    assert_eq!(service.job("/v1/jobs", RECIPE)["state"], "succeeded");
}

/// Files that can be written no further: the job and the file that was sent are refused by name,
/// nothing of them is left, and smaller ones go on.
#[cfg(unix)]
#[test]
fn a_disk_that_is_full() {
    let folder = Folder::new("service-full");
    // Blocks of 512 bytes: no file has more than 256 KiB.
    let service = Service::start_after("ulimit -f 512", &folder, "");
    let small = service.job("/v1/jobs", RECIPE);
    assert_eq!(small["state"], "succeeded", "{small}");
    let large =
        RECIPE.replace("width = 160", "width = 640").replace("height = 128", "height = 640");
    let job = service.job("/v1/jobs", &large);
    assert_eq!(
        (job["state"].as_str(), job["error"]["status"].as_u64()),
        (Some("failed"), Some(507)),
        "{job}"
    );
    assert!(!job.to_string().contains(folder.0.to_str().unwrap()), "{job}");
    service.ask("POST", "/v1/inputs?name=x.r32", &[], &vec![0; 300_000]).problem(507, &["disk"]);
    let left = |name: &str| std::fs::read_dir(folder.0.join("state").join(name)).unwrap().count();
    assert_eq!((left("work"), left("uploads"), left("results")), (0, 0, 1));
    let again = service.job("/v1/jobs", &RECIPE.replace("seed = 5", "seed = 6"));
    assert_eq!(again["state"], "succeeded", "{again}");
    for file in small["result"]["files"].as_array().unwrap() {
        assert_eq!(service.get(file["href"].as_str().unwrap()).status, 200, "{file}");
    }
}

/// The index cannot grow any more: what is there is served, a job that runs ends as it has ended,
/// and a restart with room finds all of it. P9: no result could be fetched, and the job ran for
/// ever.
#[cfg(unix)]
#[test]
fn an_index_that_is_full_loses_nothing() {
    let folder = Folder::new("service-full-index");
    // Blocks of 512 bytes: what the index has grown by has no more than 192 KiB.
    let service = Service::start_after("ulimit -f 384", &folder, "");
    let small = service.job("/v1/jobs", RECIPE);
    assert_eq!(small["state"], "succeeded", "{small}");
    let long = service.post("/v1/jobs", LONG).json()["id"].as_str().unwrap().to_string();
    service.until(&long, |job| job["state"] == "running");
    // The same recipe again is one more line, as long as there is room for it; then the job that
    // made it is the answer.
    let mut again = small.clone();
    for _ in 0..500 {
        let before = again["id"].clone();
        again = service.post("/v1/jobs", RECIPE).ok().json();
        assert_eq!(again["result"]["digest"], small["result"]["digest"]);
        if again["id"].as_str().unwrap().parse::<u32>().unwrap()
            <= before.as_str().unwrap().parse().unwrap()
        {
            break;
        }
    }
    service.post("/v1/jobs", &RECIPE.replace("seed = 5", "seed = 6")).problem(507, &["full"]);
    // A key that there is no room to remember would lead to another job the next time.
    let keyed = |service: &Service| {
        let headers = [("content-type", "application/toml"), ("idempotency-key", "k")];
        service.ask("POST", "/v1/jobs", &headers, RECIPE.as_bytes())
    };
    keyed(&service).problem(507, &["full"]);
    let served = |service: &Service| {
        let files = small["result"]["files"].as_array().unwrap().iter();
        let bytes: Vec<Vec<u8>> =
            files.map(|file| service.get(file["href"].as_str().unwrap()).ok().body).collect();
        let href = small["result"]["href"].as_str().unwrap();
        let made = ["bundle.zip", "fields/height.npy"]
            .map(|name| service.get(&format!("{href}{name}")).ok().body);
        service.get(href).ok();
        [bytes, made.to_vec()].concat()
    };
    let first = served(&service);
    // It ran when the index was full.
    service.ask("DELETE", &format!("/v1/jobs/{long}"), &[], b"").ok();
    assert_eq!(service.wait(&long)["state"], "cancelled");
    let listed = service.get("/v1/jobs?most=1000").ok().json();
    let states = |state: &str| {
        listed["jobs"].as_array().unwrap().iter().filter(|job| job["state"] == state).count()
    };
    assert_eq!((states("cancelled"), states("running"), states("queued")), (1, 0, 0));
    service.kill();
    let service = Service::start(&folder, "");
    assert!(served(&service) == first);
    let [once, twice] = [keyed(&service), keyed(&service)].map(|answer| answer.ok().json());
    assert_eq!(once["id"], twice["id"]);
    assert_eq!(service.get(&format!("/v1/jobs/{long}")).ok().json()["state"], "cancelled");
    assert_eq!(std::fs::read_dir(folder.0.join("state/work")).unwrap().count(), 0);
    assert_eq!(
        service.get(&format!("/v1/jobs/{}", small["id"].as_str().unwrap())).ok().json()["state"],
        "succeeded"
    );
    assert_eq!(
        service.job("/v1/jobs", &RECIPE.replace("seed = 5", "seed = 6"))["state"],
        "succeeded"
    );
}

/// Two services do not share a folder.
#[test]
fn a_folder_has_one_service() {
    let folder = Folder::new("service-two");
    let _service = Service::start(&folder, "");
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .current_dir(&folder.0)
        .args(["serve", "--port", "0", "--state", "state"])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&second.stderr)
            .contains("another thalweg serve works in this folder")
    );
}

/// Results beyond the quota are evicted, the one wanted longest ago first; its recipe is run again
/// when it is posted again.
#[test]
fn the_quota_is_kept() {
    let folder = Folder::new("service-quota");
    let service = Service::start(&folder, "--disk 1");
    let recipe = |seed: u32| RECIPE.replace("seed = 5", &format!("seed = {seed}"));
    let first = service.job("/v1/jobs", &recipe(1));
    let href = first["result"]["href"].as_str().unwrap();
    assert_eq!(service.get(href).status, 200);
    for seed in 2..5 {
        // The clock of the index counts seconds.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        assert_eq!(service.job("/v1/jobs", &recipe(seed))["state"], "succeeded");
    }
    service.get(href).problem(404, &["post its recipe again"]);
    let job = service.get(&format!("/v1/jobs/{}", first["id"].as_str().unwrap())).ok().json();
    assert_eq!((&job["state"], job["result"].is_null()), (&first["state"], true));
    let again = service.post("/v1/jobs", &recipe(1));
    assert_eq!(again.status, 202);
    let again = service.wait(again.json()["id"].as_str().unwrap());
    assert_eq!(again["result"]["digest"], first["result"]["digest"]);
    let kept = std::fs::read_dir(folder.0.join("state/results")).unwrap().count();
    assert!((1..4).contains(&kept), "{kept} results");
}

/// Files beyond the quota are evicted, those sent first before others, also where they are small
/// and many. One that a job waits for stays.
#[test]
fn the_quota_is_kept_by_files() {
    let folder = Folder::new("service-quota-files");
    let service = Service::start(&folder, "--disk 1");
    let id = |answer: &Answer| answer.json()["id"].as_str().unwrap().to_string();
    let send = |parts: &[(String, Vec<u8>)]| {
        let mut body = vec![];
        for (name, bytes) in parts {
            let head = format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
        }
        body.extend(b"--x--\r\n");
        let multipart = ("content-type", "multipart/form-data; boundary=x");
        service.ask("POST", "/v1/jobs", &[multipart], &body)
    };
    let long = id(&service.post("/v1/jobs", LONG));
    service.until(&long, |job| job["state"] == "running");
    let recipe = "schema = 2\ninput = \"land.r32\"\n\
        [[stage]]\nkind = \"thermal\"\n";
    let awaited = send(&[
        ("land.r32".into(), vec![0; 64 * 64 * 4]),
        ("recipe".into(), recipe.as_bytes().to_vec()),
    ]);
    assert_eq!(awaited.status, 202, "{awaited:?}");
    let stored = |extension: &str| {
        let names = std::fs::read_dir(folder.0.join("state/uploads")).unwrap();
        let is = |name: &str| name.ends_with(extension);
        names.filter(|entry| is(&entry.as_ref().unwrap().file_name().to_string_lossy())).count()
    };
    let send_many = |extension: &str, count: usize| {
        let all: Vec<_> =
            (0..count).map(|n| (format!("{n}.{extension}"), n.to_string().into_bytes())).collect();
        // They are kept, though without a recipe the request is refused.
        all.chunks(60).for_each(|some| drop(send(some).problem(400, &["recipe"])));
    };
    send_many("png", 60);
    assert_eq!(stored(".png"), 60);
    // The clock of the index counts seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // Each takes a block of 4 KiB, and the land four: the quota has 256.
    send_many("asc", 300);
    assert_eq!((stored(".r32"), stored(".png"), stored(".asc")), (1, 0, 252));
    service.ask("DELETE", &format!("/v1/jobs/{long}"), &[], b"").ok();
    assert_eq!(service.wait(&id(&awaited))["state"], "succeeded");
}

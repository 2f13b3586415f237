//! Clients that are careless, slow or hostile: each gets a sentence or nothing, and the others
//! notice nothing.

use super::{Answer, LONG, RECIPE, Service};
use crate::command::Folder;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A service answers as it should.
#[track_caller]
fn lives(service: &Service) {
    assert_eq!(service.get("/healthz").ok().body, b"ok\n");
    assert_eq!(service.post("/v1/recipes", RECIPE).status, 200);
}

/// Bodies that are too large are refused when their length is known, and else when they have grown
/// too long; none is kept.
#[test]
fn bodies_have_an_end() {
    let folder = Folder::new("service-bodies");
    let service = Service::start(&folder, "--max-upload 1");
    let large = vec![b'#'; (1 << 20) + 1];
    for route in ["/v1/jobs", "/v1/preview", "/v1/sheet", "/v1/recipes", "/v1/dungeons"] {
        service.ask("POST", route, &[], &large).problem(413, &["at most 1048576 bytes"]);
    }
    service.ask("POST", "/v1/inputs?name=x.r32", &[], &large).problem(413, &["x.r32", "1048576"]);
    // One that never says how long it is, and never ends.
    for route in ["/v1/jobs", "/v1/inputs?name=x.r32"] {
        let mut stream = service.connect();
        let head = format!(
            "POST {route} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let chunk =
            [format!("{:x}\r\n", 1 << 16).as_bytes(), &vec![b' '; 1 << 16], b"\r\n"].concat();
        let sent = (0..1000).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        assert!(sent < 1000, "{route} takes no more than it may");
        let mut heard = vec![];
        let _ = stream.read_to_end(&mut heard);
        // The answer may be lost, since the client was still talking.
        assert!(
            heard.is_empty() || Answer::of(&heard).status == 413,
            "{}",
            String::from_utf8_lossy(&heard)
        );
    }
    // One that promises much and breaks off.
    let mut stream = service.connect();
    stream
        .write_all(
            b"POST /v1/inputs?name=x.r32 HTTP/1.1\r\nhost: localhost\r\ncontent-length: \
                       1000\r\n\r\nabc",
        )
        .unwrap();
    drop(stream);
    lives(&service);
    // It hears in its own time that a client has gone.
    let left = || std::fs::read_dir(folder.0.join("state/uploads")).unwrap().count();
    for _ in 0..1000 {
        if left() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    assert_eq!(left(), 0);
}

/// Bodies of parts with too many of them, endless names, or no end.
#[test]
fn parts_have_limits() {
    let folder = Folder::new("service-parts");
    let service = Service::start(&folder, "");
    let post = |body: &[u8]| {
        service.ask(
            "POST",
            "/v1/jobs",
            &[("content-type", "multipart/form-data; boundary=x")],
            body,
        )
    };
    let part = |name: &str, text: &str| {
        format!("--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let many: String = (0..10_000).map(|n| part(&format!("{n}.png"), "")).collect();
    post(many.as_bytes()).problem(413, &["64 parts"]);
    post(part(&"x".repeat(1 << 20), "").as_bytes()).problem(400, &[]);
    post(part("x", "no extension").as_bytes()).problem(400, &["name of a file"]);
    post(part("../x.png", "").as_bytes()).problem(400, &["name of a file"]);
    post((part("recipe", RECIPE) + "--x").as_bytes()).problem(400, &["multipart"]);
    post(b"--x--\r\n").problem(400, &["part called recipe"]);
    post(b"").problem(400, &[]);
    post(part("recipe", &"#".repeat(1 << 21)).as_bytes()).problem(413, &["1048576"]);
    service
        .ask("POST", "/v1/jobs", &[("content-type", "multipart/form-data")], b"")
        .problem(400, &[]);
    lives(&service);
}

/// Texts that are no recipes.
#[test]
fn texts_that_are_no_recipes() {
    let folder = Folder::new("service-texts");
    let service = Service::start(&folder, "");
    let json = |text: &str| {
        service.ask("POST", "/v1/jobs", &[("content-type", "application/json")], text.as_bytes())
    };
    for text in [
        "",
        "{",
        "nul",
        "[1,",
        "{\"schema\":1,\"schema\":1}",
        "\u{feff}",
        &"[".repeat(100_000),
        &"{\"a\":".repeat(100_000),
    ] {
        json(text).problem(400, &[]);
    }
    for text in [
        "1",
        "[]",
        "null",
        "\"x\"",
        "{}",
        "{\"schema\":2}",
        "{\"schema\":1}",
        "{\"schema\":1,\"width\":1e999}",
    ] {
        let status = json(text).status;
        assert!([400, 422].contains(&status), "{text}: {status}");
    }
    let toml = |text: &[u8]| {
        service.ask("POST", "/v1/jobs", &[("content-type", "application/toml")], text)
    };
    toml(b"\xff\xfe").problem(400, &["UTF-8"]);
    toml(b"a = ").problem(400, &[]);
    toml(format!("a = {}", "[".repeat(100_000)).as_bytes()).problem(400, &[]);
    for kind in ["text/html", "image/png", "application/yaml", "multipart/mixed; boundary=x"] {
        service
            .ask("POST", "/v1/jobs", &[("content-type", kind)], RECIPE.as_bytes())
            .problem(415, &["application/toml"]);
    }
    // Without a type, and with what curl says of any text, the text itself tells.
    for headers in [&[][..], &[("content-type", "application/x-www-form-urlencoded")]] {
        assert_eq!(service.ask("POST", "/v1/recipes", headers, RECIPE.as_bytes()).status, 200);
    }
    // Refusals name files as the client does, and no place of the server.
    let refused = service.ask("POST", "/v1/inputs?name=x.exe", &[], b"MZ");
    let text = refused.problem(422, &["x.exe"]).to_string();
    assert!(!text.contains(folder.0.to_str().unwrap()), "{text}");
    // What a recipe asks for has limits.
    let huge =
        RECIPE.replace("width = 160", "width = 16384").replace("height = 128", "height = 16384");
    let small = Service::start_in(&folder, "small", "--max-cells 10000 --max-work 1e6");
    small.post("/v1/jobs", &huge).problem(413, &["--max-cells"]);
    small.post("/v1/jobs", RECIPE).problem(413, &["--max-cells"]);
    let little = RECIPE
        .replace("width = 160", "width = 64")
        .replace("height = 128", "height = 64")
        .replace("rain = 1", "rain = 100");
    small.post("/v1/jobs", &little).problem(413, &["--max-work"]);
    small.post("/v1/preview", &little).problem(413, &["--max-work"]);
    service
        .post("/v1/jobs", &RECIPE.replace("width = 160", "width = 99999999999"))
        .problem(422, &["width"]);
    service.post("/v1/jobs?frames=3000000000", RECIPE).problem(422, &["frames"]);
    service.post("/v1/jobs?frames=x", RECIPE).problem(400, &["query", "frames"]);
    service.get("/v1/jobs/%ff").problem(400, &["address"]);
    service.post("/v1/jobs?frame_size=1", RECIPE).problem(400, &["frame_size"]);
    service.post("/v1/jobs?level=9", RECIPE).problem(422, &["level"]);
    lives(&service);
}

/// Paths that try to lead elsewhere lead nowhere.
#[test]
fn paths_lead_nowhere_else() {
    let folder = Folder::new("service-paths");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    let digest = job["result"]["digest"].as_str().unwrap();
    let tries = [
        "/../../../etc/passwd".into(),
        "/js/../Cargo.toml".into(),
        "/js/%2e%2e/Cargo.toml".into(),
        "/js/%2e%2e%2fCargo.toml".into(),
        "/js/%00".into(),
        "/js//etc/passwd".into(),
        "/js/..%5cCargo.toml".into(),
        format!("/v1/results/{digest}/..%2fresult.json"),
        format!("/v1/results/{digest}/%2e%2e/index.sqlite"),
        format!("/v1/results/{digest}/..%2f..%2f..%2findex.sqlite"),
        format!("/v1/results/{digest}/height.tif%00.png"),
        format!("/v1/results/{digest}/%2fetc%2fpasswd"),
        format!("/v1/results/{digest}/frames/..%2fheight.tif"),
        format!("/v1/results/{digest}/timelapse/..%2f..%2fheight.png"),
        format!("/v1/results/{digest}/timelapse/-1.png"),
        "/v1/results/..%2f..%2fx/".into(),
        "/v1/results/../index.sqlite".into(),
        format!("/v1/results/{}/", digest.to_uppercase()),
        format!("/v1/results/{digest}/tiles/..%2fheight/0/0/0.png"),
        "/v1/jobs/..%2f1".into(),
        "/v1/jobs/+1".into(),
        "/v1/jobs/1/levels/..%2f0/height.r32".into(),
        "/v1/inputs/..%2f..%2fx/height.r32".into(),
        "/v1/inputs/x/height.r32".into(),
    ];
    for path in tries {
        let answer = service.get(&path);
        assert!([404, 405, 400].contains(&answer.status), "{path}: {}", answer.status);
    }
    service
        .get(&format!("/v1/results/{digest}/fields/..%2fheight.r32"))
        .problem(422, &["no such map"]);
    // Methods that an address does not take, and a long one.
    service.ask("PUT", "/v1/jobs", &[], b"").problem(405, &["PUT"]);
    service.ask("DELETE", "/v1/stages", &[], b"").problem(405, &[]);
    service.ask("BREW", "/v1/jobs", &[], b"").problem(405, &[]);
    let long = service.raw(
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(1 << 20)).as_bytes(),
    );
    assert!(long.is_empty() || [414, 431, 400].contains(&Answer::of(&long).status));
    lives(&service);
}

/// Ranges that ask for the same bytes again and again get them at most once.
#[test]
fn ranges_do_not_multiply() {
    let folder = Folder::new("service-ranges");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", RECIPE);
    let path = format!("{}height.tif", job["result"]["href"].as_str().unwrap());
    let whole = service.get(&path).ok().body.len();
    let many = format!("bytes={}", vec!["0-"; 1000].join(","));
    for range in [
        many.as_str(),
        "bytes=0-,0-,0-",
        "bytes=0-1,1-2",
        "bytes=-0",
        "bytes=abc",
        "bytes=",
        "cells=0-1",
        "bytes=0-99999999999999999999",
    ] {
        let answer = service.ask("GET", &path, &[("range", range)], b"");
        assert!([200, 206, 416].contains(&answer.status), "{range}: {}", answer.status);
        assert!(answer.body.len() <= whole, "{range}");
    }
    lives(&service);
}

/// Clients that send their headers a byte at a time are cut off, and those that send nothing.
#[test]
fn slow_clients_are_cut_off() {
    let folder = Folder::new("service-slow");
    let service = Service::start(&folder, "--header-seconds 1");
    let mut slow: Vec<TcpStream> = (0..20).map(|_| service.connect()).collect();
    for (n, stream) in slow.iter_mut().enumerate().skip(10) {
        stream.write_all(&b"GET / HTTP/1.1\r\nhost: localhost\r\n"[..n]).unwrap();
    }
    lives(&service);
    for stream in &mut slow {
        let mut heard = vec![];
        let ended = stream.read_to_end(&mut heard);
        assert!(
            ended.is_ok() || ended.unwrap_err().kind() == std::io::ErrorKind::ConnectionReset,
            "it was cut off"
        );
    }
    // A body that does not come, either.
    let mut stalled = service.connect();
    stalled
        .write_all(
            b"POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nschema",
        )
        .unwrap();
    let mut heard = vec![];
    let _ = stalled.read_to_end(&mut heard);
    Answer::of(&heard).problem(408, &["body"]);
}

/// Clients that never read neither fill the memory nor hold up others.
#[test]
fn clients_that_never_read() {
    let folder = Folder::new("service-deaf");
    let service = Service::start(&folder, "");
    let id = service.post("/v1/jobs", LONG).json()["id"].as_str().unwrap().to_string();
    let deaf: Vec<TcpStream> =
        (0..50).map(|_| service.send("GET", &format!("/v1/jobs/{id}/events"), &[], b"")).collect();
    let previews: Vec<TcpStream> = (0..3)
        .map(|_| {
            service.send(
                "POST",
                "/v1/preview",
                &[("content-type", "application/toml")],
                RECIPE.as_bytes(),
            )
        })
        .collect();
    service.until(&id, |job| job["progress"]["step"].as_u64().unwrap_or(0) > 3);
    assert_eq!(service.post("/v1/preview", RECIPE).status, 200);
    assert_eq!(service.ask("DELETE", &format!("/v1/jobs/{id}"), &[], b"").status, 200);
    assert_eq!(service.wait(&id)["state"], "cancelled");
    drop((deaf, previews));
    lives(&service);
}

/// How many connections it has, and the one that asks.
fn connections(service: &Service) -> usize {
    let text = service.get("/metrics").ok().text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("thalweg_connections "))
        .unwrap_or_else(|| panic!("{text}"));
    line.parse().unwrap()
}

/// Waits until something holds.
#[track_caller]
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 120, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Clients that read nothing of a long answer are cut off; one that reads slowly gets all of it.
#[test]
fn answers_that_nobody_reads_end() {
    let folder = Folder::new("service-unread");
    let service = Service::start(&folder, "--header-seconds 2");
    let flat =
        "schema = 2\nwidth = 1024\nheight = 1024\nspacing_m = 10\n[[stage]]\nkind = \"flat\"\n";
    let path = "/v1/preview?cells=1024&fields=height,slope,aspect,curvature";
    let ask =
        || service.send("POST", path, &[("content-type", "application/toml")], flat.as_bytes());
    let deaf: Vec<TcpStream> = (0..5).map(|_| ask()).collect();
    let mut slow = ask();
    let (mut heard, mut piece) = (vec![], vec![0; 1 << 19]);
    loop {
        let count = slow.read(&mut piece).unwrap();
        heard.extend(&piece[..count]);
        if count == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let body = Answer::of(&heard).ok().body;
    let head = u32::from_le_bytes(body[..4].try_into().unwrap()) as usize;
    assert_eq!(body.len(), 4 + head + 4 * 4 * 1024 * 1024);
    until("those that read nothing are cut off", || connections(&service) == 1);
    drop(deaf);
    lives(&service);
}

/// A job goes on beside previews that never end, and a fifth of the time is its own: after it has
/// stood back it goes on for a quarter of that time before it stands back again, at most half a
/// second, however fast the machine is.
#[test]
fn a_job_has_its_share() {
    let folder = Folder::new("service-share");
    let service = Service::start(&folder, "");
    let mut preview = service.send(
        "POST",
        "/v1/preview?cells=512",
        &[("content-type", "application/toml")],
        LONG.as_bytes(),
    );
    // It has been admitted, and runs.
    preview.read_exact(&mut [0; 16]).unwrap();
    let recipe = RECIPE.replace("steps = 4", "steps = 2000");
    assert_eq!(service.job("/v1/jobs", &recipe)["state"], "succeeded");
    let figures = service.get("/metrics").ok().text();
    let figure = |name: &str| -> f64 {
        let line = figures.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {figures}")).parse().unwrap()
    };
    let (all, stood) = (
        figure("thalweg_job_duration_seconds_sum"),
        figure("thalweg_jobs_stood_back_seconds_total"),
    );
    // It may have ended just after it stood back, and a busy machine may have woken it late.
    assert!(
        stood > 0.0 && 4.0 * (all - stood) >= stood - 2.0,
        "of {all} s it stood back for {stood} s"
    );
    drop(preview);
    lives(&service);
}

/// The queue has an end, and says when to come again.
#[test]
fn the_queue_has_an_end() {
    let folder = Folder::new("service-queue");
    let service = Service::start(&folder, "--queue 2");
    let post =
        |seed: u32| service.post("/v1/jobs", &LONG.replace("seed = 1", &format!("seed = {seed}")));
    let first = post(1).json()["id"].as_str().unwrap().to_string();
    service.until(&first, |job| job["state"] == "running");
    assert_eq!((post(2).status, post(3).status), (202, 202));
    let full = post(4);
    full.problem(429, &["2 jobs wait"]);
    assert!(full.header("retry-after").unwrap().parse::<u32>().unwrap() > 0);
    assert_eq!(service.get("/readyz").status, 503);
}

/// More connections than have a place, ten thousand in all: some are served, the others wait, and
/// all get their answer.
#[test]
fn ten_thousand_connections() {
    let folder = Folder::new("service-many");
    let service = Service::start(&folder, "--connections 64 --header-seconds 60");
    for _ in 0..67 {
        // Half of them wait in the system's queue, which has 128 places on some systems.
        let streams: Vec<TcpStream> = (0..150).map(|_| service.connect()).collect();
        for mut stream in streams {
            stream
                .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .unwrap();
            let mut heard = vec![];
            stream.read_to_end(&mut heard).unwrap();
            assert!(heard.ends_with(b"ok\n"));
        }
    }
    lives(&service);
}

/// Ten thousand connections at once: all have a place, and each its answer.
#[cfg(target_os = "linux")]
#[test]
fn ten_thousand_connections_at_once() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    // The service has a limit of its own, which it raises by itself.
    let count = 10_050.min(most.saturating_sub(600));
    assert!(
        count >= 1000,
        "ulimit -Hn is {most}: the test needs 1600 open files, and 10650 for all of it"
    );
    if count < 10_050 {
        eprintln!("ulimit -Hn is {most}: {count} connections instead of 10050");
    }
    let folder = Folder::new("service-at-once");
    let service = Service::start_after(
        "ulimit -Sn 1024",
        &folder,
        "--connections 20000 --header-seconds 600",
    );
    let mut streams: Vec<TcpStream> = (0..count).map(|_| service.connect()).collect();
    lives(&service);
    until("all are connected", || connections(&service) == streams.len() + 1);
    for stream in &mut streams {
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .unwrap();
    }
    for stream in &mut streams {
        let mut heard = vec![];
        stream.read_to_end(&mut heard).unwrap();
        assert_eq!(Answer::of(&heard).ok().body, b"ok\n");
    }
    until("all have gone", || connections(&service) == 1);
}

/// Bytes that are no HTTP.
#[test]
fn bytes_that_are_no_http() {
    let folder = Folder::new("service-bytes-no-http");
    let service = Service::start(&folder, "");
    let mut number = 1u64;
    for length in [1, 10, 100, 1000, 10_000] {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                number = number.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (number >> 56) as u8
            })
            .chain(*b"\r\n\r\n")
            .collect();
        let heard = service.raw(&bytes);
        assert!(heard.is_empty() || Answer::of(&heard).status == 400, "{length}");
    }
    let smuggled = "POST /v1/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\
                    transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /metrics HTTP/1.1\r\n\
                    host: localhost\r\n\r\n";
    let heard = service.raw(smuggled.as_bytes());
    assert!(
        !String::from_utf8_lossy(&heard).contains("thalweg_requests"),
        "a second request within the first"
    );
    let headers: String = (0..10_000).map(|n| format!("x-{n}: 1\r\n")).collect();
    let heard =
        service.raw(format!("GET / HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").as_bytes());
    assert!(heard.is_empty() || [400, 431].contains(&Answer::of(&heard).status));
    lives(&service);
}

/// Recipes of some hundred bytes that ask for more than any plan holds: each route refuses them by
/// name, and the service lives, in an address space that is limited. P6: one of them ended it.
#[cfg(target_os = "linux")]
#[test]
fn work_is_counted_before_it_is_planned() {
    let folder = Folder::new("service-counted");
    let service = Service::start_after("ulimit -v 6000000", &folder, "");
    let head = "schema = 2\nspacing_m = 10\nwidth = 64\nheight = 64\nlevels = 2\n[[stage]]\n\
                kind = \"noise\"\n";
    let slide = "[[stage]]\nkind = \"thermal\"\nsteps = 262144\n";
    let nest = format!(
        "{head}{slide}[[stage.interleave]]\nkind = \"thermal\"\nevery = 1\nsteps = 262144\n"
    );
    let many = format!("{head}{}", slide.repeat(60));
    let stages = format!("{head}{}", "[[stage]]\nkind = \"thermal\"\n".repeat(20_000));
    let endless = |text: &str| text.replace("levels = 2", "levels = 2\nendless = true");
    for route in ["/v1/recipes", "/v1/jobs", "/v1/preview", "/v1/sheet", "/v1/worlds"] {
        let sent = |text: &str| if route == "/v1/worlds" { endless(text) } else { text.into() };
        service.post(route, &sent(&nest)).problem(413, &["thermal", "passes", "4194304"]);
        service.post(route, &sent(&many)).problem(413, &["thermal", "passes", "4194304"]);
        service.post(route, &sent(&stages)).problem(422, &["20001 stages", "1000"]);
    }
    // Biomes whose points lie a cell apart, on all that snowballs reach.
    let dense = "schema = 2\nwidth = 60\nheight = 124\nspacing_m = 20\nendless = true\nlevels = 2\n\
                 [[stage]]\nkind = \"diamond_square\"\nedge = \"torus\"\nworld_cells = 4294967296\n\
                 feature_cells = 128\nrelief_m = 238\n\
                 [[stage]]\nkind = \"biomes\"\nfrequency = 1\npadding_cells = 1\n[[stage.biome]]\n\
                 name = \"sea\"\ncolour = \"#70d688\"\n\
                 [[stage]]\nkind = \"snowballs\"\nrain = 1\n[[stage.interleave]]\nkind = \
                                     \"thermal\"\n\
                 every = 1\nsteps = 1\n\
                 [[stage.interleave]]\nkind = \"thermal\"\nevery = 1\nsteps = 1\n";
    service.post("/v1/recipes", dense).ok();
    for route in ["/v1/jobs", "/v1/preview", "/v1/sheet"] {
        service.post(route, dense).problem(413, &[]);
    }
    lives(&service);
}

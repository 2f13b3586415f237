//! Who may ask, and from where.

use super::{RECIPE, Service};
use crate::command::Folder;
#[cfg(feature = "gpu")]
use thalweg::Executor;

/// Names of strangers that lead here are refused: else their pages could read what is here.
#[test]
fn only_known_names_are_answered() {
    let folder = Folder::new("service-host");
    let service = Service::start(&folder, "--host hill.example");
    let port = service.address.port();
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "LOCALHOST",
        "localhost.",
        "hill.example",
        "Hill.Example",
    ] {
        for host in [host.to_string(), format!("{host}:{port}"), format!("{host}:1")] {
            assert_eq!(
                service.ask("GET", "/v1/jobs", &[("host", &host)], b"").status,
                200,
                "{host}"
            );
        }
    }
    for host in [
        "evil.com",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "evil.com:80",
        "",
        "[::1",
        "localhost:x",
        "hill.example.evil",
    ] {
        service.ask("GET", "/", &[("host", host)], b"").problem(421, &["--host"]);
    }
    // None, two, and one in the request's line.
    for (line, host) in [
        ("/v1/jobs", ""),
        ("/v1/jobs", "host: localhost\r\nhost: evil.com\r\n"),
        ("http://evil.com/v1/jobs", "host: localhost\r\n"),
    ] {
        let text = format!("GET {line} HTTP/1.1\r\n{host}connection: close\r\n\r\n");
        let answer = super::Answer::of(&service.raw(text.as_bytes()));
        assert!([400, 421].contains(&answer.status), "{line} {host:?}: {answer:?}");
    }
}

/// A page of another site cannot make this one work.
#[test]
fn pages_of_other_sites_are_refused() {
    let folder = Folder::new("service-csrf");
    let service = Service::start(&folder, "");
    let own = format!("http://{}", service.address);
    let foreign: [&[(&str, &str)]; 4] = [
        &[("origin", "https://evil.com")],
        &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.com")],
        &[("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:1")],
        &[("origin", "null")],
    ];
    for headers in foreign {
        for (method, path) in [
            ("POST", "/v1/jobs"),
            ("POST", "/v1/preview"),
            ("POST", "/v1/sheet"),
            ("POST", "/v1/inputs?name=x.png"),
            ("DELETE", "/v1/jobs/1"),
        ] {
            service.ask(method, path, headers, RECIPE.as_bytes()).problem(403, &["another site"]);
        }
    }
    for headers in [
        &[("origin", own.as_str())][..],
        &[("sec-fetch-site", "same-origin")],
        &[("sec-fetch-site", "none")],
        &[],
    ] {
        assert_eq!(
            service.ask("POST", "/v1/recipes", headers, RECIPE.as_bytes()).status,
            200,
            "{headers:?}"
        );
    }
    // Nothing is shared with other sites.
    let answer = service.ask("GET", "/v1/stages", &[("origin", "https://evil.com")], b"");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-security-policy").unwrap().starts_with("default-src 'self'"));
}

/// With a token only its bearer is answered, but for what the editor is made of and the two
/// questions that need none; without one nobody else may listen.
#[test]
fn a_token_is_asked_for() {
    let folder = Folder::new("service-token");
    std::fs::write(folder.0.join("token"), "correct-horse-battery\n").unwrap();
    let service = Service::start(&folder, "--token-file token");
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer correct-horse-batter",
        "Bearer correct-horse-batteryy",
        "Basic correct-horse-battery",
        "correct-horse-battery",
    ] {
        let answer = service.ask("GET", "/v1/jobs", &[("authorization", wrong)], b"");
        answer.problem(401, &["Bearer TOKEN"]);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    for path in ["/metrics", "/openapi.json", "/v1/results/x/y"] {
        service.get(path).problem(401, &[]);
    }
    assert_eq!(
        service
            .ask("GET", "/v1/jobs", &[("authorization", "bearer correct-horse-battery")], b"")
            .status,
        200
    );
    for path in ["/healthz", "/", "/style.css"] {
        assert_eq!(service.get(path).status, 200, "{path}");
    }
    for (line, words) in [
        ("--address 0.0.0.0", "--token-file"),
        ("--token-file short", "16 or more"),
        ("--token-file none", "none"),
    ] {
        std::fs::write(folder.0.join("short"), "short").unwrap();
        let refused = std::process::Command::new(env!("CARGO_BIN_EXE_thalweg"))
            .current_dir(&folder.0)
            .args(["serve", "--port", "0", "--state", "other"])
            .args(line.split_whitespace())
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(1), "{line}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(words), "{line}");
    }
}

/// U5: pages of the sites that are named may read, send and ask beforehand; `*` lets all read, and
/// none send; else nothing is shared.
#[test]
fn pages_of_named_sites_may_use_it() {
    let folder = Folder::new("service-origins");
    std::fs::write(folder.0.join("token"), "correct-horse-battery\n").unwrap();
    let (map, evil) = (("origin", "http://map.example:8000"), ("origin", "https://evil.com"));
    let bearer = ("authorization", "Bearer correct-horse-battery");
    let ask = |service: &Service, method, path, headers: &[(&str, &str)]| {
        service.ask(method, path, headers, RECIPE.as_bytes())
    };
    let before = |service: &Service, origin, method, wanted| {
        let asked = [
            origin,
            ("access-control-request-method", method),
            ("access-control-request-headers", wanted),
        ];
        service.ask("OPTIONS", "/v1/jobs", &asked, b"")
    };

    let named = Service::start(
        &folder,
        "--token-file token --allow-origin http://map.example:8000 --allow-origin \
         https://b.example",
    );
    // What browsers ask beforehand has no token.
    let answer = before(&named, map, "POST", "authorization, content-type");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(map.1));
    assert_eq!(answer.header("access-control-allow-headers"), Some("authorization, content-type"));
    let methods: Vec<&str> =
        answer.header("access-control-allow-methods").unwrap().split(',').collect();
    assert!(["GET", "POST", "DELETE"].iter().all(|method| methods.contains(method)), "{methods:?}");
    assert!(answer.header("vary").unwrap().contains("origin"), "{answer:?}");
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    // Answers, and refusals, too: pages can read why.
    let answer = ask(&named, "GET", "/v1/stages", &[map, bearer]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(map.1)));
    assert_eq!(answer.header("access-control-expose-headers"), Some("*"));
    let answer = ask(&named, "GET", "/v1/stages", &[map]);
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (401, Some(map.1)));
    assert_eq!(
        ask(&named, "POST", "/v1/recipes", &[map, bearer, ("sec-fetch-site", "cross-site")]).status,
        200
    );
    // Others are as they were.
    assert_eq!(
        before(&named, evil, "POST", "authorization").header("access-control-allow-origin"),
        None
    );
    let answer = ask(&named, "GET", "/v1/stages", &[evil, bearer]);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    ask(&named, "POST", "/v1/recipes", &[evil, bearer])
        .problem(403, &["another site", "--allow-origin"]);
    ask(&named, "POST", "/v1/recipes", &[("origin", "http://map.example"), bearer])
        .problem(403, &["another site"]);
    // To a name that leads here there are no answers, whoever asks.
    named
        .ask("GET", "/v1/jobs", &[map, bearer, ("host", "evil.com")], b"")
        .problem(421, &["--host"]);
    named.kill();

    let any = Service::start(&folder, "--allow-origin *");
    for origin in [evil, ("origin", "null")] {
        let answer = ask(&any, "GET", "/v1/stages", &[origin, ("sec-fetch-site", "cross-site")]);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("cross-origin"));
        assert_eq!(
            before(&any, origin, "GET", "if-none-match").header("access-control-allow-methods"),
            Some("GET,HEAD")
        );
        ask(&any, "POST", "/v1/jobs", &[origin]).problem(403, &["another site"]);
    }
    any.kill();

    // What no browser sends would never match.
    for wrong in [
        "map.example",
        "http://map.example/",
        "https://map.example:443",
        "http://Map.example",
        "null",
        "",
        "ftp://map.example",
        "https://*.example",
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_thalweg"));
        let refused = command
            .current_dir(&folder.0)
            .args(["serve", "--port", "0", "--state", "other", "--allow-origin", wrong])
            .output();
        let refused = refused.unwrap();
        assert_eq!(refused.status.code(), Some(1), "{wrong}");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(
            told.contains("--allow-origin") && told.contains("http://localhost:8000"),
            "{wrong}: {told}"
        );
    }
}

/// An adapter is compared with the CPU once for each driver, and one that differs is named and not
/// used.
#[cfg(feature = "gpu")]
#[test]
fn an_adapter_that_differs_is_not_used() {
    let Some(adapter) =
        crate::common::gpu("an_adapter_that_differs_is_not_used", 64, None).map(|gpu| gpu.name())
    else {
        return;
    };
    let folder = Folder::new("service-parity");
    let start = || {
        let service = Service::start(&folder, "-v --device 0");
        let ready = loop {
            let ready = service.get("/readyz").json();
            if ready["ready"] == true {
                break ready;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        (service, ready)
    };
    let (service, ready) = start();
    assert_eq!(ready["devices"], serde_json::json!(["0"]), "{adapter:?}");
    let mut kept: serde_json::Value =
        serde_json::from_slice(&folder.read("state/parity.json")).unwrap();
    service.kill();
    let found = kept.as_object_mut().unwrap();
    assert_eq!(found.len(), 1);
    let (key, entry) = found.iter_mut().next().unwrap();
    assert!(key.contains(env!("CARGO_PKG_VERSION")) && entry["equal"] == true, "{key}: {entry}");
    *entry = serde_json::json!({ "equal": false, "difference": "a planted one" });
    std::fs::write(folder.0.join("state/parity.json"), kept.to_string()).unwrap();
    let (service, ready) = start();
    assert_eq!(ready["devices"], serde_json::json!(["cpu"]));
    let log = String::from_utf8(folder.read("log")).unwrap();
    assert!(log.contains("a planted one") && log.contains("is not used"), "{log}");
    assert_eq!(service.job("/v1/jobs", RECIPE)["state"], "succeeded");
}

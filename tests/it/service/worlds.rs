//! Worlds without an end: their tiles are the windows that a run has there.

use super::{Service, floats};
use crate::command::{Folder, picture};
use serde_json::json;

/// An endless world whose window is at an odd place: what the tiles are does not depend on it.
fn world(origin: [i64; 2], size: u32) -> String {
    format!(
        "schema = 2\nseed = 9\nwidth = {size}\nheight = {size}\norigin = {origin:?}\n\
         spacing_m = 20\nendless = true\nlevels = 2\n[[stage]]\n\
         kind = \"diamond_square\"\nworld_cells = 4294967296\nedge = \"torus\"\nfeature_cells = \
                  256\n\
         relief_m = 900\n[[stage]]\nkind = \"thermal\"\nsteps = 3\n\
         [output]\nmaps = [\"height\", \"erosion\"]\nformat = \"r32\"\n"
    )
}

/// The tile x, y at zoom 22 begins at the cell 256 (x - 2^21), 256 (y - 2^21), and the zoom before
/// it is the next coarser level: as the command has them. A service that is started again still
/// knows the world.
#[test]
fn tiles_of_worlds_are_those_of_a_run() {
    let folder = Folder::new("service-worlds");
    let service = Service::start(&folder, "");
    let posted = service.post("/v1/worlds", &world([5, -70], 40));
    assert_eq!(posted.status, 201, "{posted:?}");
    let told = posted.json();
    let href = told["href"].as_str().unwrap().to_string();
    assert_eq!(
        (posted.header("location"), &told["layers"]),
        (Some(&href[..]), &json!(["height", "erosion", "hillshade"]))
    );
    assert_eq!((&told["minzoom"], &told["maxzoom"]), (&json!(21), &json!(22)));
    assert_eq!(service.post("/v1/worlds", &world([5, -70], 40)).json()["href"], told["href"]);
    folder.file("w.toml", world([-1024, 7 * 256], 256));
    folder.thalweg("run w.toml -o run --device cpu").ok();
    let tile = |z: u32, x: i64, y: i64, form: &str| {
        let half = 1i64 << (z - 1);
        format!("{href}tiles/height/{z}/{}/{}.{form}", half + x, half + y)
    };
    let heights = service.get(&tile(22, -4, 7, "r32")).ok();
    assert!(heights.body == folder.read("run/height.r32"));
    assert_eq!(heights.header("thalweg-spacing"), Some("20"));
    let wear = service.get(&tile(22, -4, 7, "r32").replace("height", "erosion")).ok();
    assert!(wear.body == folder.read("run/erosion.r32"));
    // The coarser zoom is the level, whose cells are twice as wide.
    folder.file("w.toml", world([-1024, 6 * 256], 512));
    folder.thalweg("run w.toml -o coarse --level 1 --device cpu").ok();
    let coarse = service.get(&tile(21, -2, 3, "r32")).ok();
    let land = folder.json("coarse/manifest.json");
    assert_eq!(land["origin"], json!([-512, 768]));
    let (wide, words) =
        (land["width"].as_u64().unwrap() as usize, folder.read("coarse/height.r32"));
    let rows: Vec<u8> =
        words.chunks(4 * wide).take(256).flat_map(|row| &row[..4 * 256]).copied().collect();
    assert!(coarse.body == rows);
    assert_eq!(coarse.header("thalweg-spacing"), Some("40"));
    let truth = floats(&heights.body);
    assert!(truth.iter().any(|v| (v - truth[0]).abs() > 10.0), "the land has relief");
    let terrarium = picture(&service.get(&tile(22, -4, 7, "png")).ok().body).to_rgb8();
    let mapbox =
        picture(&service.get(&tile(22, -4, 7, "png?encoding=terrain-rgb")).ok().body).to_rgb8();
    for (i, truth) in truth.iter().map(|v| f64::from(*v)).enumerate() {
        let (x, y) = (i as u32 % 256, i as u32 / 256);
        let [r, g, b] = terrarium.get_pixel(x, y).0.map(f64::from);
        assert!((r * 256.0 + g + b / 256.0 - 32768.0 - truth).abs() <= 0.5 / 256.0, "{x} {y}");
        let [r, g, b] = mapbox.get_pixel(x, y).0.map(f64::from);
        assert!(
            (-10000.0 + (r * 65536.0 + g * 256.0 + b) * 0.1 - truth).abs() <= 0.05 + 1e-6,
            "{x} {y}"
        );
    }
    let shade =
        picture(&service.get(&tile(22, -4, 7, "png").replace("height", "hillshade")).ok().body)
            .to_rgb8();
    assert_eq!(shade.dimensions(), (256, 256));
    assert!(
        shade.pixels().any(|pixel| pixel != shade.get_pixel(0, 0)),
        "slopes have light and shade"
    );
    let described = service.get(&format!("{href}tiles/height/tilejson.json")).ok().json();
    assert_eq!(
        (&described["minzoom"], &described["maxzoom"], &described["tileSize"]),
        (&json!(21), &json!(22), &json!(256))
    );
    let url = described["tiles"][0].as_str().unwrap();
    assert_eq!(url, format!("http://{}{href}tiles/height/{{z}}/{{x}}/{{y}}.png", service.address));
    let first = service.get(&tile(22, 0, 0, "png")).ok();
    let tag = first.header("etag").unwrap();
    assert_eq!(
        service.ask("GET", &tile(22, 0, 0, "png"), &[("if-none-match", tag)], b"").status,
        304
    );

    for nowhere in [
        "height/20/0/0.png",
        "height/23/0/0.png",
        "height/22/4194304/0.png",
        "nothing/22/0/0.png",
        "height/22/0/0.jpg",
    ] {
        service.get(&format!("{href}tiles/{nowhere}")).problem(404, &[]);
    }
    service.get(&tile(22, 0, 0, "png?encoding=grey")).problem(400, &["terrarium, terrain-rgb"]);
    service
        .get(&format!("/v1/worlds/{}/tiles/height/22/0/0.png", "0".repeat(64)))
        .problem(404, &["POST /v1/worlds"]);
    let bordered = service
        .post("/v1/worlds", &world([0, 0], 40).replace("endless = true\n", ""))
        .problem(422, &["endless = true"]);
    assert_eq!(bordered["errors"][0]["pointer"], "/endless");
    drop(service);
    let service = Service::start(&folder, "--max-cells 1000000");
    assert!(service.get(&tile(22, -4, 7, "r32")).ok().body == heights.body);
    let far = world([0, 0], 40).replace("steps = 3", "steps = 600");
    service.post("/v1/worlds", &far).problem(413, &["--max-cells", "1000000"]);
}

/// P3: a world's address holds the edition of the program that named it. Another one does not fill
/// its tiles.
#[test]
fn worlds_of_other_editions_are_refused_by_name() {
    let folder = Folder::new("service-worlds-edition");
    let service = Service::start(&folder, "");
    let posted = service.post("/v1/worlds", &world([5, -70], 40)).json();
    let digest =
        posted["href"].as_str().unwrap().trim_matches('/').rsplit('/').next().unwrap().to_string();
    let place = |digest: &str| folder.0.join("state/worlds").join(format!("{digest}.json"));
    // What another edition would have named it.
    let other: String = digest.chars().rev().collect();
    std::fs::copy(place(&digest), place(&other)).unwrap();
    let tile = |digest: &str| {
        service.get(&format!("/v1/worlds/{digest}/tiles/height/22/2097152/2097152.r32"))
    };
    tile(&digest).ok();
    tile(&other)
        .problem(404, &["another edition of thalweg", thalweg::identity::engine(), "again"]);
}

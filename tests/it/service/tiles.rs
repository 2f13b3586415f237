//! Tiles, against decoders that know nothing of the encoder: those of the tile formats' pages.

use super::{RECIPE, Service, floats};
use crate::command::{Folder, picture};
use serde_json::json;

/// A land of 300 x 280 cells: two zooms, and tiles at whose edges the land ends.
fn land() -> String {
    RECIPE
        .replace("width = 160", "width = 300")
        .replace("height = 128", "height = 280")
        .replace("levels = 2\n", "")
}

/// Terrarium and Terrain-RGB decode to the heights within half a step, raw floats to the heights,
/// raw integers to 1 of 65535.
#[test]
fn tiles_decode_to_the_heights() {
    let folder = Folder::new("service-tiles");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", &land());
    let href = job["result"]["href"].as_str().unwrap();
    let heights = floats(&service.get(&format!("{href}fields/height.r32")).ok().body);
    let height = |x: u32, y: u32| heights[(y.min(279) * 300 + x.min(299)) as usize];
    let (low, high) = (
        job["result"]["range_m"][0].as_f64().unwrap(),
        job["result"]["range_m"][1].as_f64().unwrap(),
    );
    let mut checked = 0;
    for (tx, ty) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let path = |form: &str| format!("{href}tiles/height/1/{tx}/{ty}.{form}");
        let terrarium = picture(&service.get(&path("png")).ok().body).to_rgb8();
        let same = picture(&service.get(&path("png?encoding=terrarium")).ok().body).to_rgb8();
        let mapbox = picture(&service.get(&path("png?encoding=terrain-rgb")).ok().body).to_rgb8();
        let raw = floats(&service.get(&path("r32")).ok().body);
        let integers = service.get(&path("r16")).ok();
        assert_eq!(
            integers.header("thalweg-range").unwrap(),
            format!("{} {}", low as f32, high as f32)
        );
        assert_eq!(terrarium, same);
        assert_eq!(
            (terrarium.dimensions(), raw.len(), integers.body.len()),
            ((256, 256), 256 * 256, 256 * 256 * 2)
        );
        for (i, (x, y)) in (0..256).flat_map(|y| (0..256).map(move |x| (x, y))).enumerate() {
            let truth = height(tx * 256 + x, ty * 256 + y);
            let [r, g, b] = terrarium.get_pixel(x, y).0.map(f64::from);
            assert!(
                (r * 256.0 + g + b / 256.0 - 32768.0 - f64::from(truth)).abs() <= 0.5 / 256.0,
                "{x} {y}"
            );
            let [r, g, b] = mapbox.get_pixel(x, y).0.map(f64::from);
            assert!(
                (-10000.0 + (r * 65536.0 + g * 256.0 + b) * 0.1 - f64::from(truth)).abs()
                    <= 0.05 + 1e-6,
                "{x} {y}"
            );
            assert_eq!(raw[i], truth);
            let step =
                f64::from(u16::from_le_bytes([integers.body[i * 2], integers.body[i * 2 + 1]]));
            assert!(
                (low + step / 65535.0 * (high - low) - f64::from(truth)).abs()
                    <= 0.51 / 65535.0 * (high - low),
                "{x} {y}"
            );
            checked += 1;
        }
    }
    assert_eq!(checked, 4 * 65536);
    // Zoom 0 has the means of squares of 2 x 2.
    let coarse = floats(&service.get(&format!("{href}tiles/height/0/0/0.r32")).ok().body);
    for (x, y) in [(0, 0), (17, 90), (149, 139)] {
        let four =
            [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| f64::from(height(2 * x + i, 2 * y + j)));
        assert_eq!(coarse[(y * 256 + x) as usize], (four.iter().sum::<f64>() / 4.0) as f32);
    }
}

/// Other layers: pictures without seams, maps in grey over the range of the whole, biomes in their
/// colours; clear beyond the land.
#[test]
fn every_layer_has_tiles() {
    let folder = Folder::new("service-layers");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", &land());
    let href = job["result"]["href"].as_str().unwrap();
    for layer in ["hillshade", "colours", "flow", "slope", "sky_view"] {
        let tile =
            picture(&service.get(&format!("{href}tiles/{layer}/1/1/1.png")).ok().body).to_rgba8();
        for (x, y) in [(0, 0), (43, 23), (44, 23), (43, 24), (255, 255)] {
            assert_eq!(
                tile.get_pixel(x, y).0[3] == 255,
                x < 300 - 256 && y < 280 - 256,
                "{layer} {x} {y}"
            );
        }
    }
    // A picture of the whole, at the last zoom, has no seams: it is the preview, but for its
    // corner's rounding.
    let preview = picture(&service.get(&format!("{href}preview.png")).ok().body).to_rgb8();
    for (tx, ty) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let tile = picture(&service.get(&format!("{href}tiles/colours/1/{tx}/{ty}.png")).ok().body)
            .to_rgba8();
        for (x, y) in (0..256).flat_map(|y| (0..256).map(move |x| (x, y))) {
            // The outermost cells have other neighbours beyond the edge.
            let (column, row) = (tx * 256 + x, ty * 256 + y);
            if (1..299).contains(&column) && (1..279).contains(&row) {
                assert_eq!(
                    tile.get_pixel(x, y).0[..3],
                    preview.get_pixel(column, row).0,
                    "{column} {row}"
                );
            }
        }
    }
    let flat = picture(&service.get(&format!("{href}tiles/flow/0/0/0.png")).ok().body).to_luma8();
    assert!(flat.pixels().any(|p| p.0[0] > 128) && flat.pixels().any(|p| p.0[0] == 0));
}

/// A tile's address never changes its meaning, and an address that leads nowhere says so.
#[test]
fn tiles_are_immutable_and_described() {
    let folder = Folder::new("service-tilejson");
    let service = Service::start(&folder, "");
    let job = service.job("/v1/jobs", &land());
    let href = job["result"]["href"].as_str().unwrap();
    let path = format!("{href}tiles/height/1/0/0.png");
    let (first, second) = (service.get(&path).ok(), service.get(&path).ok());
    assert_eq!((&first.body, first.header("etag")), (&second.body, second.header("etag")));
    assert_eq!(first.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let tag = first.header("etag").unwrap();
    assert!(tag.starts_with('"'), "a strong tag");
    assert_eq!(service.ask("GET", &path, &[("if-none-match", tag)], b"").status, 304);
    let other = service.get(&format!("{path}?encoding=terrain-rgb")).ok();
    assert_ne!(other.header("etag"), Some(tag));
    for nowhere in [
        "2/0/0.png",
        "1/2/0.png",
        "1/0/2.png",
        "1/-1/0.png",
        "1/00/0.png",
        "1/0/0.jpg",
        "99/0/0.png",
        "4294967296/0/0.png",
    ] {
        service.get(&format!("{href}tiles/height/{nowhere}")).problem(404, &[]);
    }
    service.get(&format!("{href}tiles/nothing/0/0/0.png")).problem(404, &["nothing", "height"]);
    service.get(&format!("{href}tiles/hillshade/0/0/0.r32")).problem(404, &[".png"]);
    service.get(&format!("{path}?encoding=jpeg")).problem(400, &["terrarium, terrain-rgb, grey"]);
    service
        .get(&format!("{href}tiles/flow/0/0/0.r16?encoding=grey"))
        .problem(400, &["only a tile.png"]);
    let told = service.get(&format!("{href}tiles/height/tilejson.json")).ok().json();
    assert_eq!(
        (&told["tilejson"], &told["encoding"], &told["tileSize"]),
        (&json!("3.0.0"), &json!("terrarium"), &json!(256))
    );
    assert_eq!((&told["minzoom"], &told["maxzoom"]), (&json!(0), &json!(1)));
    let url = told["tiles"][0]
        .as_str()
        .unwrap()
        .replace("{z}", "1")
        .replace("{x}", "0")
        .replace("{y}", "0");
    assert_eq!(url, format!("http://{}{path}", service.address));
    // 300 of 512 cells from west to east are 300/512 of 360 degrees.
    assert_eq!(told["bounds"][2].as_f64().unwrap(), 300.0 / 512.0 * 360.0 - 180.0);
    assert_eq!(
        service.get(&format!("{href}tiles/height/tilejson.json?encoding=terrain-rgb")).json()["encoding"],
        "mapbox"
    );
    // U5: at the equator the same tiles lie in about their true size, and heights fit.
    let told = service
        .get(&format!("{href}tiles/height/tilejson.json?at=equator&encoding=terrain-rgb"))
        .ok()
        .json();
    let metres = 2.0 * std::f64::consts::PI * 6_378_137.0;
    let spacing_m = told["spacing_m"].as_f64().unwrap();
    let zoom = (metres / 256.0 / spacing_m).log2().round() as u32;
    assert_eq!((&told["minzoom"], &told["maxzoom"]), (&json!(zoom - 1), &json!(zoom)));
    let all = 256.0 * f64::from(1u32 << zoom);
    let bounds: Vec<f64> =
        told["bounds"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert_eq!((bounds[0], bounds[3]), (0.0, 0.0));
    assert!((bounds[2] - 300.0 / all * 360.0).abs() < 1e-9 && bounds[1] < 0.0, "{bounds:?}");
    let fits = metres / all / spacing_m;
    let exaggeration = told["exaggeration"].as_f64().unwrap();
    assert!(
        (exaggeration / fits - 1.0).abs() < 1e-5 && (0.7..1.42).contains(&exaggeration),
        "{exaggeration} {fits}"
    );
    let middle = 1u32 << (zoom - 1);
    let url = told["tiles"][0].as_str().unwrap().replace("{z}", &zoom.to_string());
    let url = url.replace("{x}", &middle.to_string()).replace("{y}", &middle.to_string());
    let url = url.strip_prefix(&format!("http://{}", service.address)).unwrap();
    let laid = service.get(url).ok();
    assert!(laid.body == other.body && laid.header("etag") != other.header("etag"));
    for (z, x, y) in [
        (zoom, middle - 1, middle),
        (zoom + 1, 2 * middle, 2 * middle),
        (zoom - 2, 0, 0),
        (1, 0, 0),
        (0, 0, 0),
    ] {
        service
            .get(&format!("{href}tiles/height/{z}/{x}/{y}.png?at=equator"))
            .problem(404, &["zooms are"]);
    }
    service.get(&format!("{path}?at=pole")).problem(400, &["corner, equator"]);
    // In the corner it is wide, and heights have to be higher.
    let told = service.get(&format!("{href}tiles/height/tilejson.json")).ok().json();
    assert!(told["exaggeration"].as_f64().unwrap() > 100.0);
}

//! Places: how far apart, how many, and what lies under them.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg::io::points::{Ground, PointFormat, encode};
use thalweg::scatter::{Growth, Method, Place, Shape, places};
use thalweg::site::Window;
use thalweg::{Job, Map, Recipe};

fn map(window: &Window, value: impl Fn(i64, i64) -> f32) -> Map {
    let [x, y] = window.origin;
    let rows = (0..window.height as i64)
        .flat_map(|j| (0..window.width as i64).map(move |i| (x + i, y + j)));
    let data = rows.map(|(x, y)| value(x, y)).collect();
    Map {
        width: window.width,
        height: window.height,
        spacing_m: 2.0,
        data,
        range_m: None,
        georef: None,
    }
}

fn scattered(method: Method, window: &Window, densities: &[f64]) -> Vec<Place> {
    let height = map(window, |x, y| x as f32 * 0.5 - y as f32);
    let biome = map(window, |x, _| (x.rem_euclid(100) / 50) as f32);
    let growth = Growth { densities, ..Growth::default() };
    places(method, 9, window, &height, Some(&biome), &growth, &GO).unwrap()
}

static GO: AtomicBool = AtomicBool::new(false);
const WINDOW: Window = Window { origin: [-30, 700], width: 300, height: 200 };

fn nearest(all: &[Place]) -> f64 {
    let apart = |n: usize, m: usize| (all[n].x - all[m].x).hypot(all[n].y - all[m].y);
    (0..all.len())
        .flat_map(|n| (0..n).map(move |m| (n, m)))
        .map(|(n, m)| apart(n, m))
        .fold(f64::INFINITY, f64::min)
}

/// Places are at least the given distance apart and fill the ground.
/// Holds E19.
#[test]
fn places_keep_their_distance() {
    for distance in [3.0, 7.5, 20.0] {
        let lattice = scattered(Method::Lattice { frequency: 0.2, distance }, &WINDOW, &[]);
        let poisson = scattered(Method::Poisson { distance }, &WINDOW, &[]);
        for (all, least) in [(&lattice, 0.2f64), (&poisson, 0.45)] {
            assert!(nearest(all) >= distance, "{}", nearest(all));
            // Circles of half the distance cover this share of the ground at least.
            let share = all.len() as f64 * std::f64::consts::PI * distance * distance
                / 4.0
                / (300.0 * 200.0);
            let thick = 0.2 * 0.2 * 3f64.sqrt() * distance * distance;
            assert!(
                share > least.min(thick * 0.3),
                "distance {distance}: {} places, {share}",
                all.len()
            );
        }
    }
}

/// Places of the lattice are the same in any window, with or without a distance.
/// Holds E19.
#[test]
fn lattice_places_belong_to_the_world() {
    for distance in [0.0, 9.0] {
        let method = Method::Lattice { frequency: 0.15, distance };
        let part = Window { origin: [10, 731], width: 120, height: 90 };
        let inside = |p: &&Place| (9.5..129.5).contains(&p.x) && (730.5..820.5).contains(&p.y);
        let bits = |p: &Place| [p.x.to_bits(), p.y.to_bits()];
        let whole: BTreeSet<_> =
            scattered(method, &WINDOW, &[]).iter().filter(inside).map(bits).collect();
        assert_eq!(whole, scattered(method, &part, &[]).iter().map(bits).collect());
        assert!(whole.len() > 30);
    }
}

/// The density of a biome thins out its places, and each place has the height and the biome of the
/// ground there.
/// Holds E19.
#[test]
fn densities_and_what_lies_under() {
    let method = Method::Lattice { frequency: 0.3, distance: 0.0 };
    let all = scattered(method, &WINDOW, &[]);
    let thin = scattered(method, &WINDOW, &[0.0, 0.25]);
    let count = |all: &[Place], b| all.iter().filter(|p| p.biome == Some(b)).count();
    assert_eq!(count(&thin, 0), 0);
    let kept = count(&thin, 1) as f64 / count(&all, 1) as f64;
    assert!((kept - 0.25).abs() < 0.03, "{kept}");
    assert!(
        all.windows(2).all(|p| p[0].y < p[1].y || p[0].y == p[1].y && p[0].x < p[1].x),
        "north to south"
    );
    for p in &all {
        // Beyond the outermost samples lies the border's height.
        let (x, y) = (p.x.clamp(-30.0, 269.0), p.y.clamp(700.0, 899.0));
        assert!((p.height_m - (x * 0.5 - y)).abs() < 1e-3, "{p:?}");
        assert_eq!(p.biome, Some((x.round() as i64).rem_euclid(100) as usize / 50));
    }
}

/// Places reach half a cell beyond the outermost samples, on all sides alike: to the edges of the
/// map's file.
/// Holds F13: they went half a cell beyond two edges, and left half a cell at the others empty.
#[test]
fn places_fill_the_cells_of_the_map() {
    for method in [
        Method::Lattice { frequency: 0.9, distance: 0.0 },
        Method::Lattice { frequency: 0.9, distance: 0.5 },
        Method::Poisson { distance: 0.5 },
    ] {
        let all = scattered(method, &WINDOW, &[]);
        for (axis, first, last) in [(0, -30.5, 269.5), (1, 699.5, 899.5)] {
            let at = |p: &Place| if axis == 0 { p.x } else { p.y };
            assert!(all.iter().all(|p| (first..last).contains(&at(p))), "{method:?}");
            for edge in [first, last - 0.5] {
                assert!(
                    all.iter().any(|p| (edge..edge + 0.5).contains(&at(p))),
                    "{method:?}: nothing from {edge}"
                );
            }
        }
    }
}

#[test]
fn bad_places_are_named() {
    let height = map(&WINDOW, |_, _| 0.0);
    let refused = |method, densities: &[f64]| {
        let growth = Growth { densities, ..Growth::default() };
        places(method, 0, &WINDOW, &height, None, &growth, &GO).unwrap_err().to_string()
    };
    assert!(
        refused(Method::Lattice { frequency: 0.0, distance: 0.0 }, &[]).contains("frequency = 0")
    );
    assert!(
        refused(Method::Lattice { frequency: 0.1, distance: -1.0 }, &[]).contains("distance = -1")
    );
    assert!(refused(Method::Poisson { distance: 0.0 }, &[]).contains("0.5 to 4096"));
    assert!(refused(Method::Poisson { distance: f64::NAN }, &[]).contains("distance"));
    assert!(refused(Method::Poisson { distance: 5.0 }, &[2.0]).contains("density 2"));
    assert!(
        PointFormat::from_path("a.txt".as_ref())
            .unwrap_err()
            .to_string()
            .contains(".csv, .geojson or .glb")
    );
}

/// Two places, and what files have of them.
fn two() -> [Place; 2] {
    let place =
        |x, y, height_m, biome, size, turn_deg| Place { x, y, height_m, biome, size, turn_deg };
    [place(-29.5, 700.25, 12.5, Some(1), 1.5, 90.0), place(3.0, 701.0, -1.0, None, 0.75, 359.999)]
}

#[test]
fn files_hold_what_was_found() {
    let all = two();
    let height = map(&WINDOW, |_, _| 0.0);
    let names = ["oak", "birch, \"white\""];
    let ground = Ground { map: &height, origin: WINDOW.origin, biomes: &names };
    let csv = encode(&all, &ground, Shape::Tree, PointFormat::Csv).unwrap();
    assert_eq!(
        String::from_utf8(csv).unwrap(),
        "x,y,east,north,height_m,biome,biome_name,size,turn_deg\r\n\
         -29.5,700.25,1,-0.5,12.5,1,\"birch, \"\"white\"\"\",1.5,90\r\n\
         3,701,66,-2,-1,,,0.75,359.999\r\n"
    );
    let json = encode(&all, &ground, Shape::Tree, PointFormat::GeoJson).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(
        json["features"][0]["geometry"],
        json!({ "type": "Point", "coordinates": [1.0, -0.5] })
    );
    assert_eq!(json["features"][0]["properties"]["biome_name"], names[1]);
    assert_eq!(json["features"][0]["properties"]["turn_deg"], 90.0);
    assert_eq!(json["features"][1]["properties"]["biome"], Value::Null);
    assert_eq!(json["features"][1]["properties"]["size"], 0.75);
}

/// The JSON of a glTF, and its binary part.
fn parts(glb: &[u8]) -> (Value, Vec<u8>) {
    let word = |at: usize| u32::from_le_bytes(glb[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!((&glb[..4], word(4), word(8)), (&b"glTF"[..], 2, glb.len()));
    let text = word(12);
    assert_eq!((&glb[16..20], &glb[24 + text..28 + text]), (&b"JSON"[..], &b"BIN\0"[..]));
    (serde_json::from_slice(&glb[20..20 + text]).unwrap(), glb[28 + text..].to_vec())
}

/// The values of an accessor, by the specification.
fn values(json: &Value, binary: &[u8], accessor: &Value) -> Vec<f32> {
    let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
    let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
    let [from, bytes] =
        ["byteOffset", "byteLength"].map(|key| view[key].as_u64().unwrap() as usize);
    let width = accessor["type"].as_str().unwrap()[3..].parse::<usize>().unwrap();
    assert_eq!(accessor["count"].as_u64().unwrap() as usize * width * 4, bytes);
    assert_eq!(accessor["componentType"], 5126);
    let float = |four: &[u8]| f32::from_le_bytes(four.try_into().unwrap());
    binary[from..from + bytes].chunks(4).map(float).collect()
}

/// A glTF has a mesh in each place: at its place and height, as large and turned as it says.
#[test]
fn meshes_stand_where_they_should() {
    let height = map(&WINDOW, |_, _| 0.0);
    let ground = Ground { map: &height, origin: WINDOW.origin, biomes: &[] };
    for shape in Shape::ALL {
        let (json, binary) = parts(&encode(&two(), &ground, shape, PointFormat::Glb).unwrap());
        assert_eq!(json["extensionsRequired"], json!(["EXT_mesh_gpu_instancing"]));
        let of = &json["nodes"][0]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"];
        let read = |name: &str| values(&json, &binary, &of[name]);
        // Cells of 2 m, from the north-west sample at -30, 700.
        assert_eq!(read("TRANSLATION"), [1.0, 12.5, 0.5, 66.0, -1.0, 2.0]);
        assert_eq!(read("SCALE"), [1.5, 1.5, 1.5, 0.75, 0.75, 0.75]);
        // A quarter turn clockwise, seen from above, is one of -90 degrees about y.
        let half = 0.5f32.sqrt();
        let turn = read("ROTATION");
        let near = |a: f32, b: f32| (a - b).abs() < 1e-6;
        assert!(
            turn[..4].iter().zip([0.0, -half, 0.0, half]).all(|(a, b)| near(*a, b)),
            "{turn:?}"
        );
        for primitive in json["meshes"][0]["primitives"].as_array().unwrap() {
            let [corners, normals] = ["POSITION", "NORMAL"]
                .map(|name| values(&json, &binary, &primitive["attributes"][name]));
            assert_eq!((corners.len() % 9, normals.len()), (0, corners.len()));
            // Closed shapes have their triangles outward: the volume that they hold is positive.
            let is_thin =
                json["materials"][primitive["material"].as_u64().unwrap() as usize]["doubleSided"]
                    .as_bool()
                    .unwrap();
            let volume: f32 = corners
                .chunks(9)
                .map(|t| {
                    let at = |n: usize| glam::Vec3::from_slice(&t[n * 3..]);
                    at(0).dot(at(1).cross(at(2))) / 6.0
                })
                .sum();
            assert!(is_thin || volume > 0.01, "{shape:?}: {volume}");
            // They stand on the ground, or a little in it.
            let lowest = corners.iter().skip(1).step_by(3).copied().fold(f32::INFINITY, f32::min);
            assert!((-0.5..=1.3).contains(&lowest), "{shape:?}: {lowest}");
        }
    }
    // Nothing stands nowhere.
    let (json, _) = parts(&encode(&[], &ground, Shape::Tree, PointFormat::Glb).unwrap());
    assert_eq!((&json["nodes"], &json["extensionsUsed"]), (&Value::Null, &Value::Null));
}

/// A recipe with materials, water and a sea, and these tables.
fn land(tables: &str) -> Recipe {
    let text = format!(
        "schema = 2\nseed = 11\nwidth = 240\nheight = 200\nspacing_m = 10\n[[stage]]\n\
         kind = \"diamond_square\"\nworld_cells = 1024\nfeature_cells = 128\nrelief_m = 400\n\
         [[stage]]\nkind = \"incision\"\n[water]\nchannel_area_km2 = 0.05\n[materials]\n\
         {tables}\n[output]\nmaps = [\"height\"]\nsea_level_m = 40\n"
    );
    Recipe::from_toml(&text, Path::new("."), "land").unwrap()
}

/// Things of a recipe stand on their materials by their shares, on the slopes that they may, out of
/// water, at their heights, and no two of a kind are nearer than they should be.
#[test]
fn things_stand_where_their_table_says() {
    let recipe = land(
        "[[scatter]]\nname = \"any\"\ndistance_m = 15\n\
         [[scatter]]\nname = \"all\"\ndistance_m = 15\nin_water = true\n\
         [[scatter]]\nname = \"oak\"\ndistance_m = 15\non = { forest = 0.8, grass = 0.25 }\n\
         [[scatter]]\nname = \"steep\"\ndistance_m = 15\nslope_deg = [12, 30]\nsize = [0.5, 3]\n",
    );
    let outcome = Job::new(recipe).unwrap().run(&mut |_| Ok(())).unwrap();
    let maps = ["height", "slope", "water_depth", "river_width", "forest", "grass"]
        .map(|name| outcome.map(name).unwrap());
    let [height, slope, depth, width, forest, grass] = &maps;
    let cell = |p: &Place| p.y.round() as usize * 240 + p.x.round() as usize;
    let found = |nth: usize| -> Vec<Place> { outcome.things(nth, &GO).unwrap() };
    let [any, all, oak, steep] = [0, 1, 2, 3].map(found);
    for places in [&any, &all, &oak, &steep] {
        assert!(nearest(places) >= 1.5, "{}", nearest(places));
        let sunk = |p: &&Place| {
            let at = cell(p);
            depth.data[at] + width.data[at] > 0.0 || height.data[at] < 40.0
        };
        let sunken = places.iter().filter(sunk).count();
        assert_eq!(sunken > 0, places.len() == all.len(), "{sunken} of {}", places.len());
    }
    // Different tables do not stand on the same places.
    let spots = |all: &[Place]| -> BTreeSet<[u64; 2]> {
        all.iter().map(|p| [p.x.to_bits(), p.y.to_bits()]).collect()
    };
    assert!(spots(&any).intersection(&spots(&oak)).next().is_none());
    // As many as the weights of the ground under all dry places say, within four deviations.
    let share = |p: &Place| f64::from(forest.data[cell(p)] * 0.8 + grass.data[cell(p)] * 0.25);
    let mean = any.iter().map(share).sum::<f64>();
    let spread = any.iter().map(|p| share(p) * (1.0 - share(p))).sum::<f64>().sqrt();
    let off = (oak.len() as f64 - mean).abs();
    // Other places of another lattice vary as much again.
    assert!(off < 4.0 * (spread + (any.len() as f64).sqrt() * 0.3), "{off} of {mean} ± {spread}");
    assert!(oak.iter().all(|p| share(p) > 0.0));
    assert!(steep.iter().all(|p| (12.0..=30.0).contains(&slope.data[cell(p)])));
    assert!(steep.iter().all(|p| (0.5..=3.0).contains(&p.size)));
    let mean = steep.iter().map(|p| p.size).sum::<f64>() / steep.len() as f64;
    assert!((mean - 1.75).abs() < 0.15, "{mean}");
    let turned = steep.iter().filter(|p| p.turn_deg < 180.0).count() as f64 / steep.len() as f64;
    assert!((turned - 0.5).abs() < 0.1, "{turned}");
    let [low, high] = [f32::min, f32::max]
        .map(|better| height.data.iter().copied().reduce(better).map(f64::from).unwrap());
    assert!(all.iter().all(|p| (low..=high).contains(&p.height_m)));
}

/// Things follow from their own table: another one more or less moves none of them. Nor does a part
/// of the land, but for heights beyond its outermost samples.
#[test]
fn things_are_moved_by_no_other_table_and_no_part() {
    let [any, oak] = ["name = \"any\"\ndistance_m = 15\n", "name = \"oak\"\nsize = [1, 4]\n"]
        .map(|table| format!("[[scatter]]\n{table}"));
    let things = |job: Job, nth| job.run(&mut |_| Ok(())).unwrap().things(nth, &GO).unwrap();
    let run = |tables: &str, nth| things(Job::new(land(tables)).unwrap(), nth);
    let alone = run(&oak, 0);
    assert!(alone.len() > 1000);
    assert_eq!(run(&format!("{any}{oak}"), 1), alone);
    assert_eq!(run(&format!("{oak}{any}"), 0), alone);
    // Water depends on the whole land, so a land with a sea alone has parts.
    let mut recipe = land(&oak);
    recipe.water = None;
    recipe.stages.truncate(1);
    let whole = things(Job::new(recipe.clone()).unwrap(), 0);
    let part = Window { origin: [70, 40], width: 90, height: 80 };
    let found = things(Job::new(recipe).unwrap().part(part).unwrap(), 0);
    let inside = |p: &&Place| (69.5..159.5).contains(&p.x) && (39.5..119.5).contains(&p.y);
    let bits = |p: &Place| [p.x, p.y, p.size, p.turn_deg].map(f64::to_bits);
    let known: Vec<_> = whole.iter().filter(inside).map(bits).collect();
    assert!(known.len() > 300 && known.len() < 7000, "{}", known.len());
    assert_eq!(found.iter().map(bits).collect::<Vec<_>>(), known);
}

/// What does not fit is refused before any work, wherever one asks; what is usual fits any land.
#[test]
fn what_does_not_fit_is_refused_at_once() {
    let job = |size: u32, spacing_m: f64, rest: &str| {
        let text = format!(
            "schema = 2\nwidth = {size}\nheight = {size}\nspacing_m = {spacing_m}\nlevels = 2\n\
             [[stage]]\nkind = \"noise\"\n[[stage]]\nkind = \"thermal\"\n\
             [[stage]]\nkind = \"droplets\"\nfinest_only = true\n{rest}\n"
        );
        Job::new(Recipe::from_toml(&text, Path::new("."), "land").unwrap()).unwrap()
    };
    let refused = |job: Job, words: &[&str]| {
        let message = job.admit_things().unwrap_err().to_string();
        words.iter().for_each(|word| assert!(message.contains(word), "{message}: {word}"));
    };
    let table = |name: &str, rest: &str| format!("[[scatter]]\nname = \"{name}\"\n{rest}\n");
    for spacing_m in [0.5, 8.0, 30.0, 1000.0] {
        job(129, spacing_m, &table("oak", "")).admit_things().unwrap();
    }
    let dense = table("oak", "distance_m = 6");
    refused(job(4097, 4.0, &dense), &["scatter", "points", "oak", "distance_m = 6", "16777216"]);
    // On a coarse level as many cells have more of them than their share.
    let grass = table("oak", "distance_m = 12");
    job(8193, 4.0, &table("oak", "distance_m = 24"))
        .until_level(1)
        .unwrap()
        .admit_things()
        .unwrap();
    refused(job(8193, 4.0, &grass).until_level(1).unwrap(), &["points", "distance_m = 12"]);
    let many: String = (0..12).map(|n| table(&format!("n{n}"), "distance_m = 3")).collect();
    refused(job(1025, 2.0, &many), &["points", "16777216 in all"]);
    // A map that the level has not is named; water that it has not keeps nothing away.
    let wet = "[water]\nchannel_flow = 20\n";
    let coarse = job(129, 5.0, &format!("{wet}{}", table("oak", ""))).until_level(1).unwrap();
    coarse.admit_things().unwrap();
    let outcome = coarse.run(&mut |_| Ok(())).unwrap();
    assert!(outcome.things(0, &GO).unwrap().len() > 100);
}

/// What a table may not say is named, with the table's number and what is allowed.
#[test]
fn wrong_tables_are_named() {
    let refused = |table: &str, words: &[&str]| {
        let text = format!(
            "schema = 2\nwidth = 64\nheight = 64\nspacing_m = 10\n[[stage]]\nkind = \"flat\"\n\
             {table}\n"
        );
        let read = Recipe::from_toml(&text, Path::new("."), "land");
        let job = read.and_then(Job::new).and_then(|job| {
            job.run_into(&mut thalweg::Memory::default(), None, &mut |_| Ok(())).map(drop)
        });
        let message = job.unwrap_err().to_string();
        words.iter().for_each(|word| assert!(message.contains(word), "{message}: {word}"));
    };
    let table = |rest: &str| format!("[[scatter]]\nname = \"oak\"\n{rest}\n");
    refused("scatter = 3\n", &["scatter"]);
    refused("[[scatter]]\n", &["scatter 1", "name", "letters"]);
    refused("[[scatter]]\nname = \"a/b\"\n", &["scatter 1", "a/b", "letters"]);
    refused(&table("").repeat(2), &["oak", "there are two called"]);
    refused(&format!("{}[[scatter]]\nname = \"Oak\"\n", table("")), &["Oak", "there are two"]);
    refused(&table("colour = 1"), &["colour"]);
    refused(&table("distance_m = 0.01"), &["distance_m", "0.1 to 100000"]);
    refused(&table("distance_m = 2"), &["scatter oak", "2 m on cells of 10 m", "5 to 40960"]);
    refused(&table("slope_deg = [30, 10]"), &["slope_deg", "the lower first"]);
    refused(&table("size = [0, 1]"), &["size", "0.01 to 100"]);
    refused(&table("on = { forst = 1 }"), &["forst", "forest"]);
    refused(&table("on = { forest = 2 }"), &["forest", "0 to 1"]);
    refused(&table("on = { forest = 1 }"), &["scatter oak", "[materials]"]);
    refused(&table("biomes = { tundra = 1 }"), &["tundra"]);
    refused(&table("shape = \"pine\""), &["pine", "tree", "bush", "rock", "grass"]);
    refused(&table("formats = []"), &["formats", "csv, geojson, glb"]);
    refused(&table("formats = [\"csv\", \"csv\"]"), &["formats", "at most once"]);
    let many: String = (0..33).map(|n| format!("[[scatter]]\nname = \"n{n}\"\n")).collect();
    refused(&many, &["at most 32 tables"]);
}

/// So far out that places are rounded to whole cells and beyond.
#[test]
fn the_end_of_the_world_has_places() {
    let far = Window { origin: [-(1 << 62), 1 << 62], width: 40, height: 30 };
    for method in
        [Method::Lattice { frequency: 0.3, distance: 2.0 }, Method::Poisson { distance: 4.0 }]
    {
        let height = map(&far, |_, _| 7.0);
        let all = places(method, 9, &far, &height, None, &Growth::default(), &GO).unwrap();
        assert!(
            all.len() > 20 && all.iter().all(|p| p.height_m == 7.0),
            "{method:?}: {}",
            all.len()
        );
    }
}

/// A search of millions of points can be stopped at any stage.
#[test]
fn a_search_can_be_stopped() {
    let window = Window { origin: [0, 0], width: 3000, height: 3000 };
    let height = map(&window, |_, _| 0.0);
    let dense = Method::Lattice { frequency: 0.9, distance: 0.0 };
    for method in [
        dense,
        Method::Lattice { frequency: 0.9, distance: 2.0 },
        Method::Poisson { distance: 1.0 },
    ] {
        let stop = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let search = scope
                .spawn(|| places(method, 0, &window, &height, None, &Growth::default(), &stop));
            std::thread::sleep(std::time::Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
            search.join().unwrap()
        });
        assert!(matches!(ended, Err(thalweg::Error::Cancelled)), "{method:?}");
    }
}

/// A file in pieces is the file.
#[test]
fn long_files_come_in_pieces() {
    let height = map(&WINDOW, |_, _| 0.0);
    let ground = Ground { map: &height, origin: WINDOW.origin, biomes: &["a"] };
    let all: Vec<Place> = (0..10_000).map(|n| Place { x: n as f64, ..two()[0].clone() }).collect();
    let bytes = encode(&all, &ground, Shape::Tree, PointFormat::GeoJson).unwrap();
    let json: Value = serde_json::from_slice(&bytes).unwrap();
    let features = json["features"].as_array().unwrap();
    assert_eq!(features.len(), all.len());
    assert!(features.iter().enumerate().all(|(n, f)| f["properties"]["x"] == n as f64));
    let csv = encode(&all, &ground, Shape::Tree, PointFormat::Csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 10_001);
}

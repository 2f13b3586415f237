//! `tiles`, `tile` and `store`: lands by tiles have the values of a run, in every kind of file.

use super::{Folder, RECIPE};
use std::io::Read;
use std::path::{Path, PathBuf};
use thalweg::io::{ReadOptions, read};
use thalweg::map::Map;

const LEVELS: [(&str, &str); 2] =
    [("spacing_m = 10", "spacing_m = 10\nlevels = 2"), ("format = \"png\"", "format = \"tif\"")];

fn recipe() -> String {
    let recipe = RECIPE.replace("width = 64", "width = 700").replace("height = 48", "height = 530");
    let recipe = recipe.replace("lifetime = 16\nrain = 2", "lifetime = 6\nrain = 0.5");
    LEVELS.iter().fold(recipe, |recipe, (from, to)| recipe.replace(from, to))
}

fn map(folder: &Folder, name: &str) -> Map {
    read(folder.0.join(name), &ReadOptions::default()).unwrap().map
}

/// `--part` makes all that a run leaves of a part of the land, and it is what the whole has there:
/// maps, textures and weights of biomes, dungeons. So do places of things.
#[test]
fn a_part_has_all_that_a_run_leaves() {
    let folder = Folder::new("part");
    let text = "schema = 2\nname = \"r\"\nseed = 5\nwidth = 240\nheight = 200\norigin = [-20, 30]\n\
                spacing_m = 10\n\
                [[stage]]\nkind = \"diamond_square\"\nfeature_cells = 128\nrelief_m = 300\n\
                [[stage]]\nkind = \"biomes\"\nfrequency = 0.05\npadding_cells = 8\nsplat = true\n\
                weights = \"npy\"\n\
                [[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.5\n\
         [dungeons]\nkind = \"isaac\"\nspacing_cells = 30\nradius_cells = 2\nslope_max = 2\nformat \
                              = \"json\"\n\
                [output]\nmaps = [\"height\", \"biome\", \"slope\"]\nformat = \"tif\"\n";
    folder.file("r.toml", text);
    folder.thalweg("run r.toml -o whole --device cpu").ok();
    folder.thalweg("run r.toml -o part --part 40 61 90 70 --device cpu").ok();
    folder.thalweg("verify part").ok();
    let crop = |all: &[f32], each: usize| -> Vec<f32> {
        let row = |y: usize| &all[((y + 31) * 240 + 60) * each..][..90 * each];
        (0..70).flat_map(row).copied().collect()
    };
    for name in ["height.tif", "slope.tif", "biome.tif"] {
        let (whole, part) =
            (map(&folder, &format!("whole/{name}")), map(&folder, &format!("part/{name}")));
        assert_eq!((part.width, part.height), (90, 70));
        assert!(part.data == crop(&whole.data, 1), "{name}");
    }
    let splat = |name: &str| -> Vec<f32> {
        super::pixels(folder.read(&format!("{name}/splat_1.png")))
            .into_iter()
            .map(f32::from)
            .collect()
    };
    assert!(splat("part") == crop(&splat("whole"), 4), "textures of weights");
    let weights = |name: &str, cells: usize| -> Vec<f32> {
        let bytes = folder.read(&format!("{name}/biome_weights.npy"));
        let values = bytes[bytes.len() % 64..]
            .rchunks(2)
            .rev()
            .map(|v| f32::from(u16::from_le_bytes([v[0], v[1]])));
        let values: Vec<f32> = values.collect();
        values[values.len() - 4 * cells..].to_vec()
    };
    for (plane, whole) in
        weights("part", 90 * 70).chunks(90 * 70).zip(weights("whole", 240 * 200).chunks(240 * 200))
    {
        assert!(plane == crop(whole, 1), "weights");
    }
    // Entrances within the part, and the same dungeons.
    let dungeons = |name: &str| {
        folder.json(&format!("{name}/manifest.json"))["dungeons"].as_array().unwrap().clone()
    };
    let inside = |place: &serde_json::Value, x: &str, y: &str| {
        let at = |key: &str| place[key].as_f64().unwrap();
        (40.0..130.0).contains(&at(x)) && (61.0..131.0).contains(&at(y))
    };
    let there: Vec<_> =
        dungeons("whole").into_iter().filter(|entrance| inside(entrance, "x", "y")).collect();
    assert!(there.len() > 2, "{there:?}");
    let (seeds, expected) = (dungeons("part"), there);
    assert_eq!(seeds.len(), expected.len());
    for (a, b) in seeds.iter().zip(&expected) {
        assert_eq!(
            [&a["x"], &a["y"], &a["seed"], &a["blake3"]],
            [&b["x"], &b["y"], &b["seed"], &b["blake3"]]
        );
    }
    // Places lie in the cells, whose samples are in the middle.
    folder.thalweg("scatter r.toml -o whole.csv --frequency 0.1 --seed 3 --device cpu").ok();
    folder
        .thalweg(
            "scatter r.toml -o part.csv --frequency 0.1 --seed 3 --part 40 61 90 70 --device cpu",
        )
        .ok();
    let rows = |name: &str| -> Vec<String> {
        let text = String::from_utf8(folder.read(name)).unwrap();
        let mut lines = text.lines().map(String::from);
        assert!(lines.next().unwrap().starts_with("x,y"), "{text}");
        let mut rows: Vec<String> = lines.collect();
        rows.sort();
        rows
    };
    let number =
        |row: &str, column: usize| row.split(',').nth(column).unwrap().parse::<f64>().unwrap();
    let mut expected = rows("whole.csv");
    expected.retain(|row| {
        (39.5..129.5).contains(&number(row, 0)) && (60.5..130.5).contains(&number(row, 1))
    });
    assert!(expected.len() > 50, "{}", expected.len());
    // East and north begin at the north-west sample of the land, and at that of the part.
    let from = |rows: &[String], [x, y]: [f64; 2]| -> Vec<String> {
        let shifted = |n: usize, text: &str| {
            let by = [10.0 * x, -10.0 * y];
            match n {
                2 | 3 => format!("{:.6}", text.parse::<f64>().unwrap() + by[n - 2]),
                _ => text.to_owned(),
            }
        };
        let row = |row: &String| {
            let row: Vec<String> = row.split(',').enumerate().map(|(n, t)| shifted(n, t)).collect();
            row.join(",")
        };
        rows.iter().map(row).collect()
    };
    let (whole, part) = ([-20.0, 30.0], [40.0, 61.0]);
    assert_eq!(from(&rows("part.csv"), part), from(&expected, whole));
    // Rivers are of whole lands; places do not ask for them.
    folder.file("wet.toml", format!("{text}[water]\nvectors = [\"geojson\"]\n"));
    folder
        .thalweg("run wet.toml -o no --part 40 61 90 70 --device cpu")
        .refused(1, &["drainage", "[water]", "thalweg tiles"]);
    folder
        .thalweg(
            "scatter wet.toml -o wet.csv --frequency 0.1 --seed 3 --part 40 61 90 70 --device cpu",
        )
        .ok();
    assert_eq!(from(&rows("wet.csv"), part), from(&expected, whole));
    // What a part cannot have is said.
    folder
        .thalweg("run r.toml -o no --part 40 61 900 70 --device cpu")
        .refused(1, &["part = 900 x 70", "240 x 200"]);
    folder.thalweg("run r.toml -o no --part 40 61 0 70 --device cpu").refused(1, &["part", "1 to"]);
    folder
        .thalweg("run r.toml -o no --part 40 61 90 70 --frames 3 --device cpu")
        .refused(1, &["time-lapse", "whole land"]);
}

/// One GeoTIFF, squares of files that share edges, and the chunks of a Zarr folder have the values
/// of a run, whatever the side of tiles. A store is filled once and then found.
#[test]
fn tiles_have_the_values_of_a_run() {
    let folder = Folder::new("tiles");
    folder.file("r.toml", recipe());
    folder.thalweg("run r.toml -o run --device cpu").ok();
    let whole = map(&folder, "run/height.tif");
    let first = folder
        .thalweg("tiles r.toml -o land.tif --tile-size 150 --store store --device cpu --json")
        .ok();
    let first: serde_json::Value = serde_json::from_str(&first.stdout).unwrap();
    assert!(first["made"].as_u64().unwrap() > 20 && first["found"] == 0, "{first}");
    let land = map(&folder, "land.tif");
    assert_eq!((land.width, land.height, land.spacing_m), (700, 530, 10.0));
    assert!(land.data == whole.data);
    // Another run finds the tiles; another side makes its own, for the same file.
    let bytes = folder.read("land.tif");
    let again = folder
        .thalweg(
            "tiles r.toml -o land.tif --tile-size 150 --store store --device cpu --json --force",
        )
        .ok();
    let again: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert!(again["made"] == 0 && again["found"].as_u64().unwrap() >= 15, "{again}");
    assert!(folder.read("land.tif") == bytes);
    folder.thalweg("tiles r.toml -o other.tif --tile-size 333 --device cpu").ok();
    assert!(folder.read("other.tif") == bytes);
    assert_eq!(
        folder.list(""),
        ["land.tif", "other.tif", "r.toml", "run", "store"],
        "nothing is left beside the output"
    );
    // The overviews are means of two by two cells, of four in each next one.
    let flow = folder
        .thalweg("tiles r.toml -o flow.tif --map flow --tile-size 150 --store store --device cpu")
        .ok();
    assert!(flow.stdout.contains("0 made"), "{}", flow.stdout);
    assert!(map(&folder, "flow.tif").data == map(&folder, "run/flow.tif").data);

    folder
        .thalweg(
            "tiles r.toml -o squares --file-side 256 --shared-edge --format npy --map height \
             --tile-size 150 --device cpu",
        )
        .ok();
    let names: Vec<String> =
        (0..3).flat_map(|x| (0..3).map(move |y| format!("height_x{x}_y{y}.npy"))).collect();
    let mut found = folder.list("squares");
    found.sort();
    assert_eq!(found, names);
    for (x, y) in [(0, 0), (1, 0), (2, 1), (2, 2)] {
        let square = map(&folder, &format!("squares/height_x{x}_y{y}.npy"));
        let side = |at: u32, all: u32| (all - at * 256).min(257);
        assert_eq!([square.width, square.height], [side(x, 700), side(y, 530)]);
        for (i, value) in square.data.iter().enumerate() {
            let (column, row) = (
                x as usize * 256 + i % square.width as usize,
                y as usize * 256 + i / square.width as usize,
            );
            assert_eq!(*value, whole.data[row * 700 + column], "column {column}, row {row}");
        }
    }
    folder.thalweg("tiles r.toml -o land.zarr --tile-size 150 --store store --device cpu").ok();
    // F11: a group for each level, which knows all its arrays; their paths as multiscale pictures;
    // and axes.
    let array = folder.json("land.zarr/0/height/zarr.json");
    assert_eq!(array["shape"], serde_json::json!([530, 700]));
    let group = folder.json("land.zarr/zarr.json");
    let paths = group["attributes"]["ome"]["multiscales"][0]["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| &set["path"]);
    assert!(paths.eq(["0/height", "1/height"]), "{group}");
    assert_eq!(group["consolidated_metadata"]["metadata"]["0/height"], array);
    assert_eq!(
        folder.json("land.zarr/0/zarr.json")["consolidated_metadata"]["metadata"]["height"],
        array
    );
    let unpacked = |name: &str| {
        let mut bytes = vec![];
        flate2::read::GzDecoder::new(&folder.read(name)[..]).read_to_end(&mut bytes).unwrap();
        bytes
    };
    let floats = |name: &str| -> Vec<f32> {
        unpacked(name).as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    let places = |name: &str| -> Vec<f64> {
        unpacked(name).as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    assert!(places("land.zarr/0/x/c/0").into_iter().eq((0..700).map(|i| f64::from(i) * 10.0)));
    assert!(places("land.zarr/1/y/c/0").into_iter().eq((0..266).map(|i| f64::from(i) * -20.0)));
    let chunk = floats("land.zarr/0/height/c/1/1");
    assert_eq!(chunk.len(), 512 * 512);
    for (i, value) in chunk.into_iter().enumerate() {
        let (column, row) = (512 + i % 512, 512 + i / 512);
        let expected =
            if column < 700 && row < 530 { whole.data[row * 700 + column] } else { f32::NAN };
        assert_eq!(value.to_bits(), expected.to_bits(), "column {column}, row {row}");
    }
    // What is there is replaced when that is asked for, and then whole.
    folder
        .thalweg("tiles r.toml -o land.zarr --map flow --tile-size 150 --device cpu")
        .refused(1, &["land.zarr", "--force"]);
    folder
        .thalweg("tiles r.toml -o squares --file-side 300 --format npy --device cpu")
        .refused(1, &["squares/height_x0_y0.npy", "--force"]);
    assert_eq!(folder.list("squares"), names);
    folder
        .thalweg(
            "tiles r.toml -o land.zarr --map height --tile-size 150 --store store --device cpu \
             --force",
        )
        .ok();
    assert_eq!(folder.list("land.zarr/0"), ["height", "x", "y", "zarr.json"]);
    folder
        .file("other.zarr", "")
        .thalweg("tiles r.toml -o other.zarr --device cpu --force")
        .refused(1, &["other.zarr", "is no Zarr folder"]);
    assert!(folder.list("").iter().all(|name| !name.starts_with('.')), "{:?}", folder.list(""));
    // A coarser array is the level that a run has, not a mean.
    folder.thalweg("run r.toml -o coarse --level 1 --device cpu").ok();
    let coarse = map(&folder, "coarse/height.tif");
    // From a level on.
    folder.thalweg("tiles r.toml -o coarse.zarr --level 1 --map height --device cpu").ok();
    assert!(folder.read("coarse.zarr/0/height/c/0/0") == folder.read("land.zarr/1/height/c/0/0"));
    for (i, value) in floats("land.zarr/1/height/c/0/0").into_iter().enumerate() {
        let (column, row) = (i % 512, i / 512);
        if column < coarse.width as usize && row < coarse.height as usize {
            assert_eq!(value, coarse.data[row * coarse.width as usize + column]);
        }
    }
}

/// The tiles of a web map decode to the heights of the levels of a run: the last zoom to those of
/// the recipe's cells, the one before to the next coarser level's. Beyond the land they have the
/// values of its edge.
#[test]
fn web_maps_have_the_heights_of_levels() {
    let folder = Folder::new("xyz");
    folder.file("r.toml", recipe());
    // MapLibre's decoders.
    let terrarium = |[r, g, b]: [f64; 3]| r * 256.0 + g + b / 256.0 - 32768.0;
    let terrain_rgb = |[r, g, b]: [f64; 3]| -10000.0 + (r * 65536.0 + g * 256.0 + b) * 0.1;
    for (encoding, side, step, decode) in [
        ("terrarium", 256, 1.0 / 256.0, &terrarium as &dyn Fn([f64; 3]) -> f64),
        ("terrain-rgb", 512, 0.1, &terrain_rgb),
    ] {
        let last = if side == 256 { 2 } else { 1 };
        folder
            .thalweg(&format!(
                "tiles r.toml -o {encoding} --xyz {encoding} --xyz-side {side} \
                 --tile-size 200 --device cpu"
            ))
            .ok();
        let told = folder.json(&format!("{encoding}/tilejson.json"));
        let expected = serde_json::json!([last - 1, last, side, "{z}/{x}/{y}.png"]);
        assert_eq!(
            serde_json::json!([
                told["minzoom"],
                told["maxzoom"],
                told["tileSize"],
                told["tiles"][0]
            ]),
            expected
        );
        let mut names = folder.list(encoding);
        names.sort();
        assert_eq!(names, [(last - 1).to_string(), last.to_string(), "tilejson.json".into()]);
        for zoom in [last - 1, last] {
            folder
                .thalweg(&format!("run r.toml -o run --level {} --device cpu --force", last - zoom))
                .ok();
            let land = map(&folder, "run/height.tif");
            for (x, y) in [(0, 0), ((land.width - 1) / side, (land.height - 1) / side)] {
                let picture =
                    super::picture(&folder.read(&format!("{encoding}/{zoom}/{x}/{y}.png")))
                        .to_rgb8();
                assert_eq!(picture.dimensions(), (side, side));
                for (column, row, pixel) in picture.enumerate_pixels() {
                    let [x, y] = [
                        (x * side + column).min(land.width - 1),
                        (y * side + row).min(land.height - 1),
                    ];
                    let height = f64::from(land.data[(y * land.width + x) as usize]);
                    let found = decode(pixel.0.map(f64::from));
                    assert!(
                        (found - height).abs() <= step / 2.0 + 1e-6,
                        "{encoding}, zoom {zoom}, {x}, {y}: {found}, {height}"
                    );
                }
            }
        }
    }
    for (line, code, parts) in [
        ("-o land.tif --xyz terrarium", 1, ["--xyz terrarium", "land.tif"]),
        ("-o x --xyz jpeg", 2, ["terrarium", "terrain-rgb"]),
        ("-o x --xyz terrarium --xyz-side 300", 2, ["256", "512"]),
        ("-o x --xyz terrarium --map nothing", 1, ["--map nothing", "height"]),
    ] {
        folder.thalweg(&format!("tiles r.toml --device cpu {line}")).refused(code, &parts);
    }
    folder
        .thalweg("tiles r.toml -o terrarium --xyz terrarium --device cpu")
        .refused(1, &["tilejson.json", "--force"]);
    // Heights that the colours cannot hold are counted: a plain at 40 km has as many as its zooms
    // have samples.
    let high = "schema = 2\nwidth = 60\nheight = 40\nspacing_m = 20\n[[stage]]\nkind = \"flat\"\n\
                height_m = 40000\n";
    folder.file("high.toml", high);
    let ran = folder.thalweg("tiles high.toml -o high --xyz terrarium --device cpu").ok();
    assert!(
        ran.stderr.contains("2400 samples of height lie beyond -32768 to 32767.996 m"),
        "{}",
        ran.stderr
    );
    let ran = folder.thalweg("tiles high.toml -o higher --xyz terrain-rgb --device cpu").ok();
    assert!(!ran.stderr.contains("beyond"), "{}", ran.stderr);
}

/// A run whose window is too large makes its land by tiles: its maps are the files that `tiles`
/// writes, and its manifest holds for them.
#[test]
fn a_run_that_is_too_large_is_made_by_tiles() {
    let folder = Folder::new("run-tiles");
    let recipe = |format: &str, more: &str| {
        format!(
            "schema = 2\nseed = 3\nwidth = 32768\nheight = 256\nspacing_m = 10\nlevels = 5\n\
             {more}\n[[stage]]\nkind = \"diamond_square\"\nworld_cells = 65536\n\
             feature_cells = 256\nrelief_m = 300\n[[stage]]\nkind = \"thermal\"\nsteps = \
                 2\n[output]\n\
             maps = [\"height\", \"erosion\"]\nformat = \"{format}\"\n"
        )
    };
    folder.file("r.toml", recipe("tif", ""));
    let told = folder.thalweg("run r.toml --dry-run --device cpu").ok();
    assert!(
        told.stdout.contains("32768 x 256 cells in ") && told.stdout.contains(" on CPU"),
        "{}",
        told.stdout
    );
    let told = folder.thalweg("run r.toml -o run --device cpu").ok();
    assert!(
        told.stderr.contains("at most 32767") && told.stderr.contains("by tiles"),
        "{}",
        told.stderr
    );
    let mut names = folder.list("run");
    names.sort();
    assert_eq!(names, ["erosion.tif", "height.tif", "manifest.json", "preview.png"]);
    folder.thalweg("verify run").ok();
    folder.thalweg("tiles r.toml -o height.tif --tile-size 1000 --device cpu").ok();
    assert!(folder.read("run/height.tif") == folder.read("height.tif"));
    let (manifest, height) = (folder.json("run/manifest.json"), map(&folder, "height.tif"));
    let (low, high) = height.min_max();
    assert_eq!(manifest["by_tiles"], true);
    assert_eq!(manifest["maps"][0]["min"].as_f64().unwrap() as f32, low);
    assert_eq!(manifest["maps"][0]["max"].as_f64().unwrap() as f32, high);
    // A second run finds the first one's files.
    folder.thalweg("run r.toml -o run --device cpu").refused(1, &["height.tif", "--force"]);
    // What tiles do not have is named beside why the window does not fit.
    folder.file("png.toml", recipe("png", ""));
    folder.thalweg("run png.toml -o no --device cpu").refused(1, &["at most 32767", "only tif"]);
    folder
        .thalweg("run r.toml -o no --device cpu --frames 3")
        .refused(1, &["at most 32767", "time-lapse"]);
    assert!(
        !folder.list("").iter().any(|name| name == "no" || name.starts_with('.')),
        "{:?}",
        folder.list("")
    );
}

/// Files that are no maps do not come with tiles, which is said.
#[test]
fn tiles_say_that_lines_are_left_out() {
    let folder = Folder::new("tiles-lines");
    folder.file("r.toml", format!("{}[water]\nvectors = [\"geojson\"]\n", recipe()));
    let ran = folder.thalweg("tiles r.toml --dry-run --device cpu").ok();
    assert!(
        ran.stderr.contains("water.vectors") && ran.stderr.contains("thalweg run"),
        "{}",
        ran.stderr
    );
}

/// Squares of a land without a place on Earth lie beside each other, and a part where it lies in
/// the land: in metres from its north-west sample.
#[test]
fn squares_lie_beside_each_other() {
    let folder = Folder::new("tiles-place");
    folder.file("r.toml", recipe());
    folder
        .thalweg(
            "tiles r.toml -o squares --file-side 256 --format tif --map height --tile-size 150 \
             --device cpu",
        )
        .ok();
    folder
        .thalweg("tiles r.toml -o part.tif --part 140 270 100 60 --tile-size 150 --device cpu")
        .ok();
    let corner = |name: &str| {
        map(&folder, name).georef.map(|georef| (georef.west, georef.north, georef.epsg))
    };
    // The first has no place, as a run's map has none.
    assert_eq!(corner("squares/height_x0_y0.tif"), None);
    let land: thalweg::Recipe = thalweg::Recipe::read(folder.0.join("r.toml")).unwrap();
    let (spacing, origin) = (land.spacing_m.unwrap(), land.window.origin);
    assert_eq!(corner("squares/height_x1_y1.tif"), Some((255.5 * spacing, -255.5 * spacing, None)));
    let [east, south] = [140 - origin[0], 270 - origin[1]].map(|cells| cells as f64 * spacing);
    assert_eq!(corner("part.tif"), Some((east - spacing / 2.0, spacing / 2.0 - south, None)));
}

/// An endless land may be larger than a window: a part of it has the words that it has in a small
/// one.
#[test]
fn endless_lands_of_any_size_have_tiles() {
    let folder = Folder::new("tiles-wide");
    let text = |width: u32| {
        format!(
            "schema = 2\nwidth = {width}\nheight = 40\nspacing_m = 10\nendless = true\nlevels = 2\n\
             [[stage]]\nkind = \"diamond_square\"\n\
             world_cells = 65536\nfeature_cells = 64\nrelief_m = 300\nedge = \"torus\"\n[[stage]]\n\
             kind = \"thermal\"\nsteps = 2\n[output]\nmaps = [\"height\"]\n"
        )
    };
    folder.file("wide.toml", text(70_000)).file("narrow.toml", text(64));
    for name in ["wide", "narrow"] {
        let line = format!(
            "tiles {name}.toml --part 39990 0 70 40 --tile-size 64 --map height -o {name}.tif \
             --device \
             cpu"
        );
        folder.thalweg(&line).ok();
    }
    assert_eq!(map(&folder, "wide.tif").data, map(&folder, "narrow.tif").data);
    folder.thalweg("tiles wide.toml --dry-run --tile-size 4096").ok();
}

/// Under a limit of its memory a job makes the same bytes, or is refused by what it needs before it
/// begins: it does not run out of memory.
#[cfg(target_os = "linux")]
#[test]
fn tiles_keep_within_a_limit_of_memory() {
    let folder = Folder::new("tiles-limit");
    folder.file("r.toml", recipe());
    folder.thalweg("tiles r.toml -o whole.tif --device cpu --threads 2").ok();
    let mut made = 0;
    for mib in [150, 250, 400, 700, 1500] {
        let program = env!("CARGO_BIN_EXE_thalweg");
        let line = format!(
            "ulimit -v {}; exec {program} tiles r.toml -o {mib}.tif --device cpu --threads 2 -q",
            mib * 1024
        );
        let ran = super::ran(
            std::process::Command::new("sh")
                .args(["-c", &line])
                .current_dir(&folder.0)
                .output()
                .unwrap(),
        );
        if ran.code == Some(0) {
            made += 1;
            assert_eq!(folder.read(&format!("{mib}.tif")), folder.read("whole.tif"), "{mib} MiB");
        } else {
            ran.refused(1, &["MiB"]);
        }
    }
    assert!((1..5).contains(&made), "{made} of 5 limits were enough");
}

/// A job of tiles takes the memory that `--dry-run` says, within a tenth, where it is much more
/// than the program alone.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_is_as_planned() {
    let folder = Folder::new("tiles-memory");
    folder.file(
        "plain.toml",
        "schema = 2\nwidth = 4096\nheight = 3072\nspacing_m = 10\nlevels = 4\n[[stage]]\n\
         kind = \"diamond_square\"\nfeature_cells = 1024\nrelief_m = 900\n\
         [[stage]]\nkind = \"thermal\"\nsteps = 2\n[output]\nmaps = [\"height\"]\n",
    );
    folder.file("levels.toml", include_str!("../../../docs/levels.toml"));
    folder.file("climate.toml", include_str!("../../../examples/climate.toml"));
    for line in [
        "plain.toml --tile-size 1024",
        "plain.toml --tile-size 2048",
        "levels.toml --tile-size 1024 --set droplets.rain=0.25 --set droplets.lifetime=16",
        "levels.toml --size 1536 --tile-size 768 --time-chunk 8 --set droplets.rain=0.25 --set \
         droplets.lifetime=16",
        "climate.toml --size 1536 --tile-size 1536 --map rain --set incision.steps=4",
    ] {
        let line = format!("tiles {line} --device cpu --threads 2");
        let planned = folder.thalweg(&format!("{line} --dry-run --json")).ok();
        let planned = serde_json::from_str::<serde_json::Value>(&planned.stdout).unwrap()["bytes"]
            .as_f64()
            .unwrap();
        let mut process =
            folder.command(&format!("{line} -o land.tif --force -q")).spawn().unwrap();
        let status = format!("/proc/{}/status", process.id());
        let mut peak = 0.0;
        let ended = loop {
            // The system keeps the peak until the process ends; a process that has ended has none.
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let kib = text.lines().find_map(|line| {
                line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<f64>().ok()
            });
            peak = kib.map_or(peak, |kib| kib * 1024.0);
            if let Some(ended) = process.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        };
        assert!(ended.success(), "{line}");
        let ratio = peak / planned;
        assert!((0.9..1.1).contains(&ratio), "{line}: planned {planned} bytes, took {peak}");
    }
}

/// Tiles that processes make by the list, two at a time on one store, are those that one process
/// needs, whether time is cut or not.
#[test]
fn tiles_are_made_by_many_processes() {
    let folder = Folder::new("tile");
    folder.file("r.toml", recipe());
    for cut in ["--tile-size 260", "--tile-size 260 --time-chunk 5"] {
        let graph = folder.thalweg(&format!("tiles r.toml {cut} --list")).ok();
        let graph: serde_json::Value = serde_json::from_str(&graph.stdout).unwrap();
        let in_slabs = graph["time_chunk"] == 5;
        assert_eq!(in_slabs, cut.contains("time-chunk"));
        let tiles = graph["tiles"].as_array().unwrap();
        let known: Vec<_> = tiles.iter().map(|tile| &tile["key"]).collect();
        for (i, tile) in tiles.iter().enumerate() {
            let inputs = tile["inputs"].as_array().unwrap();
            assert!(
                inputs.iter().all(|input| known[..i].contains(&input)),
                "{tile} stands before what it is made from"
            );
            let of =
                |key: &serde_json::Value| &tiles[known.iter().position(|k| *k == key).unwrap()];
            for input in inputs.iter().map(of) {
                assert!(input["level"] != tile["level"] || in_slabs);
                assert_eq!(input["layer"].as_u64().unwrap() + 1, tile["layer"]);
            }
            assert!(!inputs.is_empty() || tile["level"] == 1);
        }
        let slabs = tiles.iter().filter_map(|tile| tile["slab"].as_u64()).max();
        assert_eq!(slabs, Some(if in_slabs { 2 } else { 0 }), "two lives of six steps");
        // What all tiles cost is what the plan has.
        let plan =
            folder.thalweg(&format!("tiles r.toml {cut} --dry-run --json --device cpu")).ok();
        let plan: serde_json::Value = serde_json::from_str(&plan.stdout).unwrap();
        let sum = |of: &[serde_json::Value], cost: &dyn Fn(&serde_json::Value) -> f64| -> f64 {
            of.iter().map(cost).sum()
        };
        let level = |level: &serde_json::Value| {
            level["passes"].as_f64().unwrap() * level["worked_cells"].as_f64().unwrap()
        };
        let planned = sum(plan["levels"].as_array().unwrap(), &level);
        let listed = sum(tiles, &|tile| tile["work"].as_f64().unwrap());
        assert!((listed / planned - 1.0).abs() < 1e-9, "{listed} passes, planned {planned}");
        let store = if in_slabs { "slabs" } else { "store" };
        for pair in tiles.chunks(2) {
            let processes: Vec<_> = pair
                .iter()
                .map(|tile| {
                    let line = format!(
                        "tile r.toml {} {} {} --slab {} --key {} {cut} --store {store} --device \
                         cpu -q",
                        tile["level"],
                        tile["x"],
                        tile["y"],
                        tile["slab"],
                        tile["key"].as_str().unwrap()
                    );
                    folder.command(&line).spawn().unwrap()
                })
                .collect();
            assert!(processes.into_iter().all(|mut process| process.wait().unwrap().success()));
        }
        let mut stored = 0.0;
        for tile in tiles {
            let file = tile["file"].as_str().unwrap();
            assert!(folder.0.join(store).join(file).is_file(), "{tile}");
            stored += tile["store_bytes"].as_f64().unwrap();
        }
        let found = folder
            .thalweg(&format!(
                "tiles r.toml -o land.tif {cut} --store {store} --device cpu --json --force"
            ))
            .ok();
        let found: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
        assert_eq!(found["made"], 0);
        let checked = folder.thalweg(&format!("store verify {store} --json")).ok();
        let checked: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
        assert_eq!(
            (&checked["tiles"], checked["damaged"].as_array().unwrap().len()),
            (&serde_json::json!(tiles.len()), 0)
        );
        let kept = folder.thalweg(&format!("store list {store} --json")).ok();
        let kept: serde_json::Value = serde_json::from_str(&kept.stdout).unwrap();
        // In the middle of a stage there may be fewer particles than there is room for.
        let least = if in_slabs { 0.5 } else { 0.99 };
        let ratio = stored / kept["bytes"].as_f64().unwrap();
        assert!((least..1.5).contains(&ratio), "listed {stored} bytes, {kept}");
        let states = |tile: &&serde_json::Value| tile["slab"] != 0;
        let listed = folder.thalweg(&format!("store list {store}")).ok().stdout;
        let lines = |text: &str| listed.lines().filter(|line| line.ends_with(text)).count();
        assert_eq!(lines("steps of droplets"), tiles.iter().filter(states).count(), "{listed}");
        assert_eq!(
            lines("after 4 of 12 steps of droplets"),
            lines("after 8 of 12 steps of droplets"),
            "{listed}"
        );
        let one = folder
            .thalweg(&format!(
                "tile r.toml 0 1 1 {cut} --store {store} -o one.npy --device cpu --force"
            ))
            .ok();
        let is_one = |tile: &&serde_json::Value| {
            ["level", "x", "y", "slab"].map(|name| tile[name].as_i64().unwrap()) == [0, 1, 1, 0]
        };
        assert!(one.stdout.contains(tiles.iter().find(is_one).unwrap()["key"].as_str().unwrap()));
        assert_eq!(map(&folder, "one.npy").width, 233);
    }
    // The planner chooses the side where only the steps of a slab are given.
    let planned = folder.thalweg("tiles r.toml --time-chunk 5 --dry-run --json --device cpu").ok();
    let planned: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(
        (&planned["time_chunk"], &planned["levels"][0]["slabs"]),
        (&serde_json::json!(5), &serde_json::json!(3))
    );
    folder.thalweg("tiles r.toml --time-chunk 5 -o planned.tif --device cpu").ok();
    assert!(folder.read("planned.tif") == folder.read("land.tif"));
}

/// A store that is damaged, pruned or no store says so; a tile that is damaged is made again.
#[test]
fn stores_are_looked_after() {
    let folder = Folder::new("store");
    std::fs::create_dir(folder.0.join("x")).unwrap();
    folder.file("r.toml", recipe()).file("x/other.txt", "");
    folder.thalweg("tiles r.toml -o land.tif --tile-size 260 --store store --device cpu").ok();
    let bytes = folder.read("land.tif");
    let list = folder.thalweg("store list store --json").ok();
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    let key = list["tiles"][0]["key"].as_str().unwrap();
    let path = format!("store/{}/{}.tile", &key[..2], &key[2..]);
    let mut tile = folder.read(&path);
    let at = tile.len() / 2;
    tile[at] ^= 4;
    folder.file(&path, tile);
    let refused = folder.thalweg("store verify store");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stdout.contains("damaged"), "{}", refused.stdout);
    folder
        .thalweg("tiles r.toml -o land.tif --tile-size 260 --store store --device cpu --force")
        .ok();
    assert!(folder.read("land.tif") == bytes);
    folder.thalweg("store verify store").ok();
    let pruned = folder.thalweg("store prune store --to 1M").ok();
    assert!(pruned.stdout.contains("removed"), "{}", pruned.stdout);
    let left = folder.thalweg("store list store --json").ok();
    let left: serde_json::Value = serde_json::from_str(&left.stdout).unwrap();
    assert!(left["bytes"].as_u64().unwrap() <= 1 << 20);
    // A store has a folder of its own, and nothing is left where it has none.
    for place in ["new.tif", "./new.tif"] {
        let line = format!("tiles r.toml -o new.tif --tile-size 260 --store {place} --device cpu");
        folder.thalweg(&line).refused(1, &["--store", "new.tif", "a folder of its own"]);
    }
    assert!(!folder.0.join("new.tif").exists());
    folder.thalweg("store verify nowhere").refused(1, &["nowhere", "no such folder"]);
    folder.thalweg("store list x").refused(1, &["x", "is no store"]);
    folder.thalweg("store prune store --to 1X").refused(2, &["1X", "500M"]);
}

/// A store on a disk that is full is an error that names it. Nothing is lost: with room again, the
/// land is the same.
#[cfg(unix)]
#[test]
fn a_store_that_is_full_is_an_error() {
    let folder = Folder::new("store-full");
    folder.file("r.toml", recipe());
    folder.thalweg("tiles r.toml -o land.tif --tile-size 260 --device cpu").ok();
    // A file may have 200 KiB, and a tile has more.
    let program = env!("CARGO_BIN_EXE_thalweg");
    let line = format!(
        "ulimit -f 400; exec {program} tiles r.toml -o other.tif --tile-size 260 --store store \
         --device \
         cpu"
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    super::ran(output).refused(1, &["store"]);
    assert_eq!(folder.list(""), ["land.tif", "r.toml", "store"]);
    folder.thalweg("store verify store").ok();
    folder.thalweg("tiles r.toml -o other.tif --tile-size 260 --store store --device cpu").ok();
    assert!(folder.read("other.tif") == folder.read("land.tif"));
}

/// What is wrong is named before the work, and leaves nothing.
#[test]
fn wrong_tiles_are_refused() {
    let folder = Folder::new("tiles-wrong");
    folder.file("r.toml", recipe());
    for (line, code, parts) in [
        ("tiles r.toml -o a.tif --tile-size 8", 1, vec!["tiles of 8 cells", "16 to 16384"]),
        ("tiles r.toml -o a.tif --map wear", 1, vec!["--map wear", "height, flow", "output.maps"]),
        (
            "tiles r.toml -o a.tif --part 0 0 10 10",
            1,
            vec!["part = 10 x 10 cells from 0, 0", "700 x 530 cells from 100, 200"],
        ),
        ("tiles r.toml -o a.tif --part 100 200 0 10", 1, vec!["part = 0 x 10"]),
        ("tiles r.toml -o a --format png", 1, vec!["one range", "--output-range"]),
        ("tiles r.toml -o a.tif --level 2", 1, vec!["level = 2", "0 to 1"]),
        ("tiles r.toml -o a.tif --shared-edge", 1, vec!["--shared-edge", "a.tif"]),
        ("tiles r.toml -o a.zarr --format npy", 1, vec!["--format", "a.zarr"]),
        ("tiles r.toml -o a.png", 1, vec!["a.png", "--format png"]),
        ("tiles r.toml -o a.tif --store s --share 1/2", 1, vec!["--share 1/2", "a.tif", ".zarr"]),
        ("tiles r.toml -o a.zarr --share 1/2", 2, vec!["--store"]),
        ("tiles r.toml -o a.zarr --store s --share 0/2", 2, vec!["0/2", "K from 1 to N"]),
        ("tiles r.toml -o a.zarr --store s --share 3/2", 2, vec!["3/2", "K from 1 to N"]),
        ("tiles r.toml -o a.zarr --store s --share half", 2, vec!["half", "K/N"]),
        ("tiles r.toml --level 9 --dry-run", 1, vec!["level = 9", "0 to 1"]),
        ("tiles r.toml", 2, vec!["--output"]),
        ("tiles r.toml -o a.tif --tile-size 0", 1, vec!["tiles of 0 cells", "16 to 16384"]),
        ("tiles r.toml --dry-run --tile-size 0", 1, vec!["tiles of 0 cells"]),
        ("tiles r.toml --list --tile-size 0", 1, vec!["tiles of 0 cells"]),
        ("tile r.toml 0 0 0 -o a.npy --tile-size 0", 1, vec!["tiles of 0 cells"]),
        ("tile r.toml 0 0 0", 1, vec!["--store"]),
        (
            "tile r.toml 0 9 0 --tile-size 260 --store store",
            1,
            vec!["tile 9, 0 of level 0", "lies beyond the land"],
        ),
        ("tile r.toml 0 0 0 --store r.toml", 1, vec!["r.toml"]),
        ("tiles r.toml -o a.tif --tile-size 260 --time-chunk 0", 2, vec!["--time-chunk", "1.."]),
        (
            "tile r.toml 0 0 0 --slab 3 --tile-size 260 --store store",
            1,
            vec!["slab 3 of level 0", "slabs 0 to 0"],
        ),
        (
            "tile r.toml 0 0 0 --tile-size 260 --store store --key abc",
            1,
            vec!["--key abc", "tile 0, 0 of level 0 has the key", "list them again"],
        ),
        ("tiles r.toml -o a.tif --for make", 2, vec!["--store"]),
        ("tiles r.toml --store store --for make", 2, vec!["--output"]),
        ("tiles r.toml -o a.tif --store s --for ninja", 2, vec!["ninja", "snakemake"]),
        ("tiles r.toml -o a.tif --script b", 2, vec!["--for"]),
        ("tiles - -o a.tif --store store --for make", 1, vec!["store it in a file"]),
        ("tiles r.toml -o r.toml --store s --for make", 1, vec!["r.toml"]),
        ("tiles r.toml -o a.tif --store s{a}b --for snakemake", 1, vec!["s{a}b", "wildcards"]),
        ("tiles r.toml -o a.tif --store s --for make --script r.toml", 1, vec!["r.toml", "exists"]),
        (
            "tile r.toml 0 0 0 --slab 1 --tile-size 260 --time-chunk 5 -o a.npy",
            1,
            vec!["-o a.npy", "slab 0"],
        ),
        (
            "tiles r.toml -o a.tif --memory 1M",
            1,
            vec!["tiles of 256 cells need", "lower lifetime or rain"],
        ),
    ] {
        folder.thalweg(&format!("{line} --device cpu")).refused(code, &parts);
    }
    assert_eq!(folder.list(""), ["r.toml"]);
}

/// P2: maps, meshes and vectors of a level lie where its samples are, with its cell and the
/// coordinate system of the input, by `run` and by `tiles`. The first sample of a level lies at the
/// recipe's first one or a cell before it.
#[test]
fn a_level_lies_where_its_samples_are() {
    let folder = Folder::new("level-place");
    let data = (0..130 * 100)
        .map(|i| ((i % 130) as f32 / 9.0).sin() * 40.0 + (i / 130) as f32 * 3.0)
        .collect();
    let georef = Some(thalweg::Georef {
        epsg: Some(32632),
        west: 400_000.0,
        north: 5_200_000.0,
        cell: (10.0, 10.0),
        keys: None,
    });
    let land = Map { width: 130, height: 100, spacing_m: 10.0, data, range_m: None, georef };
    folder.file(
        "land.tif",
        thalweg::io::encode(
            &land,
            thalweg::io::MapFormat::from_path(std::path::Path::new("x.tif")).unwrap(),
        )
        .unwrap()
        .0,
    );
    for origin in [[0i64, 0], [-3, 7]] {
        let text = format!(
            "schema = 2\ninput = \"land.tif\"\norigin = {origin:?}\nlevels = 3\n[[stage]]\n\
             kind = \"thermal\"\nsteps = 1\nrepose_deg = 30\n\
             [water]\nchannel_area_km2 = 0.01\nvectors = [\"geojson\"]\n[output]\n\
             maps = [\"height\", \"slope\", \"erosion\", \"deposition\"]\nformat = \"tif\"\n\
             formats = {{ slope = \"asc\" }}\npreview = false\n"
        );
        folder.file("r.toml", text);
        for level in 0..3i64 {
            let cell = 10.0 * f64::from(1 << level);
            let first = origin.map(|at| at.div_euclid(1 << level) * (1 << level) - at);
            // The outer corner of the first cell, whose sample lies so many of the recipe's cells
            // from the recipe's first.
            let (west, north) = (
                400_005.0 + 10.0 * first[0] as f64 - cell / 2.0,
                5_199_995.0 - 10.0 * first[1] as f64 + cell / 2.0,
            );
            let lies = |map: &Map, what: &str, epsg: Option<u32>| {
                let place = map
                    .georef
                    .as_ref()
                    .unwrap_or_else(|| panic!("{what}, level {level}: no place"));
                assert_eq!(
                    (place.west, place.north, place.cell),
                    (west, north, (cell, cell)),
                    "{what}, level {level}, {origin:?}"
                );
                assert_eq!((map.spacing_m, place.epsg), (cell, epsg), "{what}, level {level}");
            };
            folder.thalweg(&format!("run r.toml -o run --level {level} --device cpu --force")).ok();
            let height = map(&folder, "run/height.tif");
            lies(&height, "tif", Some(32632));
            lies(&map(&folder, "run/slope.asc"), "asc", None);
            let manifest = folder.json("run/manifest.json");
            assert_eq!(manifest["spacing_m"], cell);
            assert_eq!(
                manifest["origin"],
                serde_json::json!(origin.map(|at| at.div_euclid(1 << level)))
            );
            // Basins cover the land, so their outlines end where the map does.
            let basins = String::from_utf8(folder.read("run/basins.geojson")).unwrap();
            assert!(basins.contains("EPSG::32632"), "{basins}");
            let basins: serde_json::Value = serde_json::from_str(&basins).unwrap();
            let mut ends = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
            let mut places = vec![&basins["features"]];
            while let Some(place) = places.pop() {
                match place.as_array().map(Vec::as_slice) {
                    Some([x, y, ..]) if x.is_number() => {
                        let at = [x.as_f64().unwrap(), y.as_f64().unwrap()];
                        ends = [
                            ends[0].min(at[0]),
                            ends[1].max(at[0]),
                            ends[2].min(at[1]),
                            ends[3].max(at[1]),
                        ];
                    }
                    Some(all) => places.extend(all.iter().map(|feature| {
                        feature.pointer("/geometry/coordinates").unwrap_or(feature)
                    })),
                    None => {}
                }
            }
            let size = [height.width, height.height].map(|side| f64::from(side) * cell);
            assert_eq!(
                ends,
                [west, west + size[0], north - size[1], north],
                "vectors of level {level}, {origin:?}"
            );
            folder
                .thalweg(&format!(
                    "tiles r.toml -o cog.tif --level {level} --tile-size 40 --device cpu --force"
                ))
                .ok();
            let cog = map(&folder, "cog.tif");
            lies(&cog, "cog", Some(32632));
            assert!(cog.data == height.data);
            let line = format!(
                "tiles r.toml -o squares --level {level} --map height --file-side 20 --format tif \
                 --device cpu --force"
            );
            folder.thalweg(&line).ok();
            lies(&map(&folder, "squares/height_x0_y0.tif"), "a file of tiles", Some(32632));
            let place = map(&folder, "squares/height_x1_y1.tif").georef.unwrap();
            assert_eq!(
                (place.west, place.north, place.cell),
                (west + 20.0 * cell, north - 20.0 * cell, (cell, cell))
            );
            // A mesh has its own frame, in metres.
            folder.thalweg("convert run/height.tif mesh.obj --force").ok();
            let mesh = String::from_utf8(folder.read("mesh.obj")).unwrap();
            let far = mesh
                .lines()
                .filter_map(|line| line.strip_prefix("v ")?.split(' ').next()?.parse::<f64>().ok())
                .fold(0.0, f64::max);
            assert_eq!(far, f64::from(height.width - 1) * cell);
        }
        // A part of a level, too.
        let part = [origin[0] + 33, origin[1] + 21];
        folder.file(
            "dry.toml",
            "schema = 2\ninput = \"land.tif\"\nlevels = 3\n[[stage]]\n\
             kind = \"thermal\"\nsteps = 1\n[output]\nmaps = [\"height\"]\n",
        );
        folder
            .thalweg("run dry.toml -o part --level 1 --part 33 21 40 40 --device cpu --force")
            .ok();
        let place = map(&folder, "part/height.tif").georef.unwrap();
        assert_eq!(
            (place.west, place.north),
            (400_005.0 + 320.0 - 10.0, 5_199_995.0 - 200.0 + 10.0),
            "{part:?}"
        );
    }
}

/// P8: recipes whose picture names maps that they have not got, and maps that only the finest level
/// has.
#[test]
fn every_map_is_there_or_refused() {
    let folder = Folder::new("maps-of-levels");
    let base = "schema = 2\nname = \"lv\"\nwidth = 100\nheight = 100\nspacing_m = 10\n";
    let rain =
        "[[stage]]\nkind = \"noise\"\n[[stage]]\nkind = \"droplets\"\nrain = 0.5\nlifetime = 8\n";
    // The picture's beach, flow and wear are not maps of these.
    for (n, stages) in [rain, "[[stage]]\nkind = \"noise\"\n"].iter().enumerate() {
        folder.file(
            "ground.toml",
            format!(
                "{base}{stages}[output]\nmaps = [\"height\"]\n\
                 format = \"npy\"\ncolour = \"ground\"\n"
            ),
        );
        folder.thalweg(&format!("tiles ground.toml -o ground{n} --device cpu")).ok();
        folder.thalweg(&format!("tiles ground.toml -o ground{n}.zarr --device cpu")).ok();
        let files = folder.list(&format!("ground{n}"));
        assert_eq!(files.contains(&"flow_x0_y0.npy".into()), n == 0, "{files:?}");
        folder.thalweg("run ground.toml -o run --device cpu --force").ok();
        assert!(
            map(&folder, &format!("ground{n}/height_x0_y0.npy")).data
                == map(&folder, "run/height.npy").data
        );
    }
    for (map_name, stage) in
        [("hardness", "layer\"\nmap = \"hardness\"\nfrom = \"slope"), ("coast_distance", "shore")]
    {
        let maps = format!(
            "[output]\nmaps = [\"height\", \"{map_name}\"]\nformat = \"npy\"\npreview = false\n"
        );
        folder.file(
            "lv.toml",
            format!("{base}levels = 2\n{rain}[[stage]]\nkind = \"{stage}\"\n{maps}"),
        );
        let why = [
            map_name,
            "level 1 has no such map",
            "stage 3",
            "runs on the finest level alone",
            "level 0",
        ];
        for line in [
            "run lv.toml -o no --level 1",
            "run lv.toml -o no --level 1 --dry-run",
            "tiles lv.toml -o no --level 1",
        ] {
            folder.thalweg(&format!("{line} --device cpu")).refused(1, &why);
        }
        folder
            .thalweg(&format!("tiles lv.toml -o no.tif --level 1 --map {map_name} --device cpu"))
            .refused(1, &why[..4]);
        assert!(
            !folder.list("").iter().any(|name| name.starts_with("no")),
            "{:?}",
            folder.list("")
        );
        // The height of that level is there, and so is the map of the finest one.
        folder.thalweg("tiles lv.toml -o one.tif --level 1 --device cpu --force").ok();
        folder.thalweg("run lv.toml -o run --device cpu --force").ok();
        folder.thalweg("tiles lv.toml -o fine --device cpu --force").ok();
        let file = format!("fine/{map_name}_x0_y0.npy");
        assert!(map(&folder, &file).data == map(&folder, &format!("run/{map_name}.npy")).data);
        // Each map of a pyramid has the levels that it has.
        folder.thalweg("tiles lv.toml -o all.zarr --device cpu --force").ok();
    }
}

/// All files below a folder, with their bytes.
fn tree(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![];
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                files.push((path.strip_prefix(root).unwrap().into(), bytes));
            }
        }
    }
    files.sort();
    files
}

/// Processes that write shares of a Zarr folder at the same time leave the folder that one process
/// writes, whatever their number, and nothing beside it.
#[test]
fn shares_of_a_zarr_folder_are_the_whole() {
    let folder = Folder::new("zarr-shares");
    folder.file("r.toml", recipe());
    let tiles = "tiles r.toml --tile-size 260 --store store --device cpu";
    folder.thalweg(&format!("{tiles} -o whole.zarr")).ok();
    let whole = tree(&folder.0.join("whole.zarr"));
    // The first level of `recipe()` has four chunks a map, the second one.
    for count in [1, 2, 3, 7] {
        std::thread::scope(|scope| {
            for number in 1..=count {
                let line = format!("{tiles} -o land.zarr --force --share {number}/{count}");
                let folder = &folder;
                scope.spawn(move || folder.thalweg(&line).ok());
            }
        });
        assert!(tree(&folder.0.join("land.zarr")) == whole, "{count} shares");
        assert_eq!(folder.list(""), ["land.zarr", "r.toml", "store", "whole.zarr"], "{count}");
    }
    let share = |more: &str| folder.thalweg(&format!("{tiles} -o new.zarr {more}"));
    share("--share 2/2").ok();
    assert!(!folder.0.join("new.zarr").exists(), "one of two is not the whole");
    for other in ["--share 1/3", "--share 1/2 --seed 6", "--share 1/2 --map height"] {
        share(other).refused(1, &[".new.zarr.shares", "the same options"]);
    }
    // A share that was ended halfway can be run again, and keeps the chunks that it had written.
    let content = folder.0.join(".new.zarr.shares/content");
    let [kept, lost] = ["0/height/c/1/1", "0/height/c/1/0"].map(|chunk| content.join(chunk));
    let before = std::fs::metadata(&kept).unwrap().modified().unwrap();
    std::fs::remove_file(&lost).unwrap();
    share("--share 1/2").refused(1, &["c/1/0", "is missing", "run all shares again"]);
    assert!(!folder.0.join("new.zarr").exists(), "a chunk is missing");
    share("--share 2/2").ok();
    assert!(tree(&folder.0.join("new.zarr")) == whole);
    let chunk = folder.0.join("new.zarr/0/height/c/1/1");
    assert_eq!(std::fs::metadata(chunk).unwrap().modified().unwrap(), before);
    share("--share 1/2").refused(1, &["new.zarr", "--force"]);
}

/// Shares of a folder of files are its files, each written once.
#[test]
fn shares_of_a_folder_of_files_are_the_whole() {
    let folder = Folder::new("file-shares");
    folder.file("r.toml", recipe());
    let tiles = "tiles r.toml --tile-size 260 --store store --device cpu --file-side 200 \
                 --format npy";
    folder.thalweg(&format!("{tiles} -o whole")).ok();
    let written = |number: u32| {
        let ran = folder.thalweg(&format!("{tiles} -o shares --json --share {number}/3")).ok();
        let said: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        said["files"].as_array().unwrap().len()
    };
    let counts = [2, 1, 3].map(written);
    assert_eq!(counts.iter().sum::<usize>(), folder.list("whole").len());
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert!(tree(&folder.0.join("shares")) == tree(&folder.0.join("whole")));
    folder
        .thalweg(&format!("{tiles} -o shares --share 2/3"))
        .refused(1, &["already exists", "--force"]);
}

/// Of two programs that make one Zarr folder at once, the one that ends later does not replace the
/// other's, unless it may replace what is there.
#[test]
fn a_zarr_folder_that_came_meanwhile_is_not_replaced() {
    let folder = Folder::new("zarr-meanwhile");
    let path = folder.0.join("land.zarr");
    let begin = |replace| thalweg::io::Zarr::create(&path, replace).unwrap();
    let of = |n: i32| serde_json::json!({ "writer": n });
    let (first, second) = (begin(false), begin(false));
    first.finish(&of(1)).unwrap().unwrap();
    let whole = folder.read("land.zarr/zarr.json");
    let error = second.finish(&of(2)).unwrap_err().to_string();
    assert!(error.contains("land.zarr") && error.contains("already exists"), "{error}");
    assert_eq!(folder.read("land.zarr/zarr.json"), whole);
    begin(true).finish(&of(3)).unwrap();
    assert_eq!(folder.json("land.zarr/zarr.json")["attributes"]["writer"], 3);
    assert_eq!(folder.list(""), ["land.zarr"]);
}

/// Tiles have no materials where these ask for water, and say so where a recipe asks for them.
#[test]
fn materials_that_ask_for_water_are_of_whole_lands() {
    let folder = Folder::new("wet_materials");
    let land = "schema = 2\nwidth = 40\nheight = 30\nspacing_m = 10\n[[stage]]\nkind = \"noise\"\n\
                [water]\n[materials]\n[output]\nformat = \"tif\"\n";
    folder.file("r.toml", format!("{land}maps = [\"height\", \"rock\"]\n"));
    let words = ["rock", "drainage", "[water]"];
    folder.thalweg("tiles r.toml -o out --tile-size 32 --device cpu").refused(1, &words);
    folder
        .thalweg("tiles r.toml -o out.tif --map rock --tile-size 32 --device cpu")
        .refused(1, &words);
    folder.file("dry.toml", format!("{land}maps = [\"height\"]\n"));
    folder.thalweg("tiles dry.toml -o out --tile-size 32 --device cpu").ok();
}

//! Parts and tiles: pieces of a land have the words of the whole, however they are cut, and
//! wherever in a world they lie.

use crate::common::{config, cpu, gpu, survives_description};
use proptest::prelude::*;
use serde_json::json;
use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::recipe::Recipe;
use thalweg::schedule::Schedule;
use thalweg::site::Window;
use thalweg::tiles::{Cut, Space, Store, Tile, Tiles};
use thalweg::{Error, Event, Georef, Job, Map, Outcome};

fn run(job: &Job) -> Outcome {
    job.run_on(&mut cpu(), &mut |_| Ok(())).unwrap()
}

/// The land of all recipes here: larger than what its stages reach, and at an odd place.
const LAND: &str = "[[stage]]\nkind = \"diamond_square\"\nworld_cells = 4096\nfeature_cells = \
                    256\nrelief_m = 900\n";

/// What comes after the land: every kind of stage, alone and together.
const STAGES: [(&str, &str); 20] = [
    ("droplets", "[[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.5\ndensity = 0.5\n"),
    (
        "wide brush",
        "[[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\nradius_cells = 9.5\nsmooth = \
         2\n\
         border = \"wall\"\n",
    ),
    ("snowballs", "[[stage]]\nkind = \"snowballs\"\nlifetime = 4\nrain = 0.5\ndensity = 0.5\n"),
    (
        "wind",
        "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nthickness_m = 9\n[[stage]]\n\
         kind = \"wind\"\nlifetime = 2\nrain = 0.1\ndensity = 0.1\nhop_cells = 2\nborder = \
                  \"open\"\n",
    ),
    ("thermal", "[[stage]]\nkind = \"thermal\"\nsteps = 7\nrepose_deg = 20\n"),
    ("coastal", "[[stage]]\nkind = \"coastal\"\nsea_level_m = 100\n"),
    ("blur", "[[stage]]\nkind = \"blur\"\npasses = 4\n"),
    (
        "layers",
        "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nfrom = \"noise\"\nfeature_cells = 16\n\
         thickness_m = 30\n\
         [[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = 30\nlow = \
                             0.3\n\
         [[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"height\"\nstart = 0\nend = 500\n\
         [[stage]]\nkind = \"layer\"\nmap = \"vegetation\"\nfrom = \"slope\"\n\
         [[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.25\n",
    ),
    (
        "weather",
        "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"weather\"\nfrom_deg = 300\n\
         carry_m = 600\nfetch_m = 150\nmoisture = 3\n\
         [[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n",
    ),
    (
        "nested",
        "[[stage]]\nkind = \"droplets\"\nlifetime = 6\nrain = 0.25\n[[stage.interleave]]\n\
         kind = \"thermal\"\nevery = 3\nsteps = 2\nrepose_deg = 30\n",
    ),
    (
        "two",
        "[[stage]]\nkind = \"thermal\"\nsteps = 3\n[[stage]]\nkind = \"droplets\"\nlifetime = 4\n\
         rain = 0.25\n[[stage]]\nkind = \"blur\"\n",
    ),
    (
        "strokes",
        "[[stage]]\nkind = \"strokes\"\n[[stage.stroke]]\ntool = \"raise\"\namount_m = 300\n\
         radius_m = 900\nat_m = [[0, 0], [900, 2000]]\n\
         [[stage.stroke]]\ntool = \"smooth\"\nradius_m = 700\nat_m = [[500, 2900]]\n[[stage]]\n\
         kind = \"thermal\"\nsteps = 3\n",
    ),
    (
        "lakes and rivers",
        "[[stage]]\nkind = \"strokes\"\n[[stage.stroke]]\ntool = \"river\"\n\
         height_m = [400, 100, 50]\nat_m = [[0, 900], [900, 2000], [4500, 2500]]\n\
         [[stage.stroke]]\ntool = \"lake\"\nlevel_m = 120\noutlet_m = [3000, 4200]\n\
         at_m = [[1500, 3000], [2600, 2800], [2900, 3600], [1700, 3900]]\n\
         [[stage]]\nkind = \"incision\"\nsteps = 6\nfall = 9\nlake_depth_m = 60\n\
         [[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n",
    ),
    (
        "biomes",
        "[[stage]]\nkind = \"biomes\"\nheights = \"replace\"\nfeature_cells = 90\npadding_cells = \
         6\n\
         [[stage.biome]]\nname = \"hills\"\ncolour = \"#087020\"\n\
         [[stage.biome]]\nname = \"plain\"\ncolour = \"#805020\"\nshape = \"ridged\"\n[[stage]]\n\
         kind = \"droplets\"\nlifetime = 4\nrain = 0.25\n",
    ),
    (
        "generators",
        "[[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"noise\"\nfeature_cells = 30\n\
         [[stage]]\nkind = \"noise\"\ncombine = \"blend\"\nmask = \"hardness\"\n\
         feature_cells = 60\nwarp_cells = 9\n[[stage]]\nkind = \"hills\"\ncombine = \
             \"max\"\n[[stage]]\n\
         kind = \"droplets\"\nlifetime = 4\nrain = 0.25\n",
    ),
    (
        "rivers",
        "[[stage]]\nkind = \"layer\"\nmap = \"uplift\"\nfrom = \"height\"\nstart = 0\nend = 500\n\
         [[stage]]\nkind = \"incision\"\nsteps = 6\nfall = 9\nuplift_m = 3\nlake_depth_m = 60\n",
    ),
    (
        "rivers with slides and rain",
        "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = 30\n\
         [[stage]]\nkind = \"incision\"\nsteps = 5\nfall = 7\ncreep = 0.1\nsea_level_m = 100\n\
         border = \"wall\"\n\
         [[stage.interleave]]\nkind = \"thermal\"\nevery = 2\nsteps = 1\nrepose_deg = 30\n\
         [[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n",
    ),
    (
        "droplets by the sea",
        "[[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.5\ndensity = 0.5\ncapacity = 8\n\
         wash = 0.4\nsea_level_m = 250\n",
    ),
    (
        "snowballs by the sea",
        "[[stage]]\nkind = \"snowballs\"\nlifetime = 4\nrain = 0.5\ndensity = 0.5\nerosion = 4\n\
         loads = \"left\"\nwash = 0.1\nsea_level_m = 250\n",
    ),
    (
        "blurred on the finest",
        "[[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n[[stage]]\nkind = \"blur\"\n\
         finest_only = true\n",
    ),
];

/// A recipe of a land of 240 × 200 cells. `top` stands above its stages.
fn recipe(top: &str, stages: &str) -> Result<Recipe, Error> {
    let stages = if top.contains("levels") {
        stages.to_string()
    } else {
        stages.replace("finest_only = true\n", "")
    };
    let text = format!(
        "schema = 2\nseed = 7\nwidth = 240\nheight = 200\norigin = [-35, 60]\nspacing_m = 20\n\
         {top}\n{LAND}{stages}\
         [output]\nmaps = [\"height\", \"erosion\", \"deposition\", \"change\", \"slope\", \
                             \"sky_view\"]\n\
         preview = false\n"
    );
    Recipe::from_toml(&text, "", "tiles")
}

/// The words of a map of a land in a part of it.
fn crop(words: &[i32], land: &Window, part: &Window) -> Vec<i32> {
    let [left, top] = [0, 1].map(|a| (part.origin[a] - land.origin[a]) as usize);
    let row = |y: usize| &words[(top + y) * land.width as usize + left..][..part.width as usize];
    (0..part.height as usize).flat_map(row).copied().collect()
}

fn assert_is_crop(what: &str, whole: &Outcome, part: &Outcome) {
    for name in whole.names() {
        let expected = crop(whole.words(name).unwrap(), &whole.window, &part.window);
        let differs = expected.iter().zip(part.words(name).unwrap()).position(|(a, b)| a != b);
        let at =
            differs.map(|at| [at % part.window.width as usize, at / part.window.width as usize]);
        assert!(at.is_none(), "{what}, part {:?}: {name} differs at {at:?}", part.window);
    }
}

/// A part has the words that the whole run has there, for every kind of stage, with levels and
/// without, inside the land and at its rims.
#[test]
fn parts_are_crops_of_the_whole() {
    let mut windows = [
        ([70, 150], [21, 30]),
        ([-35, 60], [40, 33]),
        ([180, 230], [25, 30]),
        ([60, 60], [1, 200]),
    ]
    .into_iter()
    .cycle();
    for (name, stages) in STAGES {
        for top in ["", "levels = 3", "levels = 2\nmargin_cells = 11", "levels = 2\nscale = 2"] {
            if (name == "biomes" && top.contains("scale"))
                || (name.contains("finest") && top.is_empty())
            {
                continue;
            }
            let job =
                Job::new(recipe(top, stages).unwrap_or_else(|e| panic!("{name}, {top}: {e}")))
                    .unwrap();
            let whole = run(&job);
            // Two of the four by turns, so that every stage meets each of them.
            for (origin, size) in windows.by_ref().take(2) {
                let window = Window { origin, width: size[0], height: size[1] };
                let part = job.clone().part(window).unwrap();
                assert_is_crop(&format!("{name}, {top}"), &whole, &run(&part));
                if top == "levels = 3" {
                    // In one piece of each level, too, on the finest level and on the next.
                    let mut tiles = Tiles::new(job.clone(), Cut::in_one_piece(0, window)).unwrap();
                    for map in whole.names() {
                        let words = from_tiles(&mut tiles, 0, window, map);
                        assert!(
                            words == crop(whole.words(map).unwrap(), &whole.window, &window),
                            "{name}, {origin:?}: {map}"
                        );
                    }
                    let level = &whole.levels[whole.levels.len() - 2];
                    let own = Schedule::on_level(&window, 1);
                    let words = from_tiles(&mut tiles, 1, own, "height");
                    assert!(
                        words == crop(&level.words, &level.window, &own),
                        "{name}, {origin:?}: level 1"
                    );
                    assert!(
                        tiles.counts()[0] <= 3,
                        "{name}: a piece for each level, not {:?}",
                        tiles.counts()
                    );
                    // And in some.
                    let some = Space::Region { level: 0, window, cells: 4000 };
                    let mut tiles = Tiles::new(job.clone(), some).unwrap();
                    let words = from_tiles(&mut tiles, 0, window, "height");
                    assert!(
                        words == crop(whole.words("height").unwrap(), &whole.window, &window),
                        "{name}, {origin:?}: in pieces"
                    );
                }
            }
        }
    }
}

/// A part that is wanted alone is made in one piece where tiles would mostly be halo, and by tiles
/// where the memory asks for it.
#[test]
fn a_part_is_cut_as_suits_it() {
    let job = Job::new(endless([0, 0], [64, 64])).unwrap();
    let window = Window { origin: [1000, -77], width: 300, height: 200 };
    let alone = job.schedule().choose(0, &window, 1 << 40, None).unwrap();
    assert_eq!(alone.cut, Cut::in_one_piece(0, window));
    let tiles = job.schedule().choose_side(0, &window, 1 << 40, None).unwrap();
    assert!(alone.work() * 1.2 < tiles.work(), "{} and {}", alone.work(), tiles.work());
    // What a run of the part works on, from its own windows.
    let part = job.clone().part(window).unwrap();
    let mut worked = 0;
    part.run_on(&mut cpu(), &mut |event| {
        if let thalweg::Event::Stage(after) = event {
            worked += (after.report().cells_per_s * after.report().seconds).round() as u64;
        }
        Ok(())
    })
    .unwrap();
    let ratio = alone.work() / worked as f64;
    assert!((0.9..1.1).contains(&ratio), "planned {}, worked {worked}", alone.work());
    // A large part does not fit in one piece. Its coarse levels do, so it is cut into fewer pieces
    // there than squares would be.
    let large = Window { width: 8000, height: 6000, ..window };
    let few = job.schedule().choose(0, &large, 1 << 30, None).unwrap();
    assert!(matches!(few.cut.space, Space::Region { cells, .. } if cells < 1 << 29), "{few:?}");
    assert!(few.bytes() <= 1 << 30);
    let squares = job.schedule().choose_side(0, &large, 1 << 30, None).unwrap();
    assert!(few.work() * 1.2 < squares.work(), "{} and {}", few.work(), squares.work());
}

/// Entrances of dungeons, and the ground that is levelled round them, are those of the whole land
/// in parts and in tiles, also where biomes decide about them, and the land's light falls on level
/// ground.
#[test]
fn dungeons_are_those_of_the_whole_land() {
    let biomes = "[[stage]]\nkind = \"biomes\"\nfeature_cells = 90\npadding_cells = \
                  6\n[[stage.biome]]\n\
                  name = \"hills\"\ncolour = \"#087020\"\n\
                  [[stage.biome]]\nname = \"plain\"\ncolour = \"#805020\"\n";
    let water = "[[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n";
    let dungeons =
        "[dungeons]\nkind = \"isaac\"\nspacing_cells = 25\nradius_cells = 2\nslope_max = 2\n";
    for (top, stages) in [
        ("levels = 2", format!("{water}{dungeons}")),
        ("margin_cells = 30", format!("{biomes}{water}{dungeons}biomes = [\"plain\"]\n")),
    ] {
        let job = Job::new(recipe(top, &stages).unwrap()).unwrap();
        let whole = run(&job);
        assert!(whole.entrances.len() > 5, "{top}: {}", whole.entrances.len());
        let mut seen = 0;
        for (origin, size) in
            [([-35, 60], [100, 90]), ([60, 110], [77, 60]), ([120, 160], [85, 100])]
        {
            let window = Window { origin, width: size[0], height: size[1] };
            let part = run(&job.clone().part(window).unwrap());
            assert_is_crop(top, &whole, &part);
            let there: Vec<_> =
                whole.entrances.iter().filter(|e| window.contains(e.x, e.y)).collect();
            assert_eq!(part.entrances.iter().collect::<Vec<_>>(), there, "{top}, {origin:?}");
            seen += there.len();
            let mut alone = Tiles::new(job.clone(), Cut::in_one_piece(0, window)).unwrap();
            let mut squares = Tiles::new(job.clone(), 37).unwrap();
            for map in ["height", "slope", "erosion"] {
                let expected = crop(whole.words(map).unwrap(), &whole.window, &window);
                assert!(
                    from_tiles(&mut alone, 0, window, map) == expected,
                    "{top}, {origin:?}: {map} in one piece"
                );
                assert!(
                    from_tiles(&mut squares, 0, window, map) == expected,
                    "{top}, {origin:?}: {map} of squares"
                );
            }
        }
        assert!(seen > 3, "{top}: {seen}");
    }
}

/// Water is that of the whole land: of the level itself where that is small enough to be followed,
/// and else of the finest that is.
#[test]
fn tiles_have_the_water_of_the_whole_land() {
    let maps = ["water_depth", "drainage_area", "basin", "distance_to_water"];
    let land = |top: &str, rain: &str| {
        let text = format!(
            "schema = 2\nseed = 4\n{top}\nspacing_m = 20\nlevels = 2\n{LAND}{rain}[water]\n\
             channel_area_km2 = 0.2\n[output]\nmaps = [{}]\n",
            maps.map(|map| format!("\"{map}\"")).join(", ")
        );
        Job::new(Recipe::from_toml(&text, "", "water").unwrap()).unwrap()
    };
    let rain = "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = 30\n\
                low = 0.1\n\
                [[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\n";
    let small = land("width = 150\nheight = 130\norigin = [9, -4]", rain);
    let whole = run(&small);
    let mut tiles = Tiles::new(small, 48).unwrap();
    assert_eq!(tiles.water_level(0).unwrap(), 0);
    let part = Window { origin: [40, 11], width: 60, height: 71 };
    for map in maps {
        let expected = crop(whole.words(map).unwrap(), &whole.window, &part);
        assert!(expected.iter().any(|word| *word != expected[0]), "{map} is one value");
        assert!(from_tiles(&mut tiles, 0, part, map) == expected, "{map}");
    }
    // A land that is too long to be followed has the water of its next coarser level, in the units
    // of that.
    let long = land("width = 4200\nheight = 64", "[[stage]]\nkind = \"thermal\"\nsteps = 2\n");
    let coarse = run(&long.clone().until_level(1).unwrap());
    let mut tiles = Tiles::new(long, 400).unwrap();
    assert_eq!((tiles.water_level(0).unwrap(), tiles.water_level(1).unwrap()), (1, 1));
    let window = Window { origin: [3990, 0], width: 210, height: 64 };
    for map in maps {
        let at = |x: i64, y: i64| {
            let (column, row) = (
                ((x + 1) / 2).min(i64::from(coarse.window.width) - 1),
                ((y + 1) / 2).min(i64::from(coarse.window.height) - 1),
            );
            coarse.words(map).unwrap()
                [row as usize * coarse.window.width as usize + column as usize]
        };
        let expected: Vec<i32> = (0..64)
            .flat_map(|y| (3990..4200).map(move |x| (x, y)))
            .map(|(x, y)| at(x, y))
            .collect();
        assert!(from_tiles(&mut tiles, 0, window, map) == expected, "{map}");
        let field = thalweg::field::find(map).unwrap();
        let value = tiles
            .map(0, Window { origin: [3996, 20], width: 1, height: 1 }, field, &mut cpu())
            .unwrap()
            .data[0];
        let known = coarse.map(map).unwrap();
        assert_eq!(
            value,
            known.data[10 * known.width as usize + 1998],
            "{map}: metres of the coarser level"
        );
    }
    // A land without an end has none.
    let mut world = endless([0, 0], [64, 64]);
    world.water = Some(thalweg::water::Settings::default());
    world.output.maps = vec!["water_depth".into()];
    let tiles = Tiles::new(Job::new(world).unwrap(), 64).unwrap();
    assert!(tiles.water_level(0).unwrap_err().to_string().contains("no end"));
    assert!(tiles.fields().iter().all(|field| field.name != "water_depth"));
}

/// The same of ranges that rise where a picture is bright.
#[test]
fn tiles_of_ranges_are_of_their_picture() {
    let text = "schema = 2\nseed = 7\nwidth = 120\nheight = 90\nspacing_m = 20\n[[stage]]\n\
                kind = \"ranges\"\ncentre_x = 60\ncentre_y = 45\nextent_x_cells = 120\n\
                extent_y_cells = 90\nspacing_cells = 6\nuplift = \"picture\"\nfile = \
                    \"a.png\"\n[[stage]]\n\
                kind = \"thermal\"\nsteps = 2\n[output]\nmaps = [\"height\"]\n";
    let job = |seed: i32| {
        let data = (0..40 * 30).map(|i| (i * seed % 101) as f32).collect();
        let mut job = Job::new(Recipe::from_toml(text, "", "ranges").unwrap()).unwrap();
        job.supply_picture(
            "a.png",
            &Map { width: 40, height: 30, spacing_m: 1.0, data, range_m: None, georef: None },
        )
        .unwrap();
        job
    };
    let whole = run(&job(7));
    assert!(whole.words("height").unwrap() != run(&job(9)).words("height").unwrap());
    let mut tiles = Tiles::new(job(7), 40).unwrap();
    assert!(from_tiles(&mut tiles, 0, whole.window, "height") == whole.words("height").unwrap());
    let key = |seed: i32| {
        Tiles::new(job(seed), 64).unwrap().key(Tile { level: 0, slab: 0, x: 0, y: 0 }).unwrap()
    };
    assert_eq!(key(7), key(7));
    assert!(key(7) != key(9), "another picture is another key");
}

/// The words of a map of a window of a level, from tiles.
fn from_tiles(tiles: &mut Tiles, level: i32, window: Window, name: &str) -> Vec<i32> {
    tiles.words(level, window, thalweg::field::find(name).unwrap(), &mut cpu()).unwrap()
}

/// Tiles of any side, made in any order, have the words of one run of the whole land, on every
/// level.
/// Holds C27.
#[test]
fn tiles_have_the_words_of_one_run() {
    let mut slabs = [1, 3].into_iter().cycle();
    for (name, stages) in STAGES {
        for (top, sides) in [
            ("", vec![100]),
            ("levels = 3", vec![64, 257]),
            ("levels = 2\nmargin_cells = 11", vec![90]),
        ] {
            if name.contains("finest") && top.is_empty() {
                continue;
            }
            let job = Job::new(recipe(top, stages).unwrap()).unwrap();
            let whole = run(&job);
            for side in sides {
                let mut tiles = Tiles::new(job.clone(), side).unwrap();
                for map in whole.names() {
                    let words = from_tiles(&mut tiles, 0, whole.window, map);
                    assert!(
                        words == whole.words(map).unwrap(),
                        "{name}, {top}, side {side}: {map}"
                    );
                }
                // The same where time is cut, too: into single steps, or some by turns.
                let steps = slabs.next().unwrap();
                let mut cut = Tiles::new(job.clone(), Cut::from(side).in_slabs(steps)).unwrap();
                for map in whole.names() {
                    let words = from_tiles(&mut cut, 0, whole.window, map);
                    assert!(
                        words == whole.words(map).unwrap(),
                        "{name}, {top}, side {side}, slabs of {steps}: {map}"
                    );
                }
                // The finest is done only after the stages that run on it alone.
                for level in whole.levels.iter().filter(|level| level.level > 0) {
                    let words = from_tiles(&mut tiles, level.level, level.window, "height");
                    assert!(
                        words == level.words,
                        "{name}, {top}, side {side}: level {}",
                        level.level
                    );
                }
            }
        }
    }
}

/// The same of a land that comes from heights in memory, and of layers that do.
#[test]
fn tiles_of_an_input_have_the_words_of_one_run() {
    let heights: Vec<f32> = (0..180 * 150)
        .map(|i| ((i % 180) as f32 / 9.0).sin() * 200.0 + (i / 180) as f32 * 3.0)
        .collect();
    let georef =
        Some(Georef { epsg: None, west: 1000.0, north: 5000.0, cell: (20.0, 25.0), keys: None });
    let map =
        Map { width: 180, height: 150, spacing_m: 20.0, data: heights, range_m: None, georef };
    for top in ["", "levels = 3", "levels = 2\nmargin_cells = 9"] {
        let text = format!(
            "schema = 2\nseed = 7\ninput = \"none.tif\"\n{top}\n[[stage]]\nkind = \"layer\"\n\
             map = \"hardness\"\nfrom = \"file\"\nfile = \"h.tif\"\n\
             [[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.5\n[output]\n\
             maps = [\"height\", \"hardness\", \"flow\"]\n"
        );
        let mut job =
            Job::with_heights(Recipe::from_toml(&text, "", "input").unwrap(), &map).unwrap();
        let shares = map.data.iter().map(|m| (m / 1000.0).clamp(0.0, 1.0)).collect();
        job.supply(0, &Map { data: shares, ..map.clone() }).unwrap();
        let whole = run(&job);
        let mut tiles = Tiles::new(job.clone(), 64).unwrap();
        let window = Window { origin: [50, 60], width: 40, height: 50 };
        let part = run(&job.part(window).unwrap());
        let height = thalweg::field::find("height").unwrap();
        for made in [part.map("height").unwrap(), tiles.map(0, window, height, &mut cpu()).unwrap()]
        {
            let place = made.georef.unwrap();
            assert_eq!(
                (place.west, place.north, place.cell),
                (2000.0, 3500.0, (20.0, 25.0)),
                "{top}: 50 columns east, 60 rows south"
            );
        }
        for map in whole.names() {
            assert!(
                from_tiles(&mut tiles, 0, whole.window, map) == whole.words(map).unwrap(),
                "{top}: {map}"
            );
        }
        assert_is_crop(top, &whole, &part);
    }
}

/// A long valley down which all droplets run: many end at one vertex, far from their homes and with
/// loads that they cannot get rid of. What a life leaves to the next would go up the valley by the
/// length of a life in every step, from droplet to droplet, past any halo.
#[test]
fn tiles_of_a_valley_have_the_words_of_one_run() {
    let (width, height) = (1200u32, 24u32);
    let ground = |i: u32| {
        let (x, y) = (f64::from(i % width), f64::from(i / width));
        (-x + (y - 12.0).abs() + f64::from(thalweg::arith::mix(i)) / f64::from(u32::MAX) / 2.0)
            as f32
    };
    let map = Map {
        width,
        height,
        spacing_m: 1.0,
        data: (0..width * height).map(ground).collect(),
        range_m: None,
        georef: None,
    };
    for (settings, slabs) in [
        ("", vec![32]),
        (
            "lifetime = 64\nrain = 1\ndensity = 1\ncapacity = 16\nerosion = 1\ngravity = 16\n",
            vec![0, 1, 8],
        ),
    ] {
        let text = format!(
            "schema = 2\nseed = 1\ninput = \"none.tif\"\n[[stage]]\nkind = \"droplets\"\n\
             {settings}[output]\nmaps = [\"height\", \"flow\"]\n"
        );
        let job = Job::with_heights(Recipe::from_toml(&text, "", "valley").unwrap(), &map).unwrap();
        let whole = run(&job);
        for steps in slabs {
            let cut = if steps == 0 { Cut::from(600) } else { Cut::from(600).in_slabs(steps) };
            let mut tiles = Tiles::new(job.clone(), cut).unwrap();
            for name in whole.names() {
                let words = from_tiles(&mut tiles, 0, whole.window, name);
                let wrong =
                    words.iter().zip(whole.words(name).unwrap()).filter(|(a, b)| a != b).count();
                assert_eq!(wrong, 0, "{name} in slabs of {steps} steps, {settings}");
            }
        }
    }
}

/// The same of sand that the wind blows along: a steep valley that it fills, rock between patches
/// of sand, over which grains fly far, and a rough sheet. What told a home where its grain came
/// down would go upwind by all that way in a step.
#[test]
fn tiles_of_blown_sand_have_the_words_of_one_run() {
    let (width, height) = (2400u32, 24u32);
    let ground = |steep: f64, dip: f64| {
        let at = |i: u32| {
            let (x, y) = (f64::from(i % width), f64::from(i / width));
            let low = if i % width % 90 < 25 { dip } else { 0.0 };
            (-x * steep + (y - 12.0).abs() - low
                + f64::from(thalweg::arith::mix(i)) / f64::from(u32::MAX) / 2.0) as f32
        };
        Map {
            width,
            height,
            spacing_m: 1.0,
            data: (0..width * height).map(at).collect(),
            range_m: None,
            georef: None,
        }
    };
    let deep = "thickness_m = 4";
    let patches = "from = \"height\"\nstart = -12\nend = -40\nthickness_m = 20";
    let far = "hop_cells = 12\ngust = 0\nrock = 0";
    for (steep, dip, sediment, settings) in [
        (
            1.0,
            0.0,
            deep,
            format!(
                "lifetime = 16\nrain = 2\ngrain_cells = 0.5\nsand = 1\nborder = \"wall\"\n{far}"
            ),
        ),
        (
            0.0,
            40.0,
            patches,
            format!(
                "lifetime = 64\nrain = 1\ngrain_cells = 0.5\nsand = 0.05\nborder = \"open\"\n{far}"
            ),
        ),
        (
            0.0,
            0.0,
            deep,
            "lifetime = 2\nrain = 15\ngrain_cells = 0.5\nhop_cells = 12\ngust = 1\nsand = \
             0\nborder = \"wall\""
                .into(),
        ),
        (0.3, 0.0, deep, "rain = 4\nfrom_deg = 250\nborder = \"open\"".into()),
    ] {
        let text = format!(
            "schema = 2\nseed = 1\ninput = \"none.tif\"\n[[stage]]\nkind = \"layer\"\n\
             map = \"sediment\"\n{sediment}\n\
             [[stage]]\nkind = \"wind\"\n{settings}\n[output]\n\
             maps = [\"height\", \"sediment\", \"flow\"]\n"
        );
        let recipe = Recipe::from_toml(&text, "", "sand").unwrap();
        let job = Job::with_heights(recipe, &ground(steep, dip)).unwrap();
        let whole = run(&job);
        for steps in [0, 1, 5, 32] {
            let cut = if steps == 0 { Cut::from(300) } else { Cut::from(300).in_slabs(steps) };
            let mut tiles = Tiles::new(job.clone(), cut).unwrap();
            for name in whole.names() {
                let words = from_tiles(&mut tiles, 0, whole.window, name);
                let wrong =
                    words.iter().zip(whole.words(name).unwrap()).filter(|(a, b)| a != b).count();
                assert_eq!(wrong, 0, "{name} in slabs of {steps} steps, {settings}");
            }
        }
    }
}

/// A recipe of a world without an end.
fn endless(origin: [i64; 2], size: [u32; 2]) -> Recipe {
    let text = format!(
        "schema = 2\nseed = 9\nwidth = {}\nheight = {}\norigin = {origin:?}\nspacing_m = 20\n\
         endless = true\nlevels = 3\n[[stage]]\n\
         kind = \"diamond_square\"\nworld_cells = 4294967296\nedge = \"torus\"\nfeature_cells = \
                  256\n\
         relief_m = 900\n[[stage]]\nkind = \"droplets\"\nlifetime = 6\nrain = 0.5\n\
         [output]\nmaps = [\"height\", \"flow\", \"slope\"]\n",
        size[0], size[1]
    );
    Recipe::from_toml(&text, "", "endless").unwrap()
}

/// Windows of a world without an end agree wherever they overlap, with each other and with tiles,
/// near the origin and two thousand million cells away.
#[test]
fn windows_of_an_endless_world_agree() {
    for at in [[0i64, 0], [-13, 2_147_480_001], [-(1 << 40), 1 << 33]] {
        let one = run(&Job::new(endless(at, [90, 60])).unwrap());
        let other = run(&Job::new(endless([at[0] + 37, at[1] + 21], [64, 70])).unwrap());
        let both = Window { origin: [at[0] + 37, at[1] + 21], width: 53, height: 39 };
        // Another recipe's window has the same tiles.
        let mut tiles = Tiles::new(Job::new(endless([5, 5], [9, 9])).unwrap(), 48).unwrap();
        for name in one.names() {
            assert!(
                one.words(name).unwrap().iter().any(|word| *word != one.words(name).unwrap()[0]),
                "{name} at {at:?} is level"
            );
            let [a, b] =
                [&one, &other].map(|land| crop(land.words(name).unwrap(), &land.window, &both));
            assert!(a == b, "{name} at {at:?}");
            assert!(from_tiles(&mut tiles, 0, both, name) == a, "{name} of tiles at {at:?}");
        }
    }
}

/// The keys of tiles are those of all that decides them, and of nothing else: not of the window or
/// the name of the recipe, but of every setting, and of a stroke where it reaches.
#[test]
fn keys_are_of_what_decides_a_tile() {
    let key = |recipe: Recipe, tile: Tile| {
        Tiles::new(Job::new(recipe).unwrap(), 64).unwrap().key(tile).unwrap()
    };
    let tile = Tile { level: 0, slab: 0, x: 3, y: -2 };
    let usual = key(endless([0, 0], [64, 64]), tile);
    assert_eq!(usual, key(Recipe { name: "other".into(), ..endless([99, -7], [200, 100]) }, tile));
    assert_ne!(usual, key(endless([0, 0], [64, 64]), Tile { x: 4, ..tile }));
    assert_ne!(usual, key(endless([0, 0], [64, 64]), Tile { level: 1, ..tile }));
    for change in [
        |recipe: &mut Recipe| recipe.seed += 1,
        |recipe: &mut Recipe| recipe.spacing_m = Some(21.0),
        |recipe: &mut Recipe| recipe.set("droplets.rain=1").unwrap(),
        |recipe: &mut Recipe| recipe.set("diamond_square.gain=0.4").unwrap(),
        |recipe: &mut Recipe| recipe.levels.as_mut().unwrap().fade = 2.0,
        |recipe: &mut Recipe| recipe.output.maps.push("erosion".into()),
    ] {
        let mut recipe = endless([0, 0], [64, 64]);
        change(&mut recipe);
        assert_ne!(usual, key(recipe, tile));
    }
}

fn stroked(strokes: &[serde_json::Value]) -> Recipe {
    let mut text = endless([0, 0], [64, 64]).describe();
    let stages = text["stage"].as_array_mut().unwrap();
    stages[1] = json!({ "kind": "thermal", "steps": 4 });
    text["output"]["maps"] = json!(["height"]);
    let stages = text["stage"].as_array_mut().unwrap();
    stages.insert(1, json!({ "kind": "strokes", "stroke": strokes }));
    Recipe::from_json(&text.to_string(), "", "strokes").unwrap()
}

/// After a stroke the tiles within its reach are made again and no others, and all are those from
/// nothing. `THALWEG_SOAK=100` draws a hundred strokes, one after another.
#[test]
fn an_edit_costs_the_tiles_within_its_reach() {
    let folder = tempfile("tiles-edit");
    let store = || Store::open(&folder, None).unwrap();
    let window = Window { origin: [-512, -512], width: 1024, height: 1024 };
    // With every tool, on the ground and on a layer, anywhere in the window, wide and narrow.
    let stroke = |n: u32| {
        let draw = |word: u32, low: f64, high: f64| {
            low + f64::from(thalweg::arith::mix(8 * n + word)) / f64::from(u32::MAX) * (high - low)
        };
        let [x, y] = [draw(0, -10e3, 10e3), draw(1, -10e3, 10e3)];
        let mut stroke = match n % 9 {
            0 => json!({ "tool": "raise", "amount_m": draw(3, 20.0, 300.0) }),
            1 => json!({ "tool": "lower", "amount_m": draw(3, 20.0, 300.0) }),
            2 => {
                json!({ "tool": "noise", "amount_m": draw(3, 20.0, 300.0),
                    "feature_m": draw(4, 100.0, 900.0) })
            }
            3 => json!({ "tool": "flatten", "height_m": draw(3, -200.0, 300.0) }),
            4 => {
                json!({ "tool": "ramp", "height_m": [draw(3, -200.0, 300.0),
                    draw(4, -200.0, 300.0)] })
            }
            5 => json!({ "tool": "smooth" }),
            6 => json!({ "tool": "river", "height_m": [200, draw(3, -200.0, 200.0)] }),
            7 => json!({ "tool": "lake", "level_m": draw(3, -200.0, 300.0) }),
            _ => json!({ "tool": "raise", "layer": "hardness", "amount": draw(3, 0.1, 0.9) }),
        };
        stroke["at_m"] = json!([
            [x, y],
            [x + draw(5, -600.0, 600.0), y + draw(6, -600.0, 600.0), draw(7, 0.2, 1.0)]
        ]);
        stroke["radius_m"] = draw(2, 40.0, 900.0).into();
        // What holds water has points without a pressure, and a lake of a radius one place.
        if ["river", "lake"].iter().any(|tool| stroke["tool"] == **tool) {
            let path = [[x, y], [x + draw(5, -600.0, 600.0), y + draw(6, -600.0, 600.0)]];
            let points = if stroke["tool"] == "lake" { 1 } else { 2 };
            stroke["at_m"] = json!(path[..points]);
            stroke["radius_m"] = draw(2, 200.0, 900.0).into();
        }
        stroke
    };
    // A layer that is painted at all is made everywhere.
    let mut strokes = vec![stroke(8)];
    let mut first =
        Tiles::new(Job::new(stroked(&strokes)).unwrap(), 64).unwrap().stored_in(store());
    from_tiles(&mut first, 0, window, "height");
    let all = first.counts();
    assert_eq!(all[1], 0);
    for n in 0..config(9).cases {
        strokes.push(stroke(n));
        let mut edited =
            Tiles::new(Job::new(stroked(&strokes)).unwrap(), 64).unwrap().stored_in(store());
        let words = from_tiles(&mut edited, 0, window, "height");
        let [made, found] = edited.counts();
        assert!(
            made > 0 && 5 * made < all[0],
            "{made} of {} tiles were made again, {found} found",
            all[0]
        );
        let mut afresh = Tiles::new(Job::new(stroked(&strokes)).unwrap(), 128).unwrap();
        assert!(
            from_tiles(&mut afresh, 0, window, "height") == words,
            "after {} strokes",
            strokes.len()
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Stamps of a picture are cut as the land is, in a world without an end too, and a key changes
/// with a picture where it reaches alone.
#[test]
fn tiles_with_stamps_have_the_words_of_one_run() {
    let picture = |seed: i32| {
        let data = (0..40 * 30).map(|i| (i * seed % 101) as f32).collect();
        Map { width: 40, height: 30, spacing_m: 1.0, data, range_m: None, georef: None }
    };
    let stamp = |at: [f64; 2], file: &str| {
        serde_json::json!({ "tool": "stamp", "file": file, "at_m": [at], "radius_m": 500,
        "amount_m": 300, "turn_deg": 20 })
    };
    let recipe = stroked(&[
        stamp([0.0, 0.0], "a.png"),
        stamp([900.0, -200.0], "b.png"),
        stamp([40_000.0, 0.0], "c.png"),
    ]);
    let job = |seeds: [i32; 3]| {
        let mut job = Job::new(recipe.clone()).unwrap();
        for (file, seed) in ["a.png", "b.png", "c.png"].into_iter().zip(seeds) {
            job.supply_picture(file, &picture(seed)).unwrap();
        }
        job
    };
    let window = Window { origin: [-40, -40], width: 120, height: 90 };
    let whole = run(&job([7, 11, 5]).part(window).unwrap());
    assert!(
        whole.words("height").unwrap()
            != run(&job([7, 13, 5]).part(window).unwrap()).words("height").unwrap()
    );
    for side in [32, 100] {
        let mut tiles = Tiles::new(job([7, 11, 5]), side).unwrap();
        assert!(
            from_tiles(&mut tiles, 0, window, "height") == whole.words("height").unwrap(),
            "side {side}"
        );
    }
    let key = |seeds: [i32; 3], x: i64| {
        Tiles::new(job(seeds), 64).unwrap().key(Tile { level: 0, slab: 0, x, y: 0 }).unwrap()
    };
    for (x, changed) in [(0, [true, false]), (31, [false, true]), (-40, [false, false])] {
        let usual = key([7, 11, 5], x);
        assert_eq!(
            [key([9, 11, 5], x) != usual, key([7, 11, 13], x) != usual],
            changed,
            "tile {x}"
        );
    }
}

fn tempfile(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("thalweg-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// A store has what was put into it. Tiles that are cut off or damaged are made again to the same
/// words, a store of another version and a folder that is none are refused, and a store is kept
/// within its size.
#[test]
fn a_store_keeps_tiles_and_finds_damage() {
    let folder = tempfile("tiles-store");
    let window = Window { origin: [100, 100], width: 100, height: 100 };
    let mut recipe = endless([0, 0], [64, 64]);
    recipe.set("droplets.lifetime=3").unwrap();
    let read = |limit: Option<u64>| {
        let store = Store::open(&folder, limit).unwrap();
        let mut tiles = Tiles::new(Job::new(recipe.clone()).unwrap(), 64).unwrap().stored_in(store);
        (from_tiles(&mut tiles, 0, window, "height"), tiles.counts())
    };
    let (words, [made, found]) = read(None);
    assert!(made > 10 && found == 0);
    assert_eq!(read(None), (words.clone(), [0, 9]));
    let store = Store::open(&folder, None).unwrap();
    let (count, bytes) = store.size().unwrap();
    assert_eq!(count, made);
    assert_eq!(
        (store.verify().unwrap().tiles, store.verify().unwrap().damaged.len()),
        ((count, bytes), 0)
    );
    assert_eq!(store.list().unwrap().len() as u64, count);
    // Every file is damaged in another way.
    let mut files: Vec<_> = walk(&folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "tile"))
        .collect();
    files.sort();
    for (i, path) in files.iter().enumerate() {
        let mut bytes = std::fs::read(path).unwrap();
        match i % 4 {
            0 => bytes.truncate(bytes.len() * i / files.len()),
            1 => {
                let at = bytes.len() * i / files.len();
                bytes[at] ^= 1 << (i % 8);
            }
            2 => bytes.push(0),
            _ => bytes = std::fs::read(&files[(i + 2) % files.len()]).unwrap(),
        }
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(store.verify().unwrap().damaged.len(), files.len());
    assert_eq!(read(None), (words.clone(), [made, 0]));
    // The files that name tiles of other keys, too: cut off, damaged, and those of others.
    let names = || {
        let mut names: Vec<_> = walk(&folder)
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "same"))
            .collect();
        names.sort();
        names
    };
    let (all, texts): (Vec<_>, Vec<_>) =
        names().into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).unzip();
    assert!(all.len() > 3, "{}", all.len());
    for (i, path) in all.iter().enumerate() {
        let mut bytes = texts[i].clone();
        match i % 3 {
            0 => bytes.truncate(bytes.len() * i / all.len()),
            1 => bytes[5] = 0xff,
            _ => bytes.clone_from(&texts[(i + 1) % all.len()]),
        }
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(store.verify().unwrap().damaged, all);
    assert_eq!(read(None).0, words);
    assert_eq!(store.verify().unwrap().damaged, Vec::<std::path::PathBuf>::new());
    // The oldest go first, and what is left has the size that was asked for.
    let (gone, _) = store.prune(bytes / 2).unwrap();
    let (left, now) = store.size().unwrap();
    assert!(gone > 0 && left == count - gone && now <= bytes / 2);
    assert_eq!(read(Some(bytes / 3)).0, words);
    assert!(store.size().unwrap().1 <= bytes / 3);
    std::fs::write(folder.join("thalweg-store"), "thalweg store 99\n").unwrap();
    assert!(Store::open(&folder, None).unwrap_err().to_string().contains("another version"));
    std::fs::remove_file(folder.join("thalweg-store")).unwrap();
    assert!(Store::open(&folder, None).unwrap_err().to_string().contains("is no store"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The tiles that were read last are the last to go. Reading leaves the time of change alone, since
/// `make` makes a file again that is older than its source.
#[test]
fn a_store_forgets_what_was_used_longest_ago() {
    let folder = tempfile("tiles-used");
    let read = |x: i64| {
        let store = Store::open(&folder, None).unwrap();
        // On one level few tiles are needed.
        let recipe = Recipe { levels: None, ..endless([0, 0], [64, 64]) };
        let mut tiles = Tiles::new(Job::new(recipe).unwrap(), 64).unwrap().stored_in(store);
        let window = Window { origin: [x, 0], width: 8, height: 8 };
        from_tiles(&mut tiles, 0, window, "height");
        tiles.counts()[0]
    };
    assert!(read(0) > 0 && read(2000) > 0);
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in walk(&folder) {
        let times = FileTimes::new().set_modified(past).set_accessed(past);
        File::options().write(true).open(path).unwrap().set_times(times).unwrap();
    }
    assert_eq!(read(2000), 0);
    let tiles =
        || walk(&folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == "tile"));
    let times = |path: &Path| {
        let about = path.metadata().unwrap();
        (about.modified().unwrap(), about.accessed().unwrap(), about.len())
    };
    let used: Vec<_> = tiles().map(|path| times(&path)).filter(|(_, at, _)| *at > past).collect();
    assert!(!used.is_empty() && used.len() < tiles().count());
    assert!(tiles().all(|path| times(&path).0 == past));
    let bytes = used.iter().map(|(.., bytes)| bytes).sum();
    let (gone, _) = Store::open(&folder, None).unwrap().prune(bytes).unwrap();
    assert!(gone > 0);
    assert_eq!(read(2000), 0);
    assert!(read(0) > 0);
    std::fs::remove_dir_all(folder).unwrap();
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// What cannot be made by parts is refused with the setting to change.
#[test]
fn wrong_parts_and_tiles_are_named() {
    let job = || Job::new(recipe("levels = 2", STAGES[0].1).unwrap()).unwrap();
    let refused = |what: Result<(), Error>, parts: &[&str]| {
        let message = what.unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(message.contains(part), "{message}: {part}"));
    };
    let window = |origin: [i64; 2], width, height| Window { origin, width, height };
    refused(
        job().part(window([-36, 60], 9, 9)).map(|_| ()),
        &["part = 9 x 9 cells from -36, 60", "240 x 200 cells from -35, 60"],
    );
    refused(job().part(window([-35, 60], 241, 9)).map(|_| ()), &["part = 241 x 9"]);
    refused(job().part(window([0, 60], 0, 9)).map(|_| ()), &["part = 0 x 9", "1 to 16777216"]);
    refused(Tiles::new(job(), 15).map(|_| ()), &["tiles of 15 cells", "16 to 16384"]);
    let own = Window { origin: [0, 100], width: 50, height: 40 };
    refused(Tiles::new(job(), Cut::in_one_piece(9, own)).map(|_| ()), &["level 9", "levels 0 to"]);
    let mut part = Tiles::new(job(), Cut::in_one_piece(0, own)).unwrap();
    let beyond = Window { origin: [150, 100], ..own };
    let height = thalweg::field::find("height").unwrap();
    refused(
        part.words(0, beyond, height, &mut cpu()).map(|_| ()),
        &["50 x 40 cells from 150, 100 on", "the part of"],
    );
    let mut coarse = Tiles::new(job(), Cut::in_one_piece(1, Schedule::on_level(&own, 1))).unwrap();
    refused(
        coarse.words(0, own, height, &mut cpu()).map(|_| ()),
        &["level 0", "a part of level 1"],
    );
    let mut tiles = Tiles::new(job(), 64).unwrap();
    refused(tiles.key(Tile { level: 2, slab: 0, x: 0, y: 0 }).map(|_| ()), &["level 2", "0 to 1"]);
    refused(
        tiles.key(Tile { level: 0, slab: 0, x: 4, y: 0 }).map(|_| ()),
        &["tile 4, 0 of level 0", "240 x 200 cells from -35, 60"],
    );
    refused(tiles.key(Tile { level: 0, slab: 0, x: i64::MAX, y: 0 }).map(|_| ()), &["lies beyond"]);
    let torus =
        recipe("", "[[stage]]\nkind = \"thermal\"\nsteps = 2\nborder = \"torus\"\n").unwrap();
    refused(Job::new(torus).unwrap().part(window([0, 60], 9, 9)).map(|_| ()), &["torus"]);
    let far = recipe("levels = 2", "[[stage]]\nkind = \"droplets\"\nlifetime = 4096\nrain = 4\n")
        .unwrap();
    let mut far = far;
    far.endless = true;
    refused(
        Job::new(far).unwrap().run(&mut |_| Ok(())).map(|_| ()),
        &["reach", "lower lifetime or rain"],
    );
    let endless =
        |top: &str, stages: &str| recipe(&format!("endless = true\n{top}"), stages).map(|_| ());
    refused(endless("margin_cells = 9", STAGES[0].1), &["endless = true", "margin_cells"]);
    refused(
        endless(
            "",
            "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"file\"\nfile = \"x.png\"\n",
        ),
        &["endless = true", "file"],
    );
    let mut world = recipe("", STAGES[0].1).unwrap();
    world.set("diamond_square.world_cells=0").unwrap();
    world.endless = true;
    refused(world.check(), &["endless = true", "world_cells"]);
}

/// A window that is too large for a run on the finest level is made on a coarser one, with the
/// words that all windows have there.
#[test]
fn coarse_levels_of_an_endless_world_agree_where_finer_ones_are_too_large() {
    let wide = Job::new(endless([-70_000, 8000], [140_000, 200])).unwrap();
    assert!(wide.run(&mut |_| Ok(())).unwrap_err().to_string().contains("at most 32767"));
    let wide = Job::new(endless([-9000, 8000], [40_000, 80])).unwrap().until_level(2).unwrap();
    let coarse = run(&wide);
    let level = coarse.levels.last().unwrap();
    let mut tiles = Tiles::new(Job::new(endless([0, 0], [9, 9])).unwrap(), 64).unwrap();
    let part = Window { origin: [-2000, 2001], width: 90, height: 15 };
    assert!(from_tiles(&mut tiles, 2, part, "height") == crop(&level.words, &level.window, &part));
}

proptest! {
    #![proptest_config(config(64))]

    /// Tiles of any side cover any land once, and the tiles over a window are those that have its
    /// cells.
    #[test]
    fn tiles_cover_a_land_once(
        bits in [0..=24u32, 0..=24u32],
        less in [0.0..1.0f64, 0.0..1.0],
        side in (4.0..=14.0f64).prop_map(|bits| bits.exp2() as u32),
        origin in [-(1i64 << 60)..1 << 60, -1000..1000i64],
        place in [0.0..1.0f64, 0.0..1.0],
    ) {
        let size = [0, 1].map(|a| ((1u32 << bits[a]) as f64 * (1.0 - less[a] / 2.0)).ceil() as u32);
        let text = format!(
            "schema = 2\nwidth = {}\nheight = {}\norigin = {origin:?}\nspacing_m = 1\n[[stage]]\n\
             kind = \"flat\"\n",
            size[0], size[1]
        );
        let job = Job::new(Recipe::from_toml(&text, "", "flat").unwrap()).unwrap();
        let land = job.schedule().world();
        let tiles = Tiles::new(job, side).unwrap();
        for axis in 0..2 {
            // The tiles of the first row, and of the first column.
            let at = |n: i64| tiles.window(Tile { level: 0, slab: 0,
                x: if axis == 0 { n } else { 0 }, y: if axis == 1 { n } else { 0 } });
            let cells = |window: &Window| (window.origin[axis],
                i64::from([window.width, window.height][axis]));
            let mut next = land.origin[axis];
            for n in 0.. {
                let Ok(window) = at(n) else { break };
                let (first, count) = cells(&window);
                prop_assert_eq!(first, next);
                prop_assert!(count >= 1 && 2 * count <= 3 * i64::from(side) + 1, "{} cells", count);
                next += count;
            }
            prop_assert_eq!(next, land.origin[axis] + i64::from(size[axis]));
            prop_assert!(at(-1).is_err());
        }
        let corner = [0, 1].map(|a| land.origin[a] + (place[a] * f64::from(size[a])) as i64);
        let over: Vec<Tile> = tiles.over(0, &Window { origin: corner, width: 1,
            height: 1 }).collect();
        prop_assert_eq!(over.len(), 1);
        prop_assert!(tiles.window(over[0]).unwrap().contains(corner[0], corner[1]));
    }
}

/// What is drawn of a recipe and its tiles.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    kind: usize,
    lives: u32,
    lifetime: u32,
    levels: u32,
    endless: bool,
    margin: u32,
    /// Cells of a side of squares, or, for the pieces of a part, as many that each has at most.
    side: u32,
    pieces: bool,
    /// Steps of a slab, where time is cut.
    slab: Option<u32>,
    seed: u32,
    size: [u32; 2],
    origin: [i64; 2],
}

fn drawn() -> impl Strategy<Value = Drawn> {
    // Most of them cut the land.
    let side =
        prop_oneof![4 => 4.0..=7.0f64, 1 => 7.0..=14.0f64].prop_map(|bits| bits.exp2() as u32);
    let land = (0..STAGES.len(), 1..=16u32, 2..=24u32, 1..=4u32);
    let cut = (side, prop::bool::weighted(0.3), prop::option::of(1..=48u32));
    let place = (
        any::<bool>(),
        0..40u32,
        cut,
        any::<u32>(),
        [2..200u32, 2..200],
        [-(1i64 << 60)..1 << 60, -(1i64 << 33)..1 << 33],
    );
    (land, place).prop_map(
        |(
            (kind, lives, lifetime, levels),
            (endless, margin, (side, pieces, slab), seed, size, origin),
        )| {
            Drawn {
                kind,
                lives,
                lifetime,
                levels,
                endless,
                margin,
                side,
                pieces,
                slab,
                seed,
                size,
                origin,
            }
        },
    )
}

impl Drawn {
    fn job(&self) -> Job {
        let Self {
            kind,
            lives,
            lifetime,
            levels,
            endless,
            margin,
            seed,
            size: [width, height],
            origin,
            ..
        } = *self;
        let stages = STAGES[kind].1.replace("finest_only = true\n", "");
        // The coarsest level has at least 16 cells a side.
        let levels = levels.min((width.min(height) / 16).max(1).ilog2() + 1);
        let text = format!(
            "schema = 2\nseed = {seed}\nwidth = {width}\nheight = {height}\norigin = {origin:?}\n\
             spacing_m = 20\nlevels = {levels}\n{}\n\
             [[stage]]\nkind = \"diamond_square\"\nworld_cells = 4294967296\nfeature_cells = 256\n\
             relief_m = 900\nedge = \"torus\"\n{stages}\
             [[stage]]\nkind = \"droplets\"\nlifetime = {lifetime}\nrain = {}\n\
             [output]\nmaps = [\"height\", \"erosion\", \"slope\"]\npreview = false\n",
            if endless { "endless = true".into() } else { format!("margin_cells = {margin}") },
            f64::from(lives) / 16.0,
        );
        Job::new(Recipe::from_toml(&text, "", "any").unwrap_or_else(|e| panic!("{e}: {text}")))
            .unwrap()
    }

    fn cut(&self) -> Cut {
        let (side, window) =
            (self.side, Window { origin: self.origin, width: self.size[0], height: self.size[1] });
        // With halos of some dozens of cells pieces of fewer cells would be slivers.
        let pieces = Space::Region { level: 0, window, cells: u64::from(side.max(64)).pow(2) };
        Cut { space: if self.pieces { pieces } else { Space::Squares(side) }, slab: self.slab }
    }

    /// Passes over cells that all tiles of its window are. Tiles of 16 cells with halos of hundreds
    /// are days of work.
    fn work(&self) -> f64 {
        let job = self.job();
        job.schedule()
            .cost(self.cut(), 0, &job.schedule().world())
            .map_or(f64::INFINITY, |cost| cost.work())
    }
}

/// Whatever the recipe, the side of tiles, their order and the device: the words of one run, of
/// tiles that are drawn at random. Nothing is kept in between.
fn random_tiles(drawn: &Drawn, executor: &mut dyn Executor) {
    let job = drawn.job();
    survives_description(job.recipe());
    let whole = run(&job);
    let over: Vec<Tile> =
        Tiles::new(job.clone(), drawn.cut()).unwrap().over(0, &whole.window).collect();
    for n in 0..2 {
        let tile = over[thalweg::arith::mix(n ^ drawn.seed) as usize % over.len()];
        let mut tiles = Tiles::new(job.clone(), drawn.cut()).unwrap();
        let window = tiles.window(tile).unwrap();
        let end = |w: &Window, a: usize| w.origin[a] + i64::from([w.width, w.height][a]);
        let first = [0, 1].map(|a| window.origin[a].max(whole.window.origin[a]));
        let last = [0, 1].map(|a| end(&window, a).min(end(&whole.window, a)));
        let window = Window {
            origin: first,
            width: (last[0] - first[0]) as u32,
            height: (last[1] - first[1]) as u32,
        };
        for name in whole.names() {
            let words =
                tiles.words(0, window, thalweg::field::find(name).unwrap(), executor).unwrap();
            assert!(
                words == crop(whole.words(name).unwrap(), &whole.window, &window),
                "{name}, {tile:?}, {drawn:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(config(12))]

    /// `THALWEG_SOAK=200` draws 200 others.
    #[test]
    fn tiles_of_any_recipe_have_the_words_of_one_run(drawn in drawn(), shuffle in any::<u64>()) {
        prop_assume!(drawn.work() < 2e8);
        random_tiles(&drawn, &mut Cpu::new(2,
            Order { shuffle: Some(shuffle), ..Order::default() }).unwrap());
    }
}

proptest! {
    #![proptest_config(config(3))]

    /// The same of tiles that the graphics adapter makes. A software driver takes milliseconds for
    /// the smallest pass.
    #[test]
    fn tiles_of_any_device_have_the_words_of_one_run(drawn in drawn()) {
        prop_assume!(drawn.work() < 3e7);
        if let Some(mut adapter) = gpu("tiles_of_any_device_have_the_words_of_one_run", 64, None) {
            random_tiles(&drawn, &mut adapter);
        }
    }
}

/// What is drawn of a land that is given, whole or in its layers, and of a part of it.
#[derive(Clone, Debug)]
struct Given {
    input: bool,
    /// Which of `GIVEN_LAYERS` a file has.
    layers: [bool; 5],
    /// Numbers of `BEFORE`, `ERODES` and `BEHIND`.
    stages: [usize; 3],
    border: &'static str,
    levels: u32,
    margin: u32,
    seed: u32,
    size: [u32; 2],
    origin: [i64; 2],
    /// The part's corner and size, as shares of what there is.
    part: [f64; 4],
    side: u32,
    slab: Option<u32>,
}

/// Layers that files paint before the erosion.
const GIVEN_LAYERS: [&str; 5] = ["hardness", "rain", "vegetation", "sediment", "uplift"];

/// What else may stand before the stages that run on all levels.
const BEFORE: [&str; 4] = [
    "",
    "[[stage]]\nkind = \"shore\"\nsea_level_m = 100\nwithin_cells = 20\n",
    "[[stage]]\nkind = \"biomes\"\nfrequency = 0.2\npadding_cells = 2\nfeature_cells = 40\nsplat = \
     true\n\
     weights = \"npy\"\n[[stage.biome]]\nname = \"a\"\n\
     colour = \"#087020\"\n[[stage.biome]]\nname = \"b\"\ncolour = \"#805020\"\n[[stage.biome]]\n\
     name = \"c\"\ncolour = \"#10f020\"\n",
    "[[stage]]\nkind = \"strokes\"\n[[stage.stroke]]\ntool = \"raise\"\namount_m = 300\n\
     radius_m = 500\nat_m = [[0, 0], [900, 2000]]\n",
];

/// What runs on all levels; BORDER is the border.
const ERODES: [&str; 11] = [
    "[[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.25\ndensity = 0.5\nBORDER\n",
    "[[stage]]\nkind = \"thermal\"\nsteps = 4\nrepose_deg = 20\n",
    "[[stage]]\nkind = \"snowballs\"\nlifetime = 4\nrain = 0.25\ndensity = 0.5\nBORDER\n",
    "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nthickness_m = 9\n[[stage]]\nkind = \"wind\"\n\
     lifetime = 2\nrain = 0.1\ndensity = 0.1\nhop_cells = 2\nBORDER\n",
    "[[stage]]\nkind = \"blur\"\npasses = 2\n",
    "[[stage]]\nkind = \"coastal\"\nsea_level_m = 100\n[[stage]]\nkind = \"thermal\"\nsteps = 2\n",
    "[[stage]]\nkind = \"droplets\"\nlifetime = 5\nrain = 0.25\ndensity = 0.5\nwash = 0.3\n\
     sea_level_m = 200\nBORDER\n",
    "[[stage]]\nkind = \"snowballs\"\nlifetime = 4\nrain = 0.25\ndensity = 0.5\nloads = \"left\"\n\
     sea_level_m = 200\nBORDER\n",
    "[[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\nBORDER\n[[stage.interleave]]\n\
     kind = \"thermal\"\nevery = 2\nsteps = 1\n",
    "[[stage]]\nkind = \"incision\"\nsteps = [5, 3]\nfall = 6\nuplift_m = 2\nlake_depth_m = 60\n\
     BORDER\n",
    "[[stage]]\nkind = \"incision\"\nsteps = 4\nfall = 5\ncreep = 0.1\nsea_level_m = 150\n\
     roughness_cells = 2\nBORDER\n\
     [[stage]]\nkind = \"droplets\"\nlifetime = 4\nrain = 0.25\nsea_level_m = 150\nBORDER\n",
];

/// What runs on the finest level alone, behind them.
const BEHIND: [&str; 4] = [
    "",
    "[[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"slope\"\n",
    "[[stage]]\nkind = \"shore\"\nsea_level_m = 150\nwithin_cells = 9\n",
    "[[stage]]\nkind = \"blur\"\nfinest_only = true\n",
];

fn given() -> impl Strategy<Value = Given> {
    let stages = [0..BEFORE.len(), 0..ERODES.len(), 0..BEHIND.len()];
    let land = (
        any::<bool>(),
        any::<[bool; 5]>(),
        stages,
        prop::sample::select(vec!["open", "wall", "high"]),
        1..=4u32,
    );
    let place = (
        prop_oneof![Just(0), 0..40u32],
        any::<u32>(),
        [17..150u32, 17..150],
        [-(1i64 << 40)..1 << 40, -300..300i64],
    );
    let cut = (
        [0.0..1.0f64, 0.0..1.0, 0.0..1.0, 0.0..1.0],
        16..120u32,
        prop::option::weighted(0.3, 1..=4u32),
    );
    (land, place, cut).prop_map(
        |(
            (input, layers, stages, border, levels),
            (margin, seed, size, origin),
            (part, side, slab),
        )| {
            Given {
                input,
                layers,
                stages,
                border,
                levels,
                margin,
                seed,
                size,
                origin,
                part,
                side,
                slab,
            }
        },
    )
}

impl Given {
    /// A map of the land's size that no formula of a stage makes: hills and noise, from 0 to
    /// `high`.
    fn map(&self, n: u32, high: f32) -> Map {
        let [width, height] = self.size;
        let at = |i: u32| {
            let (x, y) = ((i % width) as f32, (i / width) as f32);
            let noise = thalweg::arith::mix(i ^ thalweg::arith::mix(self.seed ^ n)) as f32
                / u32::MAX as f32;
            ((x / (9.0 + n as f32)).sin() * (y / 13.0).cos() * 0.4 + 0.5 + (noise - 0.5) * 0.2)
                .clamp(0.0, 1.0)
                * high
        };
        Map {
            width,
            height,
            spacing_m: 20.0,
            data: (0..width * height).map(at).collect(),
            range_m: None,
            georef: None,
        }
    }

    fn job(&self) -> Job {
        let [width, height] = self.size;
        let shorter = width.min(height) + 2 * self.margin;
        // The coarsest level has at least 16 cells a side.
        let levels = self.levels.min((shorter / 16).max(1).ilog2() + 1);
        let mut top = format!(
            "schema = 2\nseed = {}\norigin = {:?}\nlevels = {levels}\nmargin_cells = {}\n",
            self.seed, self.origin, self.margin
        );
        let land = match self.input {
            true => "input = \"none.tif\"\n".to_string(),
            false => format!("width = {width}\nheight = {height}\nspacing_m = 20\n{LAND}"),
        };
        top += &land;
        let painted =
            GIVEN_LAYERS.into_iter().zip(self.layers).filter(|(_, painted)| *painted).map(
                |(map, _)| {
                    let thick = if map == "sediment" { "thickness_m = 20\n" } else { "" };
                    format!(
                        "[[stage]]\nkind = \"layer\"\nmap = \"{map}\"\nfrom = \"file\"\n\
                         file = \"{map}.tif\"\n{thick}"
                    )
                },
            );
        top.extend(painted);
        let [before, erodes, behind] = self.stages;
        // With one level a stage cannot be of the finest alone.
        top += BEFORE[before];
        // Droplets alone know of high land outside.
        let knows_high =
            ERODES[erodes].contains("droplets") && !ERODES[erodes].contains("incision");
        let border = if self.border == "high" && !knows_high { "wall" } else { self.border };
        top += &ERODES[erodes].replace("BORDER", &format!("border = \"{border}\""));
        top += BEHIND[behind];
        top += "[output]\nmaps = [\"height\", \"erosion\", \"slope\", \"sky_view\"]\npreview = \
                false\n";
        let mut recipe =
            Recipe::from_toml(&top, "", "given").unwrap_or_else(|e| panic!("{e}: {top}"));
        recipe.output.maps = recipe.fields().iter().map(|field| field.name.to_string()).collect();
        let mut job = match self.input {
            true => Job::with_heights(recipe, &self.map(0, 900.0))
                .unwrap_or_else(|e| panic!("{e}: {top}")),
            false => Job::new(recipe).unwrap_or_else(|e| panic!("{e}: {top}")),
        };
        for i in job.files().map(|(i, _)| i).collect::<Vec<_>>() {
            job.supply(i, &self.map(1 + i as u32, 1.0)).unwrap();
        }
        job
    }

    fn part(&self, land: &Window) -> Window {
        let sides = [land.width, land.height];
        let first = [0, 1].map(|a| (self.part[a] * f64::from(sides[a])) as u32);
        let size =
            [0, 1].map(|a| 1 + (self.part[2 + a] * f64::from(sides[a] - first[a] - 1)) as u32);
        let origin = [0, 1].map(|a| land.origin[a] + i64::from(first[a]));
        Window { origin, width: size[0], height: size[1] }
    }
}

/// The same run with the maps that a level has. Those that it has not are refused by every door,
/// with one reason.
fn with_maps_of(job: &Job, level: i32) -> Job {
    let only = |names: Vec<String>| {
        let mut recipe = job.recipe().clone();
        recipe.output.maps = names;
        job.with_recipe(recipe).unwrap()
    };
    let mut there = vec![];
    for name in &job.recipe().output.maps {
        match only(vec![name.clone()]).until_level(level) {
            Ok(_) => there.push(name.clone()),
            // Textures are of the level of the biomes, as the maps of these are.
            Err(e) if e.to_string().contains("splat: level ") => return job.clone(),
            Err(e) => {
                let why = e.to_string();
                assert!(why.contains(name) && why.contains("has no such map: stage "), "{why}");
                let field = thalweg::field::find(name).unwrap();
                let mut tiles = Tiles::new(job.clone(), 64).unwrap();
                let window = Schedule::on_level(&job.schedule().world(), level);
                let said = [
                    tiles.words(level, window, field, &mut cpu()).unwrap_err(),
                    Tiles::fields_on(job, level, Some(name)).unwrap_err(),
                    Tiles::fields_on(&only(vec![name.clone()]), level, None).unwrap_err(),
                ];
                let reason =
                    why.split("has no such map: ").nth(1).unwrap().split(';').next().unwrap();
                said.iter().for_each(|e| assert!(e.to_string().contains(reason), "{e}: {reason}"));
            }
        }
    }
    only(there)
}

/// The run of a part, of the land and of each level, and the tiles of both have the words of the
/// whole (P1), in all maps that there are (P8).
fn assert_parts_of_given(drawn: &Given, executor: &mut dyn Executor) {
    let job = drawn.job();
    let part = drawn.part(&job.schedule().world());
    let coarsest = job.schedule().levels() as i32 - 1;
    for level in 0..=coarsest {
        if level > 0 && (thalweg::arith::mix(drawn.seed) as i32 + level) % 2 == 0 {
            continue;
        }
        let job = if level > 0 { with_maps_of(&job, level) } else { job.clone() };
        // Textures and weights are of the level of biomes.
        let Ok(ended) = job.clone().until_level(level) else {
            assert!(level > 0 && drawn.stages[0] == 2, "{drawn:?}");
            continue;
        };
        let whole = run(&ended);
        for name in &job.recipe().output.maps {
            assert!(whole.words(name).is_ok(), "{name} on level {level}: {drawn:?}");
        }
        let made = ended
            .part(part)
            .unwrap_or_else(|e| panic!("{e}: {drawn:?}"))
            .run_on(executor, &mut |_| Ok(()))
            .unwrap();
        assert_eq!(made.window, Schedule::on_level(&part, level));
        assert_is_crop(&format!("level {level} of {drawn:?}"), &whole, &made);
        let corner = [0, 1].map(|a| (made.window.origin[a] - whole.window.origin[a]) as u32);
        let size = [made.window.width, made.window.height];
        if let (Some(all), Some(weights)) = (&whole.weights, &made.weights) {
            assert!(all.part(corner, size).unwrap() == *weights, "weights: {drawn:?}");
        }
        for (all, texture) in whole.textures.iter().zip(&made.textures) {
            let row = |y: u32| {
                &all.rgba[((corner[1] + y) * all.width + corner[0]) as usize * 4..]
                    [..size[0] as usize * 4]
            };
            assert!(
                (0..size[1]).flat_map(row).copied().eq(texture.rgba.iter().copied()),
                "textures: {drawn:?}"
            );
        }
        assert_eq!(
            (whole.weights.is_some(), whole.textures.len()),
            (made.weights.is_some(), made.textures.len())
        );
        let space = match drawn.seed % 3 {
            0 => Space::Region { level, window: made.window, cells: 5000 },
            _ => Space::Squares(drawn.side),
        };
        let mut tiles = Tiles::new(job.clone(), Cut { space, slab: drawn.slab }).unwrap();
        for name in whole.names() {
            let words = tiles
                .words(level, made.window, thalweg::field::find(name).unwrap(), executor)
                .unwrap();
            assert!(
                words == made.words(name).unwrap(),
                "{name} of tiles, level {level}: {drawn:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(config(24))]

    /// P1, P8. `THALWEG_SOAK=2000` draws 2000 others.
    #[test]
    fn parts_of_any_given_land_have_the_words_of_the_whole(drawn in given(),
        shuffle in any::<u64>()) {
        assert_parts_of_given(&drawn, &mut Cpu::new(2,
            Order { shuffle: Some(shuffle), ..Order::default() }).unwrap());
    }
}

/// A run that is resumed after any of its stages has the words of one that was not interrupted,
/// whatever maps it leaves.
fn assert_goes_on(drawn: &Given, executor: &mut dyn Executor) {
    let job = drawn.job();
    let mut recipe = job.recipe().clone();
    let bits = thalweg::arith::mix(drawn.seed ^ 1);
    // The height alone, or about half of the maps.
    let is_wanted = |n: usize| n == 0 || (bits & 7 != 0 && bits >> (n % 29 + 3) & 1 == 1);
    let maps = std::mem::take(&mut recipe.output.maps);
    recipe.output.maps =
        maps.into_iter().enumerate().filter(|(n, _)| is_wanted(*n)).map(|(_, name)| name).collect();
    let job = job.with_recipe(recipe).unwrap();
    // To the end, or to a coarser level, where the maps that are left allow it.
    let level = job.recipe().finest() + (bits >> 5) as i32 % job.schedule().levels() as i32;
    let job = job.clone().until_level(level).unwrap_or(job);
    let mut snapshots = vec![];
    let mut keep = |event: Event| {
        if let Event::Stage(after) = event {
            let mut bytes = vec![];
            after.snapshot()?.write(&mut bytes)?;
            snapshots.push(bytes);
        }
        Ok(())
    };
    let whole = job.run_on(executor, &mut keep).unwrap();
    assert_eq!(snapshots.len(), job.schedule().names().count());
    for (n, bytes) in snapshots
        .iter()
        .enumerate()
        .filter(|(n, _)| thalweg::arith::mix(bits ^ *n as u32).is_multiple_of(3))
    {
        let snapshot = thalweg::Snapshot::read(&mut bytes.as_slice()).unwrap();
        let resumed = job
            .clone()
            .resume_from(snapshot)
            .unwrap_or_else(|e| panic!("{e}: after {n} of {drawn:?}"));
        let resumed = resumed.run_on(executor, &mut |_| Ok(())).unwrap();
        assert!(resumed.names().eq(whole.names()));
        for name in whole.names() {
            assert!(
                resumed.words(name).unwrap() == whole.words(name).unwrap(),
                "{name} after stage {n} of {drawn:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(config(24))]

    /// `THALWEG_SOAK=2000` draws 2000 others.
    #[test]
    fn any_given_land_goes_on_from_any_stage(drawn in given()) {
        assert_goes_on(&drawn, &mut cpu());
    }

    /// A film shows the whole land in each of its pictures, on whatever level a run is, and changes
    /// no word.
    #[test]
    fn any_given_land_is_filmed(drawn in given()) {
        let job = drawn.job();
        let mut recipe = job.recipe().clone();
        recipe.output.colour = thalweg::recipe::Colour::Ground;
        let job = job.with_recipe(recipe).unwrap();
        let whole = run(&job);
        // Lands that only blur have fewer steps.
        let frames = 2 + drawn.seed as usize % 9;
        let filmed = job.clone().frames(frames).or_else(|_| job.frames(2)).unwrap();
        let mut steps = vec![];
        let mut look = |event: Event| {
            if let Event::Frame(frame) = event {
                steps.push(frame.step);
                for (name, map) in &frame.maps {
                    assert_eq!([map.width, map.height], [whole.window.width, whole.window.height],
                        "{name}: {drawn:?}");
                }
                for name in ["erosion", "deposition"] {
                    assert_eq!(frame.maps.contains_key(name), frame.step > 0, "{name} at step {}: \
                                                                               {drawn:?}", frame.step);
                }
            }
            Ok(())
        };
        let made = filmed.run_on(&mut cpu(), &mut look).unwrap();
        assert!(steps.is_sorted() && steps[0] == 0, "{steps:?}: {drawn:?}");
        for name in whole.names() {
            assert!(made.words(name).unwrap() == whole.words(name).unwrap(), "{name}: {drawn:?}");
        }
    }
}

proptest! {
    #![proptest_config(config(2))]

    /// The same on a graphics adapter.
    #[test]
    fn parts_of_any_given_land_are_the_same_on_an_adapter(drawn in given()) {
        if let Some(mut adapter) = gpu("parts_of_any_given_land_are_the_same_on_an_adapter", 64,
            None) {
            assert_parts_of_given(&drawn, &mut adapter);
        }
    }
}

/// P1: the smallest cases, an input and a layer from a file, each with two levels. A torus has no
/// parts, which is said.
#[test]
fn parts_of_an_input_have_the_words_of_the_whole() {
    let first = Given {
        input: true,
        layers: [false; 5],
        stages: [0, 4, 0],
        border: "open",
        levels: 2,
        margin: 0,
        seed: 1,
        size: [200, 160],
        origin: [0, 0],
        part: [0.2, 0.2, 0.3, 0.3],
        side: 48,
        slab: None,
    };
    let painted = Given {
        input: false,
        layers: [true, false, false, false, false],
        stages: [0, 1, 0],
        ..first.clone()
    };
    for drawn in [first, painted] {
        assert_parts_of_given(&drawn, &mut cpu());
        let mut recipe = drawn.job().recipe().clone();
        recipe.output.maps.truncate(1);
        let torus = ERODES[0].replace("BORDER", "border = \"torus\"");
        let text = format!(
            "schema = 2\nwidth = 64\nheight = 64\nspacing_m = 20\nlevels = 2\n{LAND}{torus}"
        );
        let job = Job::new(Recipe::from_toml(&text, "", "torus").unwrap()).unwrap();
        let said =
            job.part(Window { origin: [4, 4], width: 9, height: 9 }).unwrap_err().to_string();
        assert!(said.contains("a torus is made whole"), "{said}");
    }
}

/// P3's sibling: the key of a tile is also that of the land that its levels are restricted from.
#[test]
fn keys_are_of_the_land_that_is_given() {
    let drawn = Given {
        input: false,
        layers: [true, false, false, false, false],
        stages: [0, 1, 0],
        border: "open",
        levels: 2,
        margin: 0,
        seed: 1,
        size: [90, 70],
        origin: [0, 0],
        part: [0.0; 4],
        side: 48,
        slab: None,
    };
    let key = |change: &str, layer: u32| {
        let mut job = drawn.job();
        let mut recipe = job.recipe().clone();
        if !change.is_empty() {
            recipe.set(change).unwrap();
        }
        job = job.with_recipe(recipe).unwrap();
        job.supply(1, &drawn.map(layer, 1.0)).unwrap();
        Tiles::new(job, 48).unwrap().key(Tile { level: 0, slab: 0, x: 0, y: 0 }).unwrap()
    };
    assert_eq!(key("", 1), key("", 1));
    assert_ne!(key("", 1), key("", 2), "another file of hardness");
    assert_ne!(key("", 1), key("diamond_square.relief_m=901", 1), "another land");
    assert_ne!(key("", 1), key("diamond_square.gain=0.4", 1), "another land");
}

//! Cells of an input that have no height lie outside the land; cells in degrees have sizes of their
//! own (F5, F7, F9).

use crate::common::{cpu, gpu};
use std::path::Path;
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::job::{Heights, StageReport};
use thalweg::map::{Georef, Globe, Map};
use thalweg::morphometry::HeightGrid;
use thalweg::site::{Scale, Window};
use thalweg::water::{Place, Settings, Water};
use thalweg::{Device, Job, Outcome, Recipe};

const W: u32 = 60;
const H: u32 = 44;

fn run(job: &Job) -> Outcome {
    job.run(&mut |_| Ok(())).unwrap()
}

/// Hills between 200 and 400 m, on a slope.
fn hills() -> Map {
    let height = |x: f32, y: f32| 200.0 + x * 2.0 + 40.0 * ((x * 0.31).sin() + (y * 0.23).cos());
    let data = (0..H).flat_map(|y| (0..W).map(move |x| height(x as f32, y as f32))).collect();
    Map { width: W, height: H, spacing_m: 10.0, data, range_m: None, georef: None }
}

/// A round hole in the middle, a square on the western edge, and a single cell.
fn holes() -> Vec<usize> {
    let is = |x: i32, y: i32| {
        (x - 30).pow(2) + (y - 22).pow(2) < 40
            || (x < 6 && (10..17).contains(&y))
            || (x, y) == (50, 7)
    };
    (0..(W * H) as usize)
        .filter(|at| is((at % W as usize) as i32, (at / W as usize) as i32))
        .collect()
}

fn job(recipe: &str, value: f32, missing: &[usize]) -> Job {
    let mut map = hills();
    missing.iter().for_each(|at| map.data[*at] = value);
    let recipe = Recipe::from_toml(
        &format!("schema = 2\nseed = 3\ninput = \"none.tif\"\n{recipe}"),
        Path::new(""),
        "holes",
    )
    .unwrap();
    Job::with_heights(recipe, Heights::from(&map).without(missing)).unwrap().device(Device::Cpu)
}

const STAGES: [&str; 7] = [
    "[[stage]]\nkind = \"droplets\"\nlifetime = 12\nrain = 2\n",
    "levels = 2\n[[stage]]\nkind = \"droplets\"\nlifetime = 12\nrain = 2\n[[stage.interleave]]\n\
     kind = \"thermal\"\nevery = 4\nsteps = 1\n",
    "margin_cells = 5\n[[stage]]\nkind = \"snowballs\"\nlifetime = 12\nrain = 1\n",
    "[[stage]]\nkind = \"thermal\"\nsteps = 20\nrepose_deg = 20\n",
    "[[stage]]\nkind = \"blur\"\n",
    "[[stage]]\nkind = \"incision\"\nsteps = 30\ncreep = 0.05\n",
    "levels = 2\n[[stage]]\nkind = \"incision\"\nsteps = 12\nuplift_m = 0.1\n",
];

/// F5: no vertex ends lower than the lowest ground, which outside falls by a fiftieth of a cell a
/// step away from the coast. A hole was a cliff of hundreds of metres, whatever number stood for
/// it, and its rim sank.
#[test]
fn a_hole_is_no_cliff_and_its_number_says_nothing() {
    let missing = holes();
    let map = hills();
    let lowest = (0..map.data.len())
        .filter(|at| !missing.contains(at))
        .map(|at| map.data[at])
        .fold(f32::MAX, f32::min);
    // The hole is 13 cells wide, so no cell of it is more than seven from a coast; the square is
    // six deep. The last step of particles may take seven units more.
    let floor = lowest - 7.0 * 0.02 * 10.0 - 1e-3;
    for recipe in STAGES {
        let made: Vec<Outcome> =
            [-9999.0, 0.0, 3e4, f32::NAN].map(|value| run(&job(recipe, value, &missing))).into();
        for other in &made[1..] {
            assert_eq!(
                other.words("height").unwrap(),
                made[0].words("height").unwrap(),
                "{recipe}"
            );
        }
        assert_eq!(made[0].missing(), missing, "{recipe}");
        if recipe.starts_with("levels") {
            // Detail that is laid on coarser levels may reach lower.
            continue;
        }
        let height = made[0].map("height").unwrap();
        let sunk = height
            .data
            .iter()
            .enumerate()
            .filter(|(at, v)| **v < floor && !missing.contains(at))
            .count();
        assert_eq!(sunk, 0, "{recipe}: below {floor}");
    }
}

/// F5: a hole in a plane is the plane but for its fall, so a stage that leaves planes alone leaves
/// its rim, too.
#[test]
fn a_hole_in_a_plane_is_a_plane() {
    let missing = holes();
    let data = (0..H).flat_map(|y| (0..W).map(move |x| (x + 2 * y) as f32)).collect();
    let map = Map { data, ..hills() };
    let recipe = "schema = 2\ninput = \"none.tif\"\n[[stage]]\nkind = \"thermal\"\nsteps = 40\n\
                  repose_deg = 30\n";
    let made = |missing: &[usize]| {
        let recipe = Recipe::from_toml(recipe, "", "plane").unwrap();
        run(&Job::with_heights(recipe, Heights::from(&map).without(missing))
            .unwrap()
            .device(Device::Cpu))
    };
    let (holed, whole) = (made(&missing), made(&[]));
    let words = |outcome: &Outcome| outcome.words("height").unwrap().to_vec();
    for (at, (holed, whole)) in words(&holed)
        .into_iter()
        .zip(words(&whole))
        .enumerate()
        .filter(|(at, _)| !missing.contains(at))
    {
        assert_eq!(holed, whole, "cell {at}");
    }
}

/// F5: what comes to lie on cells that are no land has left it: heights of the land and
/// `exported_m3` add up to the unit, less what rose and what lakes laid down.
#[test]
fn what_leaves_through_holes_is_booked() {
    let (missing, map) = (holes(), hills());
    let land: Vec<usize> =
        (0..map.data.len()).filter(|at| missing.binary_search(at).is_err()).collect();
    for recipe in [
        STAGES[0],
        "[[stage]]\nkind = \"droplets\"\nlifetime = 12\nrain = 2\n[[stage.interleave]]\n\
         kind = \"thermal\"\nevery = 4\nsteps = 1\nrepose_deg = 10\n",
        "[[stage]]\nkind = \"snowballs\"\nlifetime = 12\nrain = 1\n",
        "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nthickness_m = 9\n[[stage]]\n\
         kind = \"wind\"\nlifetime = 4\nrain = 1\nhop_cells = 2\n",
        STAGES[3],
        STAGES[5],
    ] {
        let job = job(recipe, 0.0, &missing);
        let mut executors: Vec<Box<dyn Executor>> = vec![Box::new(cpu())];
        executors.extend(
            gpu("what_leaves_through_holes_is_booked", 64, None)
                .map(|gpu| Box::new(gpu) as Box<dyn Executor>),
        );
        let mut booked = vec![];
        for executor in &mut executors {
            let made = job.run_on(&mut **executor, &mut |_| Ok(())).unwrap();
            let sum = |words: &[i32]| land.iter().map(|at| i64::from(words[*at])).sum::<i64>();
            let given = made.scale.to_words(&map.data);
            let booked_m3 = |stage: &StageReport| {
                let gained = stage.risen_m3.unwrap_or(0.0) + stage.silted_m3.unwrap_or(0.0);
                stage.exported_m3.map_or(0.0, |exported| exported - gained)
            };
            let exported_m3 = made.stages.iter().map(booked_m3).sum::<f64>();
            let units = (exported_m3 / 1000.0 * f64::from(CELL)).round() as i64;
            assert_ne!(units, 0, "{recipe}");
            assert_eq!(sum(&given) - sum(made.words("height").unwrap()), units, "{recipe}");
            booked.push(exported_m3);
        }
        assert!(booked.iter().all(|m3| *m3 == booked[0]), "{recipe}: {booked:?}");
    }
}

/// F5: parts and coarser levels have the cells that the whole has.
#[test]
fn parts_and_levels_have_the_holes_of_the_whole() {
    let missing = holes();
    let part = Window { origin: [20, 12], width: 25, height: 20 };
    let made = run(&job(STAGES[1], 0.0, &missing).part(part).unwrap());
    let place = |at: &usize| [*at as i64 % i64::from(W), *at as i64 / i64::from(W)];
    let inside: Vec<usize> = missing
        .iter()
        .map(place)
        .filter(|[x, y]| part.contains(*x, *y))
        .map(|[x, y]| (y - 12) as usize * 25 + (x - 20) as usize)
        .collect();
    assert_eq!(made.missing(), inside);
    // A coarser cell has no value where its sample has none.
    let coarse = run(&job(STAGES[1], 0.0, &missing).until_level(1).unwrap());
    let window = coarse.window;
    let sample = |at: usize| {
        let (x, y) = (at as u32 % window.width * 2, at as u32 / window.width * 2);
        (y.min(H - 1) * W + x.min(W - 1)) as usize
    };
    let expected: Vec<usize> =
        (0..window.cells()).filter(|at| missing.contains(&sample(*at))).collect();
    assert_eq!(coarse.missing(), expected);
}

/// F5: water that comes to a cell outside has left; all rain of the land comes to a mouth, and none
/// that falls elsewhere.
#[test]
fn water_leaves_through_holes() {
    let missing = holes();
    let outcome = run(&job(
        &format!("{}[water]\n[output]\nmaps = [\"height\", \"drainage_area\"]\n", STAGES[3]),
        0.0,
        &missing,
    ));
    let ground = outcome.words("height").unwrap().to_vec();
    let place = Place { missing: missing.clone(), ..Place::default() };
    let water =
        Water::on(&place, ground, W as usize, outcome.scale, None, &Settings::default()).unwrap();
    let land = (W * H) as usize - missing.len();
    let drained: i64 =
        water.mouths().iter().map(|mouth| water.rain.as_ref().unwrap()[*mouth]).sum();
    assert_eq!(drained, 65536 * land as i64);
    assert!(
        water.basins().iter().enumerate().all(|(at, basin)| (*basin == 0) == missing.contains(&at))
    );
    assert_eq!(water.summary()["sea_cells"], 0);
}

/// F5: heights that are missing everywhere are no land.
#[test]
fn a_land_without_a_height_is_refused() {
    let map = hills();
    let all: Vec<usize> = (0..map.data.len()).collect();
    let recipe = Recipe::from_toml(
        &format!("schema = 2\ninput = \"none.tif\"\n{}", STAGES[4]),
        Path::new(""),
        "none",
    )
    .unwrap();
    let error = Job::with_heights(recipe, Heights::from(&map).without(&all)).unwrap_err();
    assert!(error.to_string().contains("no cell has a height"), "{error}");
}

/// A map of cells of a hundredth of a degree from 60 degrees north on.
fn in_degrees(rows: u32) -> (Georef, f64) {
    let georef =
        Georef { epsg: Some(4326), west: 7.0, north: 60.0, cell: (0.01, 0.01), keys: None };
    let middle = 60.0 - 0.005 * f64::from(rows);
    (georef, 111_320.0 * 0.01 * (1.0 + middle.to_radians().cos()) / 2.0)
}

/// F9: slopes, aspects and curvatures of a plane over cells whose width is that of their latitude.
#[test]
fn slopes_in_degrees_take_the_width_of_each_row() {
    let (w, h) = (9usize, 301u32);
    let (georef, spacing_m) = in_degrees(h);
    let metric = Globe::of(&georef, spacing_m, h).unwrap().metric((0..h).map(f64::from));
    // Cells rise by a thousandth of a cell to the east, or by two to the south.
    let east: Vec<i32> = (0..h as i32 * 9).map(|at| at % 9 * (CELL / 1024)).collect();
    let south: Vec<i32> = (0..h as i32 * 9).map(|at| at / 9 * (CELL / 512)).collect();
    let near = |a: f32, b: f64| (f64::from(a) - b).abs() <= 1e-6 * b.abs();
    for row in [0usize, 150, 300] {
        let latitude = 60.0 - 0.01 * (row as f64 + 0.5);
        let wide_m = 1113.2 * latitude.to_radians().cos();
        let slope = HeightGrid::new(&east, w, spacing_m).on(Some(&metric)).slope()[row * w + 4];
        assert!(
            near(slope, (spacing_m / 1024.0 / wide_m).atan().to_degrees()),
            "row {row}: {slope}"
        );
        let slope = HeightGrid::new(&south, w, spacing_m).on(Some(&metric)).slope()[row * w + 4];
        assert!(
            near(slope, (spacing_m / 512.0 / 1113.2).atan().to_degrees()),
            "row {row}: {slope}"
        );
    }
    let both: Vec<i32> = east.iter().zip(&south).map(|(a, b)| a + b).collect();
    let aspect = HeightGrid::new(&both, w, spacing_m).on(Some(&metric)).aspect()[150 * w + 4];
    let (rise_east, rise_south) =
        (1.0 / 1024.0 / (58.495f64 + 0.0).to_radians().cos(), 1.0 / 512.0);
    assert!(near(aspect, 360.0 - (rise_east / rise_south).atan().to_degrees()), "{aspect}");
    // Web Mercator is larger than the ground by 1 / cos of the latitude, in both directions.
    let north = 6_378_137.0 * 60f64.to_radians().tan().asinh();
    let georef =
        Georef { epsg: Some(3857), west: 0.0, north: north + 5.0, cell: (10.0, 10.0), keys: None };
    let metric = Globe::of(&georef, 5.0, 1).unwrap().metric([0.0].into_iter());
    assert!((metric.area(0) - 1.0).abs() < 1e-9, "{metric:?}");
}

/// F9: water runs down the steepest way on the ground, and areas are those of the rows.
#[test]
fn water_in_degrees_has_the_areas_and_ways_of_each_row() {
    let h = 101u32;
    let (georef, spacing_m) = in_degrees(h);
    let metric = Globe::of(&georef, spacing_m, h).unwrap().metric((0..h).map(f64::from));
    // The ground falls a little more to the south than to the east, but a cell is half as wide as
    // it is high.
    let ground: Vec<i32> = (0..h as i32 * 9).map(|at| -(at % 9) * 1000 - at / 9 * 1100).collect();
    let settings = Settings::default();
    let place = Place { metric: Some(metric.clone()), missing: vec![], ..Default::default() };
    let water =
        Water::on(&place, ground.clone(), 9, Scale::of(spacing_m), None, &settings).unwrap();
    let plain = Water::of(ground, 9, Scale::of(spacing_m), None, &settings).unwrap();
    let (east, south_east) = (0, 1);
    assert_eq!(plain.directions[50 * 9 + 4], south_east);
    // East: 1000 over half a cell. South-east: 2100 over √(½² + 1²) cells.
    let wide = metric.cell(50)[0] / metric.cell(50)[1];
    assert_eq!(
        1000.0 / wide > 2100.0 / (wide * wide + 1.0).sqrt(),
        water.directions[50 * 9 + 4] == east
    );
    assert_eq!(water.directions[50 * 9 + 4], east);
    let area_m2: f64 = (0..h)
        .map(|row| {
            9.0 * 1113.2 * 1113.2 * (60.0 - 0.01 * (f64::from(row) + 0.5)).to_radians().cos()
        })
        .sum();
    let found: i64 = water.mouths().iter().map(|mouth| water.rain.as_ref().unwrap()[*mouth]).sum();
    let found = found as f64 / 65536.0 * spacing_m * spacing_m;
    // Each cell's is rounded to 2⁻¹⁷ of a cell.
    assert!((found / area_m2 - 1.0).abs() < 1e-5, "{found} {area_m2}");
}

/// F7: heights of 0 to 1 are shares of the range that is given; others are metres, and the range is
/// left out with a warning.
#[cfg(feature = "io")]
#[test]
fn shares_in_files_of_floats_can_be_given_metres() {
    use thalweg::io::{MapFormat, ReadOptions, decode, encode};
    let options = ReadOptions {
        spacing_m: Some(10.0),
        range_m: Some((-100.0, 1900.0)),
        ..ReadOptions::default()
    };
    for format in [MapFormat::Exr, MapFormat::Npy, MapFormat::Tiff, MapFormat::Asc] {
        let map = Map { width: 2, height: 2, data: vec![0.0, 0.25, 0.5, 1.0], ..hills() };
        let read =
            decode(Path::new("a"), &encode(&map, format).unwrap().0, format, &options).unwrap();
        assert_eq!(read.map.data, [-100.0, 400.0, 900.0, 1900.0], "{format:?}");
        assert_eq!(read.map.range_m, Some((-100.0, 1900.0)));
        let map = Map { data: vec![0.0, 0.25, 0.5, 1.5], ..map };
        let read =
            decode(Path::new("a"), &encode(&map, format).unwrap().0, format, &options).unwrap();
        assert_eq!(read.map.data, map.data, "{format:?}");
        assert!(
            read.warnings.iter().any(|warning| warning.contains("range is ignored")),
            "{:?}",
            read.warnings
        );
    }
}

/// F9: what a file says of cells whose metres do not follow from its numbers.
#[cfg(feature = "io")]
#[test]
fn cells_without_metres_are_said_to_be_so() {
    use thalweg::io::{MapFormat, ReadOptions, decode, encode};
    let asc = b"ncols 2\nnrows 2\nxllcorner -180\nyllcorner -90\ncellsize 0.25\n1 2 3 4\n";
    let read = decode(Path::new("a.asc"), asc, MapFormat::Asc, &ReadOptions::default()).unwrap();
    assert_eq!(read.map.spacing_m, 0.25);
    assert!(
        read.warnings.iter().any(|warning| warning.contains("EPSG:4326")),
        "{:?}",
        read.warnings
    );
    let north = 6_378_137.0 * 60f64.to_radians().tan().asinh() + 5.0 * f64::from(H);
    let georef =
        Some(Georef { epsg: Some(3857), west: 0.0, north, cell: (10.0, 10.0), keys: None });
    let bytes = encode(&Map { georef, ..hills() }, MapFormat::Tiff).unwrap().0;
    let read =
        decode(Path::new("a.tif"), &bytes, MapFormat::Tiff, &ReadOptions::default()).unwrap();
    assert!((read.map.spacing_m - 5.0).abs() < 1e-6, "{}", read.map.spacing_m);
    assert!(
        read.map.georef.is_some()
            && read.warnings.iter().any(|warning| warning.contains("Mercator")),
        "{:?}",
        read.warnings
    );
}

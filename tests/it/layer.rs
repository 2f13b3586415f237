//! Layers: what their sources and ramps give, and what the ledger records.

use crate::common::{cpu, made, plan, prepare, run};
use thalweg::Job;
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::map::Map;
use thalweg::params::Value;
use thalweg::recipe::Recipe;
use thalweg::site::{Layer, Layers, Window};
use thalweg::stage::{Case, Stage, Surface, droplets, layer};

fn after(
    stage: &Stage,
    settings: Vec<(&'static str, Value)>,
    surface: Surface,
    layers: Layers,
    name: &str,
) -> Vec<i32> {
    let window = Window { origin: [-20, 9], width: 64, height: 48 };
    let case = Case { name: "made", settings, window, surface, layers };
    let plan = plan(stage, &case);
    let mut cpu = cpu();
    prepare(stage, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    cpu.read(name).unwrap()
}

fn word(w: &str) -> Value {
    Value::Word(w.into())
}

const HEAD: &str = "schema = 2\nwidth = 24\nheight = 16\nspacing_m = 1\n[[stage]]\n\
                    kind = \"diamond_square\"\nrelief_m = 100\n";

/// A stage that adds or sets a height.
fn biome(heights: &str, base_m: i32) -> String {
    format!(
        "[[stage]]\nkind = \"biomes\"\nheights = {heights:?}\n[[stage.biome]]\nname = \"all\"\n\
         colour = \"#087020\"\nbase_m = {base_m}\n"
    )
}

fn run_text(text: &str) -> thalweg::Outcome {
    let recipe = Recipe::from_toml(text, "", "made").unwrap();
    Job::new(recipe).unwrap().run_on(&mut cpu(), &mut |_| Ok(())).unwrap()
}

/// Heights that would leave their range stop at its end, and the run says so.
#[test]
fn heights_stop_at_the_end_of_their_range() {
    for sign in [1, -1] {
        let made = run_text(&format!(
            "{HEAD}{}{}",
            biome("replace", sign * 8000),
            biome("add", sign * 8000)
        ));
        assert!(made.words("height").unwrap().iter().all(|h| *h == sign * 8191 * CELL));
        assert_eq!(made.stopped("height").unwrap(), 24 * 16);
    }
    assert_eq!(run_text(&format!("{HEAD}{}", biome("add", 7000))).stopped("height").unwrap(), 0);
}

/// When more has been worn or laid down than a sum holds, the sum stops, is said to, and the change
/// stays that of the height.
#[test]
fn the_change_stays_true_when_sums_stop() {
    let cycles: String =
        [7000, 0, 7000, -7000, 7000, 100].map(|base_m| biome("replace", base_m)).concat();
    for (stages, height) in [
        (biome("replace", 100) + &cycles, 100),
        (biome("replace", 0) + &cycles + &biome("replace", -900), -900),
    ] {
        let before = run_text(HEAD).words("height").unwrap().to_vec();
        let text = format!(
            "{HEAD}{stages}[output]\nmaps = [\"height\", \"change\", \"erosion\", \"deposition\"]\n"
        );
        let made = run_text(&text);
        assert!(made.words("height").unwrap().iter().all(|h| *h == height * CELL));
        let changes = made.words("change").unwrap().iter().zip(&before);
        changes.for_each(|(change, before)| assert_eq!(*change, height * CELL - before));
        assert!(made.stopped("erosion").unwrap() + made.stopped("deposition").unwrap() > 0);
        assert_eq!(made.stopped("change").unwrap(), 0);
    }
}

/// The valley's sides have slope 1 and fall 0.1 to the east: √1.01 away from axis and border.
#[test]
fn slopes_are_those_of_the_surface() {
    let settings =
        vec![("map", word("hardness")), ("from", word("slope")), ("end", Value::Number(2.0))];
    let found = after(&layer::STAGE, settings, Surface::Valley, Layers::NONE, "hardness");
    for y in (2..22).chain(26..46) {
        for x in 2..62 {
            let slope = found[y * 64 + x] as f64 / 65536.0 * 2.0;
            assert!((slope - 1.01f64.sqrt()).abs() < 1.0 / 128.0, "({x}, {y}): {slope}");
        }
    }
}

#[test]
fn heights_make_a_ramp_either_way() {
    // Metres: the case's cells are 10 m, so the cone's heights go from about 0 to 160 m.
    for (start, end) in [(20.0, 120.0), (120.0, 20.0)] {
        let settings = vec![
            ("map", word("vegetation")),
            ("from", word("height")),
            ("start", Value::Number(start)),
            ("end", Value::Number(end)),
        ];
        let found = after(&layer::STAGE, settings, Surface::Cone, Layers::NONE, "vegetation");
        let heights = Surface::Cone.heights(&Window { origin: [-20, 9], width: 64, height: 48 });
        for (f, h) in found.iter().zip(heights) {
            let expected =
                ((h as f64 / CELL as f64 * 10.0 - start) / (end - start)).clamp(0.0, 1.0);
            assert!((*f as f64 / 65536.0 - expected).abs() < 2.0 / 32768.0, "{f} for {expected}");
        }
    }
}

/// Noise has the mean and the range that it says, and is the same in any window.
#[test]
fn noise_belongs_to_the_world() {
    let settings =
        vec![("map", word("rain")), ("from", word("noise")), ("feature_cells", Value::Integer(8))];
    let found = after(&layer::STAGE, settings.clone(), Surface::Flat, Layers::NONE, "rain");
    let mean = found.iter().map(|&f| f as f64).sum::<f64>() / found.len() as f64 / 65536.0;
    assert!((mean - 0.5).abs() < 0.05, "mean {mean}");
    assert!(found.iter().all(|f| (0..=65536).contains(f)));
    let window = Window { origin: [-20 + 7, 9 + 5], width: 30, height: 20 };
    let case =
        Case { name: "part", settings, window, surface: Surface::Flat, layers: Layers::NONE };
    let plan = plan(&layer::STAGE, &case);
    let mut cpu = cpu();
    prepare(&layer::STAGE, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..1);
    let part = cpu.read("rain").unwrap();
    for (i, w) in part.iter().enumerate() {
        assert_eq!(*w, found[(i / 30 + 5) * 64 + i % 30 + 7]);
    }
}

/// What was deposited less what was eroded is the change of height, cell by cell, and the sediment
/// is never thinner than 0.
/// Holds A19.
#[test]
fn the_ledger_adds_up() {
    let all = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let settings = vec![("lifetime", Value::Integer(20)), ("rain", Value::Number(1.0))];
    let window = Window { origin: [-20, 9], width: 64, height: 48 };
    let case = Case { name: "made", settings, window, surface: Surface::Hills, layers: all };
    let plan = plan(&droplets::STAGE, &case);
    let mut cpu = cpu();
    prepare(&droplets::STAGE, &case, &mut cpu);
    let before = cpu.read("height").unwrap();
    cpu.write("ledger", &before.iter().flat_map(|h| [*h, CELL / 8, 0, 0]).collect::<Vec<_>>())
        .unwrap();
    cpu.begin(&plan).unwrap();
    // The sediment by hand, step by step.
    let (mut last, mut loose) = (before.clone(), vec![CELL / 8; before.len()]);
    let mut start = 0;
    for end in &plan.steps {
        run(&mut cpu, &plan, start..*end);
        start = *end;
        let now = cpu.read("height").unwrap();
        for ((loose, now), last) in loose.iter_mut().zip(&now).zip(&last) {
            *loose = (*loose + now - last).max(0);
        }
        last = now;
    }
    run(&mut cpu, &plan, start..plan.passes.len());
    let (mut laid, mut eroded) = (0i64, 0i64);
    for ((record, loose), (after, before)) in
        cpu.read("ledger").unwrap().chunks(4).zip(loose).zip(last.iter().zip(&before))
    {
        assert_eq!(record[3] - record[2], after - before);
        assert_eq!(record[1], loose);
        laid += record[3] as i64;
        eroded += record[2] as i64;
    }
    assert!(laid > 0 && eroded > 0);
}

/// A given map must have the terrain's size and values from 0 to 1. A run without it fails before
/// the stage.
#[test]
fn given_maps_that_cannot_be_are_named() {
    let text = "schema = 2\nwidth = 8\nheight = 6\nspacing_m = 10\n[[stage]]\n\
                kind = \"diamond_square\"\n\
                [[stage]]\nkind = \"layer\"\nfrom = \"file\"\nfile = \"mask.tif\"\n";
    let recipe = Recipe::from_toml(text, "", "made").unwrap();
    let mut job = Job::new(recipe).unwrap();
    let run = |job: &Job| job.run_on(&mut cpu(), &mut |_| Ok(()));
    let said = |result: thalweg::Result<()>, words: &[&str]| {
        let text = result.unwrap_err().to_string();
        words.iter().for_each(|word| assert!(text.contains(word), "{text}"));
    };
    said(run(&job).map(drop), &["stage 2", "mask.tif", "was not read"]);
    let map = |width: u32, value: f32| {
        let mut data = vec![0.5; width as usize * 6];
        data[10] = value;
        Map { width, height: 6, spacing_m: 10.0, data, range_m: None, georef: None }
    };
    said(job.supply(1, &map(7, 0.5)), &["stage 2, layer", "mask.tif", "7 x 6", "8 x 6"]);
    for (value, shown) in
        [(f32::NAN, "NaN"), (1.001, "1.001"), (-0.5, "-0.5"), (f32::INFINITY, "inf")]
    {
        said(
            job.supply(1, &map(8, value)),
            &["stage 2, layer", "mask.tif", shown, "column 2, row 1", "0 to 1"],
        );
    }
    job.supply(1, &map(8, 1.0)).unwrap();
    run(&job).unwrap();
}

/// A layer that biomes do not make stays as it is.
#[test]
fn biomes_leave_other_layers_alone() {
    let head = "schema = 2\nwidth = 40\nheight = 30\nspacing_m = 10\n[[stage]]\n\
                kind = \"diamond_square\"\nrelief_m = 200\n\
                [[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"noise\"\nfeature_cells = \
                                    8\n";
    let tail = "[[stage]]\nkind = \"coastal\"\n[output]\nmaps = [\"hardness\"]\n";
    let hardness = |between: &str| {
        let recipe = Recipe::from_toml(&format!("{head}{between}{tail}"), "", "test").unwrap();
        made(&recipe, &mut cpu()).digests["hardness"].clone()
    };
    assert_eq!(hardness("[[stage]]\nkind = \"biomes\"\n"), hardness(""));
}

/// The rain of a wind along an axis is that of the formula, summed cell by cell in doubles:
/// windward of the cone it is wet, in its lee dry.
/// Holds C32.
#[test]
fn a_wind_brings_the_rain_of_the_formula() {
    let (width, height) = (64i32, 48i32);
    let heights = Surface::Cone.heights(&Window { origin: [-20, 9], width: 64, height: 48 });
    // The cone is 0 to 160 m high, and in a sea of 25 m.
    let (carry_m, cells, moisture, background) = (70.0, 16, 2.5, 0.4);
    for (from_deg, [east, south], shadow) in [
        (270.0, [-1, 0], 1.0),
        (90.0, [1, 0], 0.5),
        (0.0, [0, -1], 1.0),
        (360.0, [0, -1], 0.0),
        (180.0, [0, 1], 1.0),
    ] {
        let number = |name, v| (name, Value::Number(v));
        let settings = vec![
            ("map", word("rain")),
            ("from", word("weather")),
            number("from_deg", from_deg),
            number("carry_m", carry_m),
            // Rounded up to 16 cells of 10 m.
            number("fetch_m", 130.0),
            number("moisture", moisture),
            number("background", background),
            number("shadow", shadow),
            number("veer_deg", 0.0),
            number("sea_level_m", 25.0),
        ];
        let found = after(&layer::STAGE, settings, Surface::Cone, Layers::NONE, "rain");
        let at = |x: i32, y: i32| {
            let height = f64::from(
                heights[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize],
            ) / f64::from(CELL);
            height.max(2.5)
        };
        let lift = |x: i32, y: i32| {
            let rise = (at(x - east, y - south) - at(x + east, y + south)) / 2.0;
            if rise < 0.0 { rise * shadow } else { rise }
        };
        let mean = |of: &dyn Fn(i32, i32) -> f64| -> Vec<f64> {
            let inside = |x, y| (0..width).contains(&x) && (0..height).contains(&y);
            let weight = |k: i32| (-f64::from(k) * 10.0 / carry_m).exp();
            let all: f64 = (0..cells).map(weight).sum();
            let cell = |i: i32| {
                let far = (0..cells).map(|k| (k, i % width + k * east, i / width + k * south));
                far.map(|(k, x, y)| if inside(x, y) { weight(k) * of(x, y) } else { 0.0 })
                    .sum::<f64>()
                    / all
            };
            (0..width * height).map(cell).collect()
        };
        let formed = mean(&lift);
        let fallen = mean(&|x, y| formed[(y * width + x) as usize]);
        for (i, (found, fallen)) in found.iter().zip(&fallen).enumerate() {
            let (found, expected) =
                (f64::from(*found) / 65536.0, (background + moisture * fallen).clamp(0.0, 1.0));
            assert!(
                (found - expected).abs() < 1e-3,
                "from {from_deg}, cell {i}: {found} for {expected}"
            );
        }
        let rain = |far: i32| {
            f64::from(found[((height / 2 + south * far) * width + width / 2 + east * far) as usize])
                / 65536.0
        };
        assert!(rain(4) > background + 0.2, "windward {}", rain(4));
        if shadow == 1.0 {
            assert!(rain(-12) < background - 0.2, "lee {}", rain(-12));
        }
    }
}

/// A fetch that is longer than a window can be is refused with what is allowed.
#[test]
fn a_fetch_has_an_end() {
    let text = format!(
        "{HEAD}[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"weather\"\nfetch_m = 40000\n"
    );
    let made = Recipe::from_toml(&text, "", "made").and_then(Job::new);
    let said = made.unwrap_err().to_string();
    assert!(said.contains("fetch_m = 40000: allowed up to 32768 at 1 m a cell"), "{said}");
}

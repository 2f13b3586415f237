//! Generators combined with the ground: the arithmetic against wide integers, masks and shares, and
//! what recipes say of it.

use crate::common::{cpu, made, plan, prepare, run};
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::params::Value;
use thalweg::stage::combine::STAGE;
use thalweg::{Job, Recipe};

fn recipe(stages: &str) -> thalweg::Result<Recipe> {
    let text = format!(
        "schema = 2\nseed = 9\nwidth = 70\nheight = 50\nspacing_m = 10\n{stages}\n[output]\n\
         maps = [\"height\", \"change\"]"
    );
    Recipe::from_toml(&text, "", "combined")
}

fn heights(stages: &str) -> Vec<f64> {
    let text = format!("schema = 2\nseed = 9\nwidth = 70\nheight = 50\nspacing_m = 10\n{stages}");
    let recipe = Recipe::from_toml(&text, "", "combined").unwrap();
    made(&recipe, &mut cpu()).maps["height"].data.iter().map(|h| f64::from(*h)).collect()
}

/// Every way, share and mask of the pass's cases, in wide integers and doubles.
/// Holds D9.
#[test]
fn words_are_those_of_the_rule() {
    for case in (STAGE.cases)() {
        let given = |name: &str| {
            case.settings.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone()).unwrap()
        };
        let (Value::Word(how), Value::Word(mask)) = (given("combine"), given("mask")) else {
            panic!()
        };
        let (Value::Number(share), Value::Number(one)) = (given("opacity"), given("unit_m")) else {
            panic!()
        };
        let mut cpu = cpu();
        prepare(&STAGE, &case, &mut cpu);
        let plan = plan(&STAGE, &case);
        let layer = (mask != "none").then(|| cpu.read(plan.buffer("mask").keep.unwrap()).unwrap());
        cpu.begin(&plan).unwrap();
        let (made, ground) = (cpu.read("height").unwrap(), cpu.read("ground").unwrap());
        run(&mut cpu, &plan, 0..1);
        let most = 8000 * i64::from(CELL);
        let mut moved = 0;
        for (i, word) in cpu.read("height").unwrap().into_iter().enumerate() {
            let (g, m) = (i64::from(ground[i]), i64::from(made[i]));
            // The cases' cells are 10 m.
            let one = (one / 10.0 * f64::from(CELL)).round() as i64;
            let both = match how.as_str() {
                "add" => g + m,
                "subtract" => g - m,
                "multiply" => {
                    (i128::from(g) * i128::from(m.max(0).min(64 * one)) / i128::from(one)) as i64
                }
                "min" => g.min(m),
                "max" => g.max(m),
                "blend" => m,
                other => panic!("{other}"),
            };
            let both = both.clamp(-most, most);
            let share = share * layer.as_ref().map_or(1.0, |layer| f64::from(layer[i]) / 65536.0);
            let expected = g as f64 + share * (both - g) as f64;
            // The share has 16 bits, and a product is rounded a few times.
            let bound = 16.0
                + (both - g).abs() as f64 / 32768.0 * (layer.is_some() || share < 1.0) as u8 as f64;
            assert!(
                (f64::from(word) - expected).abs() <= bound,
                "{}: {g} {how} {m} is {word}, not {expected}",
                case.name
            );
            moved += (i64::from(word) != g) as usize;
        }
        assert!(moved > 50, "{}", case.name);
    }
}

/// The heights of a recipe with two generators are those of the two recipes with one.
#[test]
fn two_generators_are_the_sum_of_both() {
    let hills = "[[stage]]\nkind = \"hills\"\nspacing_cells = 20\nseed = 4\n";
    let noise = "[[stage]]\nkind = \"noise\"\nfeature_cells = 32\nrelief_m = 200\nseed = 5\n";
    let [a, b] = [hills, noise].map(heights);
    type Way = (&'static str, fn(f64, f64) -> f64);
    let ways: [Way; 5] = [
        ("add", |a, b| a + b),
        ("subtract", |a, b| a - b),
        ("min", f64::min),
        ("max", f64::max),
        ("multiply", |a, b| a * b / 100.0),
    ];
    for (how, f) in ways {
        let both = heights(&format!("{hills}{noise}combine = \"{how}\"\nunit_m = 100\n"));
        let worst = (0..a.len()).map(|i| (both[i] - f(a[i], b[i])).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-3, "{how}: off by {worst} m");
    }
}

/// A mask is a layer that a stage before has made: where it is 0 nothing changes, and it is there
/// afterwards.
#[test]
fn a_mask_says_where() {
    let flat = "[[stage]]\nkind = \"flat\"\nheight_m = 50\n";
    let layer = "[[stage]]\nkind = \"layer\"\nmap = \"rain\"\nfrom = \"noise\"\nfeature_cells = \
                 16\n\
                 start = 0.4\nend = 0.6\n";
    let high = "[[stage]]\nkind = \"flat\"\nheight_m = 450\ncombine = \"blend\"\nmask = \"rain\"\n";
    let text = format!(
        "schema = 2\nseed = 9\nwidth = 70\nheight = 50\nspacing_m = 10\n\
         {flat}{layer}{high}[output]\nmaps = [\"height\", \"rain\"]"
    );
    let land = made(&Recipe::from_toml(&text, "", "masked").unwrap(), &mut cpu());
    let mut counts = [0; 3];
    for (h, rain) in land.maps["height"].data.iter().zip(&land.maps["rain"].data) {
        assert!((h - (50.0 + 400.0 * rain)).abs() < 0.02, "{h} under {rain}");
        counts[if *rain == 0.0 {
            0
        } else if *rain == 1.0 {
            2
        } else {
            1
        }] += 1;
    }
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}

/// What generators make together is the land as it was: `change` is what comes after.
#[test]
fn the_ledger_opens_after_generators() {
    let two = "[[stage]]\nkind = \"flat\"\n[[stage]]\nkind = \"hills\"\nspacing_cells = 16\n\
               combine = \"add\"\n";
    let blur = "[[stage]]\nkind = \"blur\"\n";
    let land = made(&recipe(&format!("{two}{blur}")).unwrap(), &mut cpu());
    let before = heights(two);
    for (i, change) in land.maps["change"].data.iter().enumerate() {
        let expected = f64::from(land.maps["height"].data[i]) - before[i];
        assert!((f64::from(*change) - expected).abs() < 1e-3, "{change} {expected}");
    }
    // And a generator behind them counts.
    let after = made(
        &recipe(&format!(
            "{two}{blur}[[stage]]\nkind = \"flat\"\nheight_m = 7\ncombine = \"add\"\n"
        ))
        .unwrap(),
        &mut cpu(),
    );
    for (a, b) in after.maps["change"].data.iter().zip(&land.maps["change"].data) {
        assert!((a - b - 7.0).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn recipes_say_what_cannot_be_combined() {
    let error = |stages: &str| recipe(stages).and_then(Job::new).unwrap_err().to_string();
    let flat = "[[stage]]\nkind = \"flat\"\n";
    assert!(error(&format!("{flat}{flat}")).contains("it must be the first, or say with combine"));
    assert!(
        error(&format!("{flat}combine = \"add\"\n"))
            .contains("there are no heights yet to combine with")
    );
    let masked = error(&format!("{flat}{flat}combine = \"add\"\nmask = \"rain\"\n"));
    assert!(
        masked
            .contains("stage 2, flat: mask = \"rain\": no stage before this one makes that layer"),
        "{masked}"
    );
    assert!(
        error(&format!("{flat}mask = \"rain\"\n")).contains("allowed with combine, which is none")
    );
    assert!(
        error(&format!("{flat}{flat}combine = \"multiply\"\nunit_m = 90000\n"))
            .contains("allowed up to 8000 cells, 80000 m")
    );
}

/// Behind an input a generator combines with the heights that were given, also where they have a
/// margin.
#[test]
fn generators_combine_with_an_input() {
    use thalweg::map::Map;
    let hills = "[[stage]]\nkind = \"hills\"\nspacing_cells = 16\nrelief_m = 80\n";
    let alone = heights(hills);
    assert!(alone.iter().any(|height| *height > 20.0));
    let given: Vec<f32> = (0..70 * 50).map(|i| ((i * 7919) % 401) as f32 / 2.0 + 100.0).collect();
    let input = Map {
        width: 70,
        height: 50,
        spacing_m: 10.0,
        data: given.clone(),
        range_m: None,
        georef: None,
    };
    for (how, margin) in [("add", 0), ("subtract", 0), ("max", 0), ("add", 9)] {
        let text = format!(
            "schema = 2\nseed = 9\nmargin_cells = {margin}\n{hills}combine = {how:?}\n[output]\n\
             maps = [\"height\"]\n"
        );
        let recipe = Recipe::from_toml(&text, "", "combined").unwrap();
        let made =
            Job::with_heights(recipe, &input).unwrap().run_on(&mut cpu(), &mut |_| Ok(())).unwrap();
        let found = made.map("height").unwrap().data;
        for (i, (found, given)) in found.iter().zip(&given).enumerate() {
            let (found, given) = (f64::from(*found), f64::from(*given));
            let expected = match how {
                "add" => given + alone[i],
                "subtract" => given - alone[i],
                _ => given.max(alone[i]),
            };
            assert!(
                (found - expected).abs() < 1e-2,
                "{how}, margin {margin}, cell {i}: {found} for {expected}"
            );
        }
    }
}

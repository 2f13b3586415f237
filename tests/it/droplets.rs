//! The physics of droplets: mass, bounds, reach, direction.

use crate::common::{anywhere, cpu, plan, prepare, run};
use crate::stepper::{books, books_at_end, farthest, gone_from};
use thalweg::arith::CELL;
use thalweg::exec::Executor;
use thalweg::params::{Settings, Value};
use thalweg::plan::Fill;
use thalweg::site::{Layer, Layers, Site, Window};
use thalweg::stage::stepper::Gone;
use thalweg::stage::stepper::{TAIL, class, taps};
use thalweg::stage::{Case, Surface, droplets::STAGE};

fn case(settings: Vec<(&'static str, Value)>, width: u32, height: u32, surface: Surface) -> Case {
    Case {
        name: "made",
        settings,
        window: Window { origin: [-40, 17], width, height },
        surface,
        layers: Layers::NONE,
    }
}

/// A case on ground that is given, run to its end: the heights, and the books.
fn rained(
    settings: &[(&'static str, Value)],
    [width, height]: [u32; 2],
    ground: &[i32],
) -> Vec<i32> {
    let case = case(settings.to_vec(), width, height, Surface::Flat);
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    cpu.write("height", ground).unwrap();
    cpu.begin(&plan).unwrap();
    let start = books(&mut cpu, &case.window);
    run(&mut cpu, &plan, 0..plan.passes.len());
    assert_eq!(books_at_end(&mut cpu, &case.window), start);
    cpu.read("height").unwrap()
}

/// What the last step of a run may add: seven units, in cells. Heights in cells are exact as `f64`.
const CRUMBS: f64 = 7.0 / CELL as f64;

/// Lowest and highest, in cells.
fn range(heights: &[i32]) -> [f64; 2] {
    let [low, high] =
        [heights.iter().min(), heights.iter().max()].map(|h| *h.unwrap() as f64 / CELL as f64);
    [low, high]
}

/// Hills of 10 cells on 64 × 64 cells.
fn waves() -> Vec<i32> {
    let wave = |i: usize| {
        10.0 * (f64::from(i as u32 % 64) / 9.0).sin() * (f64::from(i as u32 / 64) / 8.0).cos()
    };
    (0..64 * 64).map(|i| (wave(i) * CELL as f64).floor() as i32).collect()
}

/// However long it rains, and with any brush, no border is dug out and no needle grows.
/// Holds C20 in part.
#[test]
fn much_rain_digs_no_ditch_and_builds_no_needle() {
    // Half of the waves: what long rain does to a border does not need a large map.
    let ground = &waves()[..64 * 32];
    let [low, high] = range(ground);
    let runs = [
        ("open", 1.0, 60.0),
        ("open", 3.0, 60.0),
        ("open", 10.0, 12.0),
        ("wall", 1.0, 12.0),
        ("torus", 32.0, 2.0),
        ("high", 3.0, 12.0),
    ];
    for (border, radius, rain) in runs {
        let settings = [
            ("rain", Value::Number(rain)),
            ("radius_cells", Value::Number(radius)),
            ("border", Value::Word(border.into())),
        ];
        let [lowest, highest] = range(&rained(&settings, [64, 32], ground));
        println!(
            "{border}, radius {radius}, rain {rain}: {low:.2} to {high:.2} became {lowest:.2} to \
             {highest:.2}"
        );
        assert!(
            lowest >= low - CRUMBS && highest <= high + CRUMBS,
            "{border}, radius {radius}: {lowest} to {highest}"
        );
    }
}

/// Long lives on steep ground: the sums of 32 bits hold.
#[test]
fn the_books_hold_over_the_longest_lives() {
    let number = |name, v| (name, Value::Number(v));
    let settings = [
        number("density", 1.0),
        ("lifetime", Value::Integer(8192)),
        number("inertia", 0.0),
        number("capacity", 16.0),
        number("slope_min", 0.0),
        number("erosion", 1.0),
        number("deposition", 0.0),
        number("evaporation", 0.0),
        number("gravity", 0.0),
        number("radius_cells", 1.0),
        number("max_step_fraction", 1.0),
        number("floor_m", 0.0),
        number("bedrock", 0.0),
        number("root_strength", 0.0),
        number("rain", 2.0),
    ];
    let noise = Surface::Noise.heights(&Window { origin: [-40, 17], width: 8, height: 21 });
    let [low, high] = range(&noise);
    let [lowest, highest] = range(&rained(&settings, [8, 21], &noise));
    assert!(lowest >= low - CRUMBS && highest <= high + CRUMBS);
}

/// A change of one height spreads at most as far as the stated reach, so parts of a map can be
/// eroded separately.
/// Holds C27.
#[test]
fn a_result_depends_on_its_reach_and_on_no_cell_beyond() {
    let mut nearly = false;
    for (lifetime, radius) in [(2, 1.0), (3, 2.0), (4, 3.0), (3, 5.5)] {
        let settings = vec![
            ("lifetime", Value::Integer(lifetime)),
            ("radius_cells", Value::Number(radius)),
            ("density", Value::Number(1.0)),
            ("rain", Value::Number(1.0)),
            ("capacity", Value::Number(16.0)),
            ("erosion", Value::Number(1.0)),
            ("max_step_fraction", Value::Number(1.0)),
        ];
        let case = case(settings, 121, 111, Surface::Hills);
        let given: Vec<(String, Value)> =
            case.settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
        let reach = (STAGE.reach)(
            &thalweg::params::Settings::new(STAGE.params, &given).unwrap(),
            &anywhere(),
        ) as usize;
        let plan = plan(&STAGE, &case);
        let heights = case.surface.heights(&case.window);
        let result = |heights: &[i32]| {
            let mut cpu = cpu();
            cpu.write("height", heights).unwrap();
            cpu.begin(&plan).unwrap();
            run(&mut cpu, &plan, 0..plan.passes.len());
            cpu.read("height").unwrap()
        };
        let reference = result(&heights);
        let mut most = 0;
        for (k, at) in
            [[60, 55], [61, 50], [57, 58], [66, 49], [59, 60], [63, 55]].into_iter().enumerate()
        {
            let mut other = heights.clone();
            other[at[1] * 121 + at[0]] += (CELL >> 3) << k;
            let far =
                farthest(&reference, &result(&other), 121, at).expect("the cell itself changes");
            assert!(
                far <= reach,
                "lifetime {lifetime}, radius {radius}: {far} cells away, reach {reach}"
            );
            most = most.max(far);
        }
        println!("lifetime {lifetime}, radius {radius}: reach {reach}, seen {most}");
        // In the steps after the rain, next to nothing is left to spread.
        let tail = TAIL as usize * (1 + taps(radius).max(1) as usize);
        nearly |= most + 3 + tail >= reach;
    }
    assert!(nearly, "the stated reach is far more than what can be seen");
}

/// A window of a larger map comes out the same, except within reach of its border, also where some
/// homes alone live the last life (M3).
/// Holds C27.
#[test]
fn a_window_is_a_part_of_the_world() {
    for rain in [1.0, 1.4] {
        is_a_part_of_the_world(rain);
    }
}

fn is_a_part_of_the_world(rain: f64) {
    let settings = vec![
        ("lifetime", Value::Integer(4)),
        ("rain", Value::Number(rain)),
        ("density", Value::Number(1.0)),
        ("radius_cells", Value::Number(2.0)),
    ];
    let given: Vec<(String, Value)> =
        settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let reach =
        (STAGE.reach)(&thalweg::params::Settings::new(STAGE.params, &given).unwrap(), &anywhere())
            as u32;
    let at = |x: i64, y: i64, side: u32| {
        let case = Case {
            name: "window",
            settings: settings.clone(),
            window: Window { origin: [x, y], width: side, height: side },
            surface: Surface::Hills,
            layers: Layers::NONE,
        };
        let plan = plan(&STAGE, &case);
        let mut cpu = cpu();
        prepare(&STAGE, &case, &mut cpu);
        cpu.begin(&plan).unwrap();
        run(&mut cpu, &plan, 0..plan.passes.len());
        cpu.read("height").unwrap()
    };
    let side = 2 * reach + 40;
    let large = at(-30, 11, side + 28);
    let small = at(-30 + 13, 11 + 9, side);
    let mut compared = 0;
    for y in reach..side - reach {
        for x in reach..side - reach {
            assert_eq!(
                small[(y * side + x) as usize],
                large[((y + 9) * (side + 28) + x + 13) as usize],
                "({x}, {y})"
            );
            compared += 1;
        }
    }
    assert!(compared > 1000);
    assert_ne!(small[0], large[9 * (side as usize + 28) + 13], "and near the border it may differ");
}

fn heights_after(
    settings: Vec<(&'static str, Value)>,
    surface: Surface,
    layers: Layers,
) -> (Vec<i32>, Vec<i32>) {
    let case = Case { layers, ..case(settings, 96, 96, surface) };
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    let before = cpu.read("height").unwrap();
    if layers.has(Layer::Hardness) {
        // A boulder: a hard disc in soft ground.
        let hard =
            |i: i32| if (i % 96 - 48).pow(2) + (i / 96 - 48).pow(2) < 144 { 65536 } else { 0 };
        cpu.write("hardness", &(0..96 * 96).map(hard).collect::<Vec<_>>()).unwrap();
    }
    if layers.has(Layer::Rain) {
        // It rains only in the west.
        cpu.write(
            "rain",
            &(0..96 * 96).map(|i| if i % 96 < 32 { 65536 } else { 0 }).collect::<Vec<_>>(),
        )
        .unwrap();
    }
    if layers.has(Layer::Vegetation) {
        cpu.write("vegetation", &vec![65536; 96 * 96]).unwrap();
    }
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    (before, cpu.read("height").unwrap())
}

/// Height that was eroded, in cells, where `here` says so.
fn eroded((before, after): &(Vec<i32>, Vec<i32>), here: impl Fn(i32, i32) -> bool) -> f64 {
    let cells = (0..96 * 96).filter(|i| here(*i as i32 % 96, *i as i32 / 96));
    cells.map(|i| (before[i] - after[i]).max(0) as f64 / CELL as f64).sum()
}

/// Hard ground keeps its height, while soft ground around it erodes.
/// Holds C28.
#[test]
fn hard_ground_stays_where_soft_ground_goes() {
    let settings = || {
        vec![
            ("rain", Value::Number(2.0)),
            ("lifetime", Value::Integer(32)),
            ("radius_cells", Value::Number(1.0)),
        ]
    };
    let boulder = |x: i32, y: i32| (x - 48).pow(2) + (y - 48).pow(2) < 100;
    let soft = heights_after(settings(), Surface::Cone, Layers::NONE);
    let hard = heights_after(settings(), Surface::Cone, Layers::of(&[Layer::Hardness]));
    assert!(eroded(&soft, boulder) > 20.0, "{}", eroded(&soft, boulder));
    assert_eq!(
        eroded(&hard, boulder),
        0.0,
        "with a brush of one cell nothing is taken from hardness 1"
    );
    assert!(eroded(&hard, |x, y| !boulder(x, y)) > 20.0);
}

/// Erosion decreases with `root_strength` where there is vegetation, and stops at 1.
/// Holds C30.
#[test]
fn roots_hold_the_soil() {
    let settings = |roots| {
        vec![
            ("rain", Value::Number(2.0)),
            ("lifetime", Value::Integer(32)),
            ("root_strength", Value::Number(roots)),
        ]
    };
    let everywhere = |_, _| true;
    let layers = Layers::of(&[Layer::Vegetation]);
    let bare = eroded(&heights_after(settings(0.0), Surface::Hills, layers), everywhere);
    let held = eroded(&heights_after(settings(0.9), Surface::Hills, layers), everywhere);
    assert!(held < 0.3 * bare && held > 0.0, "bare {bare}, held {held}");
    assert_eq!(eroded(&heights_after(settings(1.0), Surface::Hills, layers), everywhere), 0.0);
}

/// Only cells near the rain of the rain map erode.
/// Holds C32.
#[test]
fn it_rains_where_the_map_says() {
    let settings = vec![("rain", Value::Number(2.0)), ("lifetime", Value::Integer(8))];
    let made = heights_after(settings, Surface::Hills, Layers::of(&[Layer::Rain]));
    assert!(eroded(&made, |x, _| x < 32) > 1.0);
    // Eight steps, the brush and one cell more.
    assert_eq!(eroded(&made, |x, _| x > 32 + 8 + 4), 0.0);
}

/// Smoothing the change of height keeps its sum, makes it less rough, and does not make its largest
/// value larger.
/// Holds C21.
#[test]
fn the_change_is_smoothed_and_nothing_else() {
    let settings = |smooth| {
        vec![
            ("rain", Value::Number(2.0)),
            ("lifetime", Value::Integer(32)),
            ("smooth", Value::Integer(smooth)),
            ("border", Value::Word("wall".into())),
        ]
    };
    let change = |smooth| -> Vec<i64> {
        let (before, after) = heights_after(settings(smooth), Surface::Hills, Layers::NONE);
        before.iter().zip(after).map(|(b, a)| (a - b) as i64).collect()
    };
    let (rough, smooth) = (change(0), change(8));
    assert_eq!(rough.iter().sum::<i64>(), smooth.iter().sum::<i64>());
    let sharpest = |c: &[i64]| {
        c.chunks(96).flat_map(|row| row.windows(2)).map(|w| (w[0] - w[1]).abs()).max().unwrap()
    };
    let largest = |c: &[i64]| c.iter().map(|c| c.abs()).max().unwrap();
    assert!(sharpest(&smooth) < sharpest(&rough) / 2, "{} {}", sharpest(&smooth), sharpest(&rough));
    assert!(largest(&smooth) <= largest(&rough));
}

/// Droplets start everywhere and run downhill: in a valley, many times more of them pass along the
/// axis than on the slopes.
/// Holds C4.
#[test]
fn water_gathers_in_the_valley() {
    let settings = vec![("rain", Value::Number(1.0)), ("lifetime", Value::Integer(40))];
    let case = case(settings, 160, 81, Surface::Valley);
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    run(&mut cpu, &plan, 0..plan.passes.len());
    cpu.end(&plan);
    let flow = cpu.read("flow").unwrap();
    let row = |y: usize| flow[y * 160 + 40..y * 160 + 120].iter().map(|&f| f as f64).sum::<f64>();
    let axis: f64 = (38..43).map(row).sum::<f64>() / 5.0;
    let slope: f64 = (8..28).map(row).sum::<f64>() / 20.0;
    assert!(axis > 4.0 * slope, "axis {axis}, slope {slope}");
}

/// On level ground all directions are equally likely: as many steps go along the axes as along the
/// diagonals.
/// Holds C8.
#[test]
fn level_ground_sends_droplets_everywhere() {
    let settings = vec![
        ("rain", Value::Number(4.0)),
        ("density", Value::Number(1.0)),
        ("lifetime", Value::Integer(2)),
        ("inertia", Value::Number(1.0)),
    ];
    let case = case(settings, 128, 128, Surface::Flat);
    let plan = plan(&STAGE, &case);
    let mut cpu = cpu();
    prepare(&STAGE, &case, &mut cpu);
    cpu.begin(&plan).unwrap();
    let mut octants = [0f64; 8];
    let mut done = 0;
    for end in &plan.steps[..plan.steps.len() - 1] {
        run(&mut cpu, &plan, done..*end);
        done = *end;
        for tile in cpu.read("drop").unwrap().chunks(5 * 1024) {
            for (x, heading) in tile[..1024].iter().zip(&tile[2 * 1024..3 * 1024]) {
                let (ux, uy) = ((heading << 16) >> 16, heading >> 16);
                if *x != 0 && (ux, uy) != (0, 0) {
                    let angle = (uy as f64).atan2(ux as f64) / std::f64::consts::TAU * 8.0;
                    octants[angle.round().rem_euclid(8.0) as usize] += 1.0;
                }
            }
        }
    }
    let mean = octants.iter().sum::<f64>() / 8.0;
    assert!(mean > 2000.0, "{octants:?}");
    // Five standard deviations of a count.
    for o in octants {
        assert!((o - mean).abs() < 5.0 * mean.sqrt() + 0.02 * mean, "{octants:?}");
    }
}

/// A floor in the middle of the relief stops erosion below it, and higher ground still erodes.
/// Holds C20 in part.
#[test]
fn the_floor_holds() {
    let settings = |floor| {
        vec![
            ("rain", Value::Number(2.0)),
            ("lifetime", Value::Integer(32)),
            ("floor_m", Value::Number(floor)),
            ("radius_cells", Value::Number(2.0)),
        ]
    };
    // Metres of 10 a cell.
    let (before, after) = heights_after(settings(180.0), Surface::Hills, Layers::NONE);
    let (_, free) = heights_after(settings(-1e6), Surface::Hills, Layers::NONE);
    let floor = 18 * CELL;
    let dug = |after: &[i32]| {
        (0..after.len()).filter(|&i| before[i] >= floor && after[i] < floor).count()
    };
    let sunk = |after: &[i32]| {
        (0..after.len()).filter(|&i| before[i] < floor && after[i] < before[i]).count()
    };
    assert!(dug(&free) > 4 && sunk(&free) > 4, "{} {}", dug(&free), sunk(&free));
    assert_eq!((dug(&after), sunk(&after)), (0, 0));
    assert!(eroded(&(before.clone(), after), |_, _| true) > 20.0);
}

/// The flow of a V-valley is the rain that falls on it, to the droplet. Water that turns at once
/// comes straight down the sides, which have slope 1, and goes one cell a step along a floor that
/// is level but for a fall of 1/16384 to the east: it is counted once in each column. Where it
/// rains on the columns west of `wet` alone and each droplet lives long enough to see the border,
/// one more life of all droplets brings to each column east of there one droplet for each home on
/// which it rains.
/// Holds C4, C9, C32.
#[test]
fn the_flow_of_a_valley_is_the_rain_upstream() {
    const WIDE: usize = 129;
    const HIGH: usize = 41;
    // The floor lies between the rows 19 and 20, which are equally high.
    let above = |y: usize| (2 * y as i32 - 39).abs() / 2;
    let valley: Vec<i32> = (0..WIDE * HIGH)
        .map(|i| above(i / WIDE) * CELL - (i % WIDE) as i32 * CELL / 16384)
        .collect();
    for (block, wet) in [(1, 16), (1, 100), (2, 64), (4, 120)] {
        let density = 1.0 / (block * block) as f64;
        let flow = |lives: i64| {
            let settings = vec![
                ("density", Value::Number(density)),
                ("rain", Value::Number(lives as f64 * density)),
                ("lifetime", Value::Integer((WIDE + HIGH) as i64)),
                ("inertia", Value::Number(0.0)),
                ("erosion", Value::Number(0.0)),
            ];
            let window = Window { origin: [0, 0], width: WIDE as u32, height: HIGH as u32 };
            let layers = Layers::of(&[Layer::Rain]);
            let case = Case { window, layers, ..case(settings, 1, 1, Surface::Flat) };
            let plan = plan(&STAGE, &case);
            let mut cpu = cpu();
            cpu.write("height", &valley).unwrap();
            cpu.write(
                "rain",
                &(0..WIDE * HIGH)
                    .map(|i| if i % WIDE < wet { 65536 } else { 0 })
                    .collect::<Vec<_>>(),
            )
            .unwrap();
            cpu.begin(&plan).unwrap();
            run(&mut cpu, &plan, 0..plan.passes.len());
            cpu.end(&plan);
            assert_eq!(cpu.read("height").unwrap(), valley, "nothing is eroded");
            cpu.read("flow").unwrap()
        };
        let (less, more) = (flow(2), flow(3));
        for x in wet + 1..WIDE - 1 {
            let passed: i32 =
                [19, 20].map(|y| more[y * WIDE + x] - less[y * WIDE + x]).iter().sum();
            assert_eq!(
                passed as usize,
                wet / block * ((HIGH - 1) / block),
                "homes of {block} cells, rain to {wet}, column {x}"
            );
        }
    }
}

/// The boulders of the example erode little and the ground next to them erodes much. They stand
/// out, and water goes round them.
/// Holds C28.
#[test]
fn boulders_stand_out_and_water_goes_round_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/boulders.toml");
    let mut recipe = thalweg::recipe::Recipe::read(path).unwrap();
    let side = 128usize;
    (recipe.window.width, recipe.window.height) = (side as u32, side as u32);
    recipe.output.maps = ["height", "hardness", "flow", "erosion"].map(String::from).to_vec();
    let made = crate::common::made(&recipe, &mut cpu());
    let hardness = &made.maps["hardness"].data;
    let on: Vec<usize> = (0..side * side).filter(|&i| hardness[i] > 0.9).collect();
    let near =
        |i: usize, j: usize| (i % side).abs_diff(j % side) + (i / side).abs_diff(j / side) <= 6;
    let beside: Vec<usize> =
        (0..side * side).filter(|&i| hardness[i] < 0.1 && on.iter().any(|&j| near(i, j))).collect();
    let mean = |map: &str, cells: &[usize]| {
        cells.iter().map(|&i| f64::from(made.maps[map].data[i])).sum::<f64>() / cells.len() as f64
    };
    let [flow, wear, height] =
        ["flow", "erosion", "height"].map(|map| [mean(map, &on), mean(map, &beside)]);
    println!("on and beside boulders: flow {flow:?}, wear {wear:?} m, height {height:?} m");
    assert!(on.len() * 20 > side * side && beside.len() > on.len());
    assert!(flow[0] * 4.0 < flow[1], "flow on boulders {}, beside them {}", flow[0], flow[1]);
    assert!(wear[0] * 5.0 < wear[1], "wear on boulders {} m, beside them {} m", wear[0], wear[1]);
    assert!(
        height[0] > height[1] + 10.0,
        "boulders at {} m, beside them {} m",
        height[0],
        height[1]
    );
}

/// In a stream, the capacity grows with what has passed: the classes are at most half an octave
/// wide, and begin at `river_threshold` for each droplet that falls, of which a level's droplets
/// count twice as much as those of the next finer one.
#[test]
fn streams_have_classes_of_half_an_octave() {
    let window = Window::sized(31, 17);
    for (discharge, rain, level) in [
        (0.0, 1.0, 0),
        (1250.0, 0.5, 0),
        (1250.0, 2.0, 4),
        (3.0, 1.0, -2),
        (1e6, 1.0, 0),
        (0.001, 0.25, 3),
    ] {
        let given = [
            ("river_threshold", Value::Number(discharge)),
            ("rain", Value::Number(rain)),
            ("lifetime", Value::Integer(8)),
        ];
        let settings =
            Settings::new(STAGE.params, &given.map(|(name, value)| (name.to_string(), value)))
                .unwrap();
        let site =
            Site { layers: Layers::of(&[Layer::Passed]), level, ..Site::bare(window, 10.0, 1) };
        let plan = (STAGE.plan)(&settings, &site);
        let least = (discharge * rain / f64::from(level).exp2()).max(2.0);
        let passed: Vec<i32> = (0..window.cells() as u32)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 2 >> (i % 31)) as i32)
            .collect();
        let mut cpu = cpu();
        cpu.write("height", &vec![0; window.cells()]).unwrap();
        cpu.write("passed", &passed).unwrap();
        cpu.begin(&plan).unwrap();
        run(&mut cpu, &plan, 0..1);
        let water = plan.buffers.iter().find(|buffer| buffer.name == "water").unwrap();
        let Fill::Words(water) = &water.fill else { panic!() };
        for (n, grant) in passed.iter().zip(cpu.read("grant").unwrap()) {
            let class = class(grant);
            let times = f64::from(water[16 + class]) / 256.0;
            let wanted = if discharge > 0.0 { (f64::from(*n) / least).max(1.0) } else { 1.0 };
            assert!(
                times <= wanted * 1.004,
                "{n} passages are {wanted} times {least}, and count as {times}"
            );
            assert!(
                class == 15 || times * 1.51 > wanted,
                "{n} passages are {wanted} times {least}, and count as {times}"
            );
        }
    }
}

/// Where sixteen times as much has passed everywhere, everything is as with sixteen times the
/// capacity.
#[test]
fn a_stream_is_capacity() {
    let everything = |capacity: f64, discharge: f64| {
        let settings = vec![
            ("capacity", Value::Number(capacity)),
            ("river_threshold", Value::Number(discharge)),
            // Products of powers of two are exact.
            ("lifetime", Value::Integer(16)),
            ("evaporation", Value::Number(0.0)),
        ];
        let window = Window::sized(60, 44);
        let case = Case {
            name: "made",
            settings,
            window,
            surface: Surface::Hills,
            layers: Layers::of(&[Layer::Passed]),
        };
        let plan = plan(&STAGE, &case);
        let mut cpu = cpu();
        prepare(&STAGE, &case, &mut cpu);
        cpu.write("passed", &vec![1 << 20; window.cells()]).unwrap();
        cpu.begin(&plan).unwrap();
        run(&mut cpu, &plan, 0..plan.passes.len());
        [cpu.read("height").unwrap(), cpu.read("grant").unwrap()]
    };
    let stream = everything(0.5, 65536.0);
    assert_eq!(stream, everything(8.0, 0.0));
    assert_ne!(stream, everything(0.5, 0.0));
}

/// Behind walls nothing leaves the map. What a droplet cannot leave behind where the next one is
/// due, a load above the bound, is lost (M6).
#[test]
fn what_is_more_than_a_sum_can_hold_is_lost() {
    for (name, some) in [("wall", false), ("overloaded", true)] {
        let case = (STAGE.cases)().into_iter().find(|case| case.name == name).unwrap();
        let plan = plan(&STAGE, &case);
        let mut cpu = cpu();
        prepare(&STAGE, &case, &mut cpu);
        cpu.begin(&plan).unwrap();
        run(&mut cpu, &plan, 0..plan.passes.len());
        let Gone { over_border, lost } = gone_from(&mut cpu, &case.window);
        assert_eq!((over_border, lost > 0), (0, some), "{name}");
    }
}

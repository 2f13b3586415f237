//! The physics of rivers that cut: bounds, counts, known answers, lakes.

use crate::common::{config, cpu, everything, plan, prepare, run};
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thalweg::arith::{CELL, fold};
use thalweg::exec::Executor;
use thalweg::exec::cpu::{Cpu, Order};
use thalweg::params::Value;
use thalweg::plan::Plan;
use thalweg::site::{Layer, Layers, Window};
use thalweg::stage::{Case, Surface, incision::STAGE};
use thalweg::{Device, Job, Recipe};

/// By how much water falls from vertex to vertex: a hundredth of a cell.
const LEAST_FALL: i32 = CELL / 100;

fn case(settings: Vec<(&'static str, Value)>, width: u32, height: u32, surface: Surface) -> Case {
    Case {
        name: "made",
        settings,
        window: Window { origin: [-40, 17], width, height },
        surface,
        layers: Layers::NONE,
    }
}

fn number(name: &'static str, value: f64) -> (&'static str, Value) {
    (name, Value::Number(value))
}

fn whole(name: &'static str, value: i64) -> (&'static str, Value) {
    (name, Value::Integer(value))
}

fn border(word: &str) -> (&'static str, Value) {
    ("border", Value::Word(word.into()))
}

/// The maps of a case after each of its steps: heights, water levels, areas and ways.
struct Steps {
    plan: Plan,
    cpu: thalweg::exec::cpu::Cpu,
    at: usize,
}

impl Steps {
    /// A case before its first step, with these maps instead of its own.
    fn of(case: &Case, words: &[(&'static str, Vec<i32>)]) -> Self {
        let plan = plan(&STAGE, case);
        let mut cpu = cpu();
        prepare(&STAGE, case, &mut cpu);
        words.iter().for_each(|(name, words)| cpu.write(name, words).unwrap());
        cpu.begin(&plan).unwrap();
        Self { plan, cpu, at: 0 }
    }

    /// Runs up to the first pass of that name, which is not run.
    fn run_to(&mut self, entry: &str) -> bool {
        let left = &self.plan.passes[self.at..];
        let Some(more) = left.iter().position(|pass| pass.kernel.entry == entry) else {
            return false;
        };
        run(&mut self.cpu, &self.plan, self.at..self.at + more);
        self.at += more;
        true
    }

    fn run_one(&mut self) {
        run(&mut self.cpu, &self.plan, self.at..self.at + 1);
        self.at += 1;
    }

    fn read(&mut self, name: &str) -> Vec<i32> {
        self.cpu.read(name).unwrap()
    }

    /// All that is left.
    fn end(&mut self) {
        run(&mut self.cpu, &self.plan, self.at..self.plan.passes.len());
        self.at = self.plan.passes.len();
    }
}

/// The neighbours of a vertex: the four sides, then the diagonals, each next to the one that lies
/// opposite.
const AROUND: [[i32; 2]; 8] =
    [[0, -1], [0, 1], [-1, 0], [1, 0], [-1, -1], [1, 1], [1, -1], [-1, 1]];

/// Where a neighbour is, none beyond a border.
fn neighbour(at: usize, [dx, dy]: [i32; 2], [w, h]: [i32; 2], torus: bool) -> Option<usize> {
    let (x, y) = (at as i32 % w + dx, at as i32 / w + dy);
    let inside = (0..w).contains(&x) && (0..h).contains(&y);
    (inside || torus).then(|| (fold(y, h, torus) * w + fold(x, w, torus)) as usize)
}

proptest! {
    #![proptest_config(config(200))]

    /// With any setting, on any ground, and without uplift, each step leaves a vertex between the
    /// lowest and the highest of its neighbourhood and its water, and keeps it above no water
    /// level. Areas are those of the vertices that drain here, to the unit.
    #[test]
    fn no_setting_leaves_the_bounds(
        erodibility in prop_oneof![Just(0.0), Just(100.0), 0.0..=100.0, 0.0..=0.2],
        exponent in 0.35..=0.6,
        repose_deg in prop_oneof![Just(0.0), Just(89.0), 0.0..=89.0],
        creep in prop_oneof![Just(0.0), Just(0.5), 0.0..=0.5],
        silt in prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0],
        lake_depth_m in prop_oneof![Just(0.0), Just(1e6), 0.0..=300.0],
        (slope_min, last_step) in (
            prop_oneof![Just(0.0001), Just(1.0), 0.0001..=0.1],
            prop_oneof![Just(1.0), 0.02..=1.0],
        ),
        (strata_m, strata_hardness) in (prop_oneof![Just(0.0), Just(1e6), 0.0..=1.0, 1.0..=200.0],
            prop_oneof![Just(1.0), 0.0..=1.0]),
        sea_level_m in prop_oneof![Just(-1e6), -300.0..=300.0],
        floor_m in prop_oneof![Just(-1e6), -300.0..=300.0],
        edge in 0..3usize, layers in 0..8u32, surface in 0..Surface::ALL.len(),
        // Long rows and long columns, of several vector registers.
        (width, height) in prop_oneof![(1u32..70, 1u32..40), (1u32..40, 1u32..70)],
    ) {
        let edge = ["open", "torus", "wall"][edge];
        let settings = vec![
            number("erodibility", erodibility), number("area_exponent", exponent),
            number("repose_deg", repose_deg),
            number("creep", creep), number("silt", silt), number("lake_depth_m", lake_depth_m),
            number("slope_min", slope_min), number("last_step", last_step),
            number("strata_m", strata_m), number("strata_hardness", strata_hardness),
            number("sea_level_m", sea_level_m), number("floor_m", floor_m), border(edge),
            whole("steps", 8), whole("fall", 6),
        ];
        let named = [(Layer::Rain, 1), (Layer::Hardness, 2), (Layer::Vegetation, 4)];
        let layers = named.iter().fold(Layers::NONE, |all,
            (layer, bit)| all.with(*layer, layers & bit != 0));
        let case = Case { layers, ..case(settings, width, height, Surface::ALL[surface]) };
        let size = [width as i32, height as i32];
        let torus = edge == "torus";
        let mut steps = Steps::of(&case, &[]);
        let mut silted = 0i64;
        while steps.run_to("route") {
            let [before, water, area] = ["height", "surface", "area"].map(|name| steps.read(name));
            steps.run_one();
            let way = steps.read("way");
            steps.run_one();
            let drained = steps.read("area");
            prop_assert!(steps.run_to("cut"));
            steps.run_one();
            let [after, level] = ["height", "surface"].map(|name| steps.read(name));
            let sum = |words: &[i32]| words.iter().map(|h| i64::from(*h)).sum::<i64>();
            let counted = sum(&steps.read("silted"));
            // Silt alone lays ground down: the sum of heights does not rise by more, but for creep,
            // which is rounded down.
            if creep == 0.0 {
                prop_assert!(sum(&after) - sum(&before) <= counted - silted);
            }
            silted = counted;
            for at in 0..before.len() {
                let around = AROUND.map(|d| neighbour(at, d, size, torus));
                let ground = || around.iter().flatten().map(|q| before[*q]).chain([before[at]]);
                let (low, high) = (ground().min().unwrap(), ground().max().unwrap().max(water[at]));
                prop_assert!((low..=high).contains(&after[at]), "{at}: {} not in {low}..={high}",
                    after[at]);
                prop_assert!(level[at] >= after[at]);
                let own = if case.layers.has(Layer::Rain) { None } else { Some(64i64) };
                let is_way_back = |q: usize, n: usize| way[n] & 15 == (q as i32 ^ 1);
                let comes = (0..8).filter(|q| around[*q].is_some_and(|n| is_way_back(*q, n)));
                let sum: i64 = comes.map(|q| i64::from(area[around[q].unwrap()])).sum();
                let rained = i64::from(drained[at]) - sum;
                prop_assert!(own.map_or((0..=64).contains(&rained), |own| rained == own), "{at}: \
                    {rained} of its own");
            }
        }
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// Whether a portion has all rows or one does not change a word. All rows together share
    /// their vertices out among runs that go across the ends of rows; a single row has its own.
    #[test]
    fn portions_of_a_row_give_the_same_words(
        (width, height) in prop_oneof![(1u32..136, 1u32..30), (1u32..30, 1u32..136)],
        edge in 0..3usize, with_layers: bool, surface in 0..Surface::ALL.len(),
    ) {
        let settings = vec![
            border(["open", "torus", "wall"][edge]), number("silt", 1.0), number("uplift_m", 1.0),
            whole("steps", 4), whole("fall", 3),
        ];
        let layers = Layers::of(&[Layer::Rain, Layer::Hardness, Layer::Vegetation, Layer::Uplift]);
        let case = Case {
            layers: if with_layers { layers } else { Layers::NONE },
            ..case(settings, width, height, Surface::ALL[surface])
        };
        let [whole, single] = [None, Some(1)].map(|portion| {
            let mut cpu = Cpu::new(1, Order { portion, ..Order::default() }).unwrap();
            everything(&STAGE, &case, &mut cpu)
        });
        prop_assert!(whole == single);
    }
}

/// Without rivers, slides, creep and uplift only silt moves the ground, and it is counted to the
/// unit; with uplift the land rises by as much as the settings say.
#[test]
fn silt_and_uplift_are_counted_to_the_unit() {
    for (uplift_m, edge, width, height) in [
        (0.0, "open", 50, 40),
        (7.0, "open", 50, 40),
        (7.0, "wall", 50, 40),
        (7.0, "wall", 20, 140),
    ] {
        let settings = vec![
            number("erodibility", 0.0),
            number("repose_deg", 89.0),
            number("uplift_m", uplift_m),
            border(edge),
            whole("steps", 9),
            whole("fall", 3),
        ];
        let case = case(settings, width, height, Surface::Hills);
        let sum = |words: &[i32]| words.iter().map(|h| i64::from(*h)).sum::<i64>();
        let mut steps = Steps::of(&case, &[]);
        let before = sum(&steps.read("height"));
        steps.end();
        let (after, silted) = (sum(&steps.read("height")), sum(&steps.read("silted")));
        // An open border keeps its height. A cell of the cases is 10 m.
        let rim = if edge == "open" { 2 } else { 0 };
        let rising = i64::from((width - rim) * (height - rim));
        let risen = 9 * rising * (uplift_m / 10.0 * f64::from(CELL)).round() as i64;
        assert!(silted > 0);
        assert_eq!(after - before, silted + risen);
    }
}

/// What rose is in the manifest to the unit, with a layer and with steps that get shorter: where
/// nothing is cut and nothing creeps, it is all that the land has more than before. Without a layer
/// a vertex rises by 16 whole steps and 2 of each of eight lengths, L^⅛ to L.
#[test]
fn what_rose_is_booked() {
    for last_step in [1.0f64, 0.3, 0.02] {
        for layer in ["", "[[stage]]\nkind = \"layer\"\nmap = \"uplift\"\nfrom = \"noise\"\n"] {
            let text = format!(
                "schema = 2\nwidth = 61\nheight = 47\nspacing_m = 10\n[[stage]]\n\
                 kind = \"diamond_square\"\nrelief_m = 90\n{layer}[[stage]]\n\
                 kind = \"incision\"\nerodibility = 0\nsilt = 0\nrepose_deg = 89\n\
                 uplift_m = 3\nsteps = 32\nlast_step = {last_step}\n"
            );
            let job = Job::new(text.parse::<Recipe>().unwrap()).unwrap().device(Device::Cpu);
            let made = job.run(&mut |_| Ok(())).unwrap();
            let books = made.stages.last().unwrap();
            assert_eq!(books.exported_m3, Some(0.0), "last_step = {last_step}, {layer}");
            // The border does not rise.
            let cells = books.risen_m3.unwrap() / 1000.0 / f64::from(59 * 45);
            let shorter: f64 = (1..=8).map(|k| last_step.powf(f64::from(k) / 8.0)).sum();
            let most = 0.3 * (16.0 + 2.0 * shorter);
            // A step is a whole number of units, and its length a whole number of 65536ths.
            let least = most - 32.0 * 2.0 / f64::from(CELL);
            assert!(cells <= most, "{cells} cells of {most}");
            assert!(cells >= least || !layer.is_empty(), "{cells} cells of {most}");
        }
    }
}

/// On a strip that rises evenly and drains to the sea at its west end, the ground comes to rest
/// where each drop gives what rises: drop · f / (1 + f) = U with f = K · √a. So drop = U · (1 + f)
/// / f, the discrete stream power law of slope and area. If the last steps are L long, U and f are
/// L times what they were, so the drop is U · (1 + L · f) / f.
#[test]
fn a_strip_comes_to_the_slopes_of_the_law() {
    [1.0, 0.2].into_iter().for_each(comes_to_the_slopes_of_the_law);
}

fn comes_to_the_slopes_of_the_law(last_step: f64) {
    let (n, rate, uplift_m) = (24usize, 0.5, 1.0);
    let settings = vec![
        number("erodibility", rate),
        number("last_step", last_step),
        number("uplift_m", uplift_m),
        number("repose_deg", 89.0),
        number("sea_level_m", 100.0),
        number("silt", 0.0),
        border("wall"),
        whole("steps", 4000),
    ];
    let case =
        Case { layers: Layers::of(&[Layer::Uplift]), ..case(settings, n as u32, 1, Surface::Flat) };
    // The sea, which does not rise, just below its level, and land that falls towards it.
    let one = f64::from(CELL);
    let heights = (0..n as i32).map(|x| 10 * CELL - 1 + x * CELL / 4).collect();
    let uplift = (0..n).map(|x| if x == 0 { 0 } else { 65536 }).collect();
    let mut steps = Steps::of(&case, &[("height", heights), ("uplift", uplift)]);
    steps.end();
    let heights = steps.read("height");
    for x in 2..n {
        let f = rate * ((n - x) as f64).sqrt();
        let expected = uplift_m / 10.0 * (1.0 + last_step * f) / f;
        let drop = f64::from(heights[x] - heights[x - 1]) / one;
        // √ is linear between powers of two: 1.5 % at most. Shares have 16 bits.
        assert!((drop / expected - 1.0).abs() < 0.016, "{x}: {drop} against {expected}");
    }
}

/// The same on level strata: every vertex of a stratum is as hard as the others, the hardest leave
/// f the part 1 − `strata_hardness`, and the softest all of it.
#[test]
fn strata_are_as_hard_as_they_say() {
    let (n, rate, uplift_m, hardness) = (128usize, 0.5, 1.0, 0.75);
    let settings = vec![
        number("erodibility", rate),
        number("uplift_m", uplift_m),
        number("repose_deg", 89.0),
        number("sea_level_m", 100.0),
        number("silt", 0.0),
        number("strata_m", 20.0),
        number("strata_hardness", hardness),
        border("wall"),
        whole("steps", 20000),
    ];
    let case =
        Case { layers: Layers::of(&[Layer::Uplift]), ..case(settings, n as u32, 1, Surface::Flat) };
    let heights = (0..n as i32).map(|x| 10 * CELL - 1 + x * CELL / 4).collect();
    let uplift = (0..n).map(|x| if x == 0 { 0 } else { 65536 }).collect();
    let mut steps = Steps::of(&case, &[("height", heights), ("uplift", uplift)]);
    steps.end();
    let heights = steps.read("height");
    // By stratum, what is left of f of the law: drop · f / (1 + f) = U.
    let mut left: std::collections::BTreeMap<i32, Vec<f64>> = Default::default();
    for x in 2..n {
        let drop = f64::from(heights[x] - heights[x - 1]) / f64::from(CELL) * 10.0 / uplift_m;
        let part = 1.0 / (drop - 1.0) / (rate * ((n - x) as f64).sqrt());
        left.entry(heights[x].div_euclid(2 * CELL)).or_default().push(part);
    }
    assert!(left.len() > 8, "{left:?}");
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.04;
    for (number, parts) in &left {
        assert!(parts.iter().all(|part| near(*part, parts[0])), "{number}: {parts:?}");
        assert!(parts.iter().all(|part| (0.24..1.04).contains(part)), "{number}: {parts:?}");
    }
    let has = |part: f64| left.values().any(|parts| near(parts[0], part));
    assert!(has(1.0) && has(1.0 - hardness), "{left:?}");
}

/// Strata are those of `strata_seed`: neither the recipe's seed, nor that of a level, nor the
/// stage's place in the recipe changes them. Without rivers the ground falls as they stand, by no
/// die.
#[test]
fn strata_belong_to_their_own_seed() {
    let height = |seed: u32, before: &str, more: &str| {
        let text = format!(
            "schema = 2\nseed = {seed}\nwidth = 96\nheight = 80\nspacing_m = 10\n[[stage]]\n\
             kind = \"diamond_square\"\nseed = 5\nrelief_m = 2000\n{before}[[stage]]\n\
             kind = \"incision\"\nsteps = 60\nerodibility = 0\nsilt = 0\nstrata_m = 40\n{more}\n"
        );
        let recipe: thalweg::Recipe = text.parse().unwrap();
        let job = thalweg::Job::new(recipe).unwrap().device(thalweg::Device::Cpu);
        job.run(&mut |_| Ok(())).unwrap().digest("height").unwrap().to_string()
    };
    let usual = height(1, "", "");
    assert_eq!(usual, height(2, "", ""));
    let flat = "[[stage]]\nkind = \"flat\"\ncombine = \"add\"\n";
    assert_eq!(usual, height(1, flat, ""));
    assert_ne!(usual, height(1, "", "strata_seed = 1"));
    assert_ne!(usual, height(1, "", "strata_hardness = 0"));
}

proptest! {
    #![proptest_config(config(100))]

    /// Land that rises evenly carries its lakes with it, whatever it rises in a step: their depth
    /// changes by no more than the least fall in a step.
    #[test]
    fn a_lake_rises_with_its_land(
        // More, and the ground at the border, which does not rise, would slide.
        uplift_m in prop_oneof![Just(0.0), 0.0..=0.1, 0.0..=9.0],
        slope_min in prop_oneof![Just(0.0001), 0.0001..=0.1],
        last_step in prop_oneof![Just(1.0), 0.02..=1.0],
        count in 1i32..=60, deep in 1..100i32, x in 4..24i32, y in 4..24i32,
    ) {
        let side = 30i32;
        let settings = vec![
            number("erodibility", 0.0),
            number("silt", 0.0),
            number("repose_deg", 89.0),
            number("uplift_m", uplift_m),
            number("slope_min", slope_min),
            number("last_step", last_step),
            whole("steps", count.into()),
        ];
        let case = case(settings, side as u32, side as u32, Surface::Flat);
        // A basin in a plain.
        let is_basin = |at: i32| (at % side - x).abs() < 3 && (at / side - y).abs() < 3;
        let height = |at: i32| if is_basin(at) { 0 } else { deep * CELL / 20 };
        let heights = (0..side * side).map(height).collect();
        let mut land = Steps::of(&case, &[("height", heights)]);
        assert!(land.run_to("route"));
        let mut depth = || -> i32 {
            let [height, water] =
                ["height", "surface"].map(|name| land.read(name)[(y * side + x) as usize]);
            land.end();
            water - height
        };
        let (before, after) = (depth(), depth());
        prop_assert!(before >= deep * CELL / 20);
        let least = (slope_min * f64::from(CELL)) as i32;
        prop_assert!((after - before).abs() <= count * least, "{before}, then {after}");
    }
}

/// Fresh ground is at most `roughness_cells` higher or lower than the coarser level says, less in
/// proportion where its lowest neighbour is less than a quarter of a cell lower, but for a
/// sixteenth, and not at all at the border and under deep water.
#[test]
fn ground_is_as_rough_as_it_is_steep() {
    let size = [51, 40];
    let edges = ["open", "torus", "wall"];
    for (edge, roughness) in edges.into_iter().flat_map(|e| [0.01, 1.5, 16.0].map(|r| (e, r))) {
        for surface in Surface::ALL {
            let settings = vec![number("roughness_cells", roughness), border(edge)];
            let layers = Layers::of(&[Layer::Water, Layer::WaterOn]);
            let case = Case { layers, ..case(settings, 51, 40, surface) };
            let mut steps = Steps::of(&case, &[]);
            let [before, water] = ["height", "surface"].map(|name| steps.read(name));
            steps.run_one();
            let after = steps.read("height");
            let mut most = 0.0f64;
            for (at, h) in before.iter().copied().enumerate() {
                let around = AROUND.map(|d| neighbour(at, d, size, edge == "torus"));
                let low = around.iter().flatten().map(|q| before[*q]).min().unwrap().min(h);
                let [drop, depth] =
                    [i64::from(h) - i64::from(low), i64::from(water[at]) - i64::from(h)]
                        .map(|units| units as f64 / f64::from(CELL));
                let is_kept = edge == "open" && around.contains(&None);
                let steep = (drop / 0.25).clamp(1.0 / 16.0, 1.0);
                let dry = if is_kept { 0.0 } else { (1.0 - depth / 0.25).clamp(0.0, 1.0) };
                let allowed = roughness * steep * dry;
                let change = f64::from(after[at] - h).abs() / f64::from(CELL);
                assert!(change <= allowed, "{edge}, {at}: {change} cells of {allowed}");
                if allowed > 0.0 {
                    most = most.max(change / allowed);
                }
            }
            // Of a thousand dice the largest come close to the bound, but where all is under water.
            assert!(most > 0.95 || water.iter().zip(&before).all(|(w, h)| w - h >= CELL / 4));
        }
    }
}

/// Water falls to the level at which it runs off: never below that of a priority flood, and above
/// it by at most ε for each vertex of the way out.
#[test]
fn water_falls_to_its_level() {
    let (w, h) = (70i32, 50i32);
    let case = case(
        vec![whole("steps", 1), whole("fall", 4000), number("lake_depth_m", 1e6)],
        w as u32,
        h as u32,
        Surface::Noise,
    );
    // No lake is deeper than 8191 cells.
    let heights = case.surface.heights(&case.window).into_iter().map(|h| h / 4).collect();
    let mut steps = Steps::of(&case, &[("height", heights)]);
    assert!(steps.run_to("route"));
    let (ground, water) = (steps.read("height"), steps.read("surface"));
    // R. Barnes, C. Lehman, D. Mulla, Priority-flood, 2014; with the number of vertices of the way.
    let border =
        |at: usize| [0, w - 1].contains(&(at as i32 % w)) || [0, h - 1].contains(&(at as i32 / w));
    let mut level = vec![i32::MAX; ground.len()];
    let mut queue: BinaryHeap<Reverse<(i32, usize)>> =
        (0..ground.len()).filter(|at| border(*at)).map(|at| Reverse((ground[at], at))).collect();
    queue.iter().for_each(|Reverse((height, at))| level[*at] = *height);
    while let Some(Reverse((height, at))) = queue.pop() {
        for q in AROUND.iter().filter_map(|d| neighbour(at, *d, [w, h], false)) {
            if level[q] == i32::MAX {
                level[q] = ground[q].max(height);
                queue.push(Reverse((level[q], q)));
            }
        }
    }
    assert!((0..ground.len()).any(|at| level[at] > ground[at] + CELL), "no lake");
    for at in 0..ground.len() {
        let over = water[at] - level[at];
        assert!(
            (0..=LEAST_FALL * (w * h)).contains(&over),
            "{at}: {over} units above {}",
            level[at]
        );
        // Exactly: the least of the levels round it and ε, or its ground.
        let low = AROUND
            .iter()
            .filter_map(|d| neighbour(at, *d, [w, h], false))
            .map(|q| water[q])
            .min()
            .unwrap();
        assert_eq!(
            water[at],
            if border(at) { ground[at] } else { ground[at].max(low + LEAST_FALL) }
        );
    }
}

/// What cannot be: uplift beyond the range, by name.
#[test]
fn uplift_beyond_the_range_is_refused() {
    let recipe = |more: &str| {
        let text = format!(
            "schema = 2\nwidth = 64\nheight = 64\nspacing_m = 1\n[[stage]]\nkind = \"flat\"\n\
             [[stage]]\nkind = \"incision\"\n{more}"
        );
        thalweg::recipe::Recipe::from_toml(&text, "", "x").and_then(thalweg::Job::new)
    };
    let message = recipe("steps = 1000\nuplift_m = 9").unwrap_err().to_string();
    for part in [
        "stage 2, incision",
        "uplift_m = 9 in 1000 steps at 1 m a cell is 9000 m",
        "8000 cells, 8000 m",
    ] {
        assert!(message.contains(part), "{message}: {part}");
    }
    assert!(recipe("steps = 1000\nuplift_m = 8").is_ok());
}

/// A land of one cell, one row, all sea, and one on which nothing is cut.
#[test]
fn odd_lands_are_worn_too() {
    for (width, height, more) in [
        (1, 1, vec![]),
        (1, 40, vec![number("uplift_m", 1.0)]),
        (30, 1, vec![border("torus")]),
        (2, 2, vec![border("torus"), number("creep", 0.5)]),
        (2, 140, vec![border("torus")]),
        (140, 3, vec![]),
        (20, 20, vec![number("sea_level_m", 1e5)]),
    ] {
        let case = case([vec![whole("steps", 5)], more].concat(), width, height, Surface::Hills);
        let before = case.surface.heights(&case.window);
        let mut steps = Steps::of(&case, &[]);
        steps.end();
        let after = steps.read("height");
        assert_eq!(after.len(), before.len());
        if height == 20 || width * height == 1 {
            assert_eq!(after, before, "{width} x {height}");
        }
    }
}

//! The three recipes that are meant for games: people can walk on them, and the river, the lake,
//! the village and the border are there, for any seed.

use serde_json::Value;
use thalweg::recipe::EXAMPLES;
use thalweg::{Job, Recipe};

/// The land of a seed on a level, and where its strokes are.
struct Land {
    width: usize,
    height_m: Vec<f32>,
    slope: Vec<f32>,
    depth_m: Vec<f32>,
    river: Vec<f32>,
    cell_m: f64,
    sea_level_m: Option<f64>,
    strokes: Vec<Value>,
}

impl Land {
    fn of(name: &str, seed: u64, level: i32) -> Self {
        let (_, text) = EXAMPLES.iter().find(|(known, _)| *known == name).unwrap();
        let mut recipe = Recipe::from_toml(text, std::path::Path::new("."), name).unwrap();
        recipe.seed = seed;
        recipe.scatter.clear();
        recipe.output.maps =
            ["height", "slope", "water_depth", "river_width"].map(String::from).to_vec();
        let described = recipe.describe();
        let strokes = described["stage"].as_array().unwrap().iter();
        let strokes =
            strokes.flat_map(|stage| stage["stroke"].as_array().cloned().unwrap_or_default());
        let sea_level_m = recipe.output.sea_level_m;
        let job = Job::new(recipe.clone()).unwrap().until_level(level).unwrap();
        let outcome = job.run(&mut |_| Ok(())).unwrap();
        let map = |name: &str| outcome.map(name).unwrap().data;
        Self {
            width: outcome.window.width as usize,
            height_m: map("height"),
            slope: map("slope"),
            depth_m: map("water_depth"),
            river: map("river_width"),
            cell_m: outcome.scale.spacing_m,
            sea_level_m,
            strokes: strokes.collect(),
        }
    }

    fn stroke(&self, tool: &str) -> impl Iterator<Item = &Value> {
        self.strokes.iter().filter(move |stroke| stroke["tool"] == tool)
    }

    /// The cell of a place in metres, if the land has it.
    fn cell(&self, [x, y]: [f64; 2]) -> Option<usize> {
        let [x, y] = [x, y].map(|metres| (metres / self.cell_m).round());
        let rows = self.height_m.len() / self.width;
        let inside = (0.0..self.width as f64).contains(&x) && (0.0..rows as f64).contains(&y);
        inside.then(|| y as usize * self.width + x as usize)
    }

    /// The cells round a place, within metres.
    fn around(&self, [x, y]: [f64; 2], metres: f64) -> Vec<usize> {
        let rows = self.height_m.len() / self.width;
        let near = |i: &usize| {
            let at = [i % self.width, i / self.width].map(|n| n as f64 * self.cell_m);
            (at[0] - x).hypot(at[1] - y) <= metres
        };
        (0..rows * self.width).filter(near).collect()
    }
}

/// The points of a stroke, in metres.
fn points(stroke: &Value) -> Vec<[f64; 2]> {
    let all = stroke["at_m"].as_array().unwrap().iter();
    all.map(|point| [0, 1].map(|axis| point[axis].as_f64().unwrap())).collect()
}

fn share(cells: &[usize], holds: impl Fn(usize) -> bool) -> f64 {
    cells.iter().filter(|i| holds(**i)).count() as f64 / cells.len() as f64
}

/// What the recipes promise of a seed.
fn check(name: &str, seed: u64, level: i32) {
    let land = Land::of(name, seed, level);
    let about = format!("{name}, seed {seed}");
    let dry: Vec<usize> = (0..land.height_m.len())
        .filter(|i| {
            let above = land.sea_level_m.is_none_or(|sea| f64::from(land.height_m[*i]) > sea);
            above && land.depth_m[*i] == 0.0
        })
        .collect();
    let walkable = share(&dry, |i| land.slope[i] < 35.0);
    assert!(walkable >= 0.85, "{about}: {walkable} can be walked on");
    // The lake stands at its level round the middle of its outline.
    let lake = land.stroke("lake").next().unwrap();
    let outline = points(lake);
    let count = outline.len() as f64;
    let middle = [0, 1].map(|axis| outline.iter().map(|p| p[axis]).sum::<f64>() / count);
    let level_m = lake["level_m"].as_f64().unwrap();
    let reach = match &outline[..] {
        [_] => lake["radius_m"].as_f64().unwrap(),
        all => all
            .iter()
            .map(|at| (at[0] - middle[0]).hypot(at[1] - middle[1]))
            .fold(f64::INFINITY, f64::min),
    };
    let inside = land.around(middle, reach / 2.0);
    let stands = |i: usize| {
        let level = f64::from(land.height_m[i] + land.depth_m[i]);
        land.depth_m[i] > 1.0 && (level - level_m).abs() < 0.01
    };
    assert_eq!(share(&inside, stands), 1.0, "{about}: the lake");
    // Rivers run along their lines, whose bends are rounded, so their middles are where they were
    // drawn.
    for river in land.stroke("river") {
        let all = points(river);
        let middles = all.windows(2).map(|p| [0, 1].map(|axis| (p[0][axis] + p[1][axis]) / 2.0));
        for at in middles.filter(|at| land.cell(*at).is_some()) {
            let near = land.around(at, 2.5 * land.cell_m);
            let runs = near.iter().any(|i| land.river[*i] > 0.0 || land.depth_m[*i] > 0.0);
            assert!(runs, "{about}: no river by {at:?}");
        }
    }
    // The place for a village is level and dry.
    let village = land.stroke("ramp").next().unwrap();
    let ends = points(village);
    let middle = [0, 1].map(|axis| (ends[0][axis] + ends[1][axis]) / 2.0);
    let [radius, falloff] = ["radius_m", "falloff"].map(|key| village[key].as_f64().unwrap());
    let ground = land.around(middle, radius * (1.0 - falloff) - land.cell_m);
    assert!(ground.len() > 20, "{about}: {} cells", ground.len());
    let level = share(&ground, |i| land.slope[i] < 5.0 && land.depth_m[i] == 0.0);
    assert!(level > 0.97, "{about}: {level} of the village is level and dry");
    // The map ends in the sea, or in mountains higher than its middle.
    let rows = land.height_m.len() / land.width;
    let border: Vec<usize> = (0..land.height_m.len())
        .filter(|i| {
            [0, land.width - 1].contains(&(i % land.width))
                || [0, rows - 1].contains(&(i / land.width))
        })
        .collect();
    let mean = |cells: &[usize]| {
        cells.iter().map(|i| f64::from(land.height_m[*i])).sum::<f64>() / cells.len() as f64
    };
    match land.sea_level_m {
        Some(sea) => {
            assert_eq!(share(&border, |i| f64::from(land.height_m[i]) < sea), 1.0, "{about}");
        }
        None => {
            let extent = land.width as f64 * land.cell_m;
            let inner = land.around([extent / 2.0; 2], extent / 4.0);
            let higher = mean(&border) - mean(&inner);
            assert!(higher > extent / 100.0, "{about}: the border is {higher} m higher");
        }
    }
}

/// Ten seeds of each, on levels that are made within a second.
#[test]
fn game_maps_have_what_games_need() {
    for (name, level) in [("game-small", 1), ("game-medium", 2), ("game-large", 3)] {
        for seed in 1..=10 {
            check(name, seed, level);
        }
    }
}

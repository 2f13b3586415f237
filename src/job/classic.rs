//! Runs by the published sequential algorithms in floats, to hold beside the exact ones.

use super::Job;
use crate::arith::{CELL, HEIGHT_END};
use crate::classic::diamond_square::{Lazy, Rand, World};
use crate::classic::droplets::{Droplets, HELD, erode_inside};
use crate::classic::snowballs::{self, Snowballs};
use crate::device::Device;
use crate::error::{Error, Invalid, Result};
use crate::exec::{Control, Executor};
use crate::params::{Settings, Value};
use crate::plan::{Buffer, Plan};
use crate::recipe::{Recipe, Step};
use crate::site::{Layer, Site};
use crate::stage::diamond_square;
use serde_json::json;

/// The stages of which there is a published sequential algorithm, and the settings that it has too.
const COUNTERPARTS: [(&str, &[&str]); 4] = [
    (
        "diamond_square",
        &[
            "world_cells",
            "feature_cells",
            "random",
            "rounds",
            "roughness",
            "square",
            "relief_m",
            "base_m",
        ],
    ),
    (
        "droplets",
        &[
            "rain",
            "lifetime",
            "inertia",
            "capacity",
            "slope_min",
            "erosion",
            "deposition",
            "evaporation",
            "gravity",
            "radius_cells",
        ],
    ),
    (
        "snowballs",
        &[
            "rain",
            "lifetime",
            "speed",
            "friction",
            "offset_cells",
            "erosion",
            "deposition",
            "quicken",
        ],
    ),
    ("blur", &["passes"]),
];

/// The layers that change what erosion does. The published algorithms know none.
const LAYERS: [(Layer, &str); 4] = [
    (Layer::Rain, "rain"),
    (Layer::Hardness, "hardness"),
    (Layer::Vegetation, "vegetation"),
    (Layer::Sediment, "sediment"),
];

/// What a run by the published algorithms says it is computed by.
pub(super) const NAME: &str =
    "classic: the published sequential algorithms, in floats, on one thread; all else on the CPU";

/// Bytes a cell beside the buffers: heights as doubles and as floats, before and after, and the
/// flow.
const CELL_BYTES: u64 = 32;

/// What a step has that its published algorithm lacks, as in a recipe; none for a stage without
/// such an algorithm.
fn lacking(step: &Step) -> Option<Vec<String>> {
    let (_, shared) = COUNTERPARTS.iter().find(|(known, _)| *known == step.stage.name)?;
    let changed = |name: &str, value: &Value| {
        step.stage.params.iter().any(|param| param.name == name && param.default() != *value)
            && !shared.contains(&name)
    };
    let mut others: Vec<String> = step
        .settings
        .iter()
        .filter(|(name, value)| changed(name, value))
        .map(|(n, v)| format!("{n} = {v}"))
        .collect();
    if step.stage.name == "diamond_square" {
        let [world, feature] =
            ["world_cells", "feature_cells"].map(|name| step.settings.integer(name));
        if feature != 0 && feature != world {
            others.push(format!("feature_cells = {feature}"));
        }
        if step.settings.word("random") == "hash" {
            others.push("random = \"hash\"".into());
        }
    }
    Some(others)
}

/// Whether the published algorithm runs in place of a stage: land only where it is the same land.
fn is_published(step: &Step) -> bool {
    lacking(step).is_some_and(|others| others.is_empty() || !step.stage.is_generator)
}

/// Makes a recipe one for the published algorithms: without levels, with the settings of the
/// finest, and without what runs between the steps of a stage that has none then. Returns what they
/// leave out of it. Stages that make layers stay, since their maps may be written and other stages
/// use them.
///
/// # Errors
/// [`Error::Param`] for a recipe without a stage that has one.
pub fn prepare(recipe: &mut Recipe) -> Result<Vec<String>> {
    let mut left = vec![];
    if recipe.levels.take().is_some() {
        left.push(
            "levels: the published algorithms have none; settings are those of the finest"
                .to_string(),
        );
    }
    let (mut painted, mut runs) = (vec![], false);
    let places: Vec<_> = (0..recipe.stages.len()).map(|i| recipe.place(i).0).collect();
    for (place, step) in places.iter().zip(&mut recipe.stages) {
        // Its settings are those of the finest level already.
        step.by_level.clear();
        step.finest = false;
        if let Some(others) = lacking(step) {
            let mut leave = |what: String| left.push(format!("{place}: {what}"));
            if !others.is_empty() {
                let stays =
                    if step.stage.is_generator { "; the exact stage makes the land" } else { "" };
                leave(format!("the published algorithm has no {}{stays}", others.join(", ")));
            }
            if is_published(step) {
                runs = true;
                for nested in step.with.drain(..) {
                    let nested = nested.step.stage.name;
                    leave(format!(
                        "{nested} between its steps is left out: the published algorithm has no \
                         steps"
                    ));
                }
                if !painted.is_empty() && ["droplets", "snowballs"].contains(&step.stage.name) {
                    let layers = LAYERS
                        .iter()
                        .map(|(_, layer)| *layer)
                        .filter(|layer| painted.contains(layer));
                    let layers = layers.collect::<Vec<_>>().join(", ");
                    leave(format!(
                        "layers of earlier stages are left out ({layers}): the published algorithm \
                         knows none"
                    ));
                }
            }
        }
        let made = (step.stage.layers)(&step.settings);
        painted
            .extend(LAYERS.iter().filter(|(layer, _)| made.has(*layer)).map(|(_, layer)| *layer));
    }
    if !runs {
        let names = COUNTERPARTS.map(|(name, _)| name).join(", ");
        let mut message = format!(
            "no stage of this recipe has a published sequential algorithm, which there is for \
             {names}"
        );
        left.iter().for_each(|why| message += &format!("; {why}"));
        return Err(Invalid::from(message).about("stage").into());
    }
    recipe.check()?;
    Ok(left)
}

/// The plan of a stage that runs so: its maps, and no passes. Others have their own.
fn plan(step: &Step, site: &Site) -> Plan {
    if !is_published(step) {
        return (step.stage.plan)(&step.settings, site);
    }
    let window = &site.window;
    let height = match step.stage.is_generator {
        true => Buffer::cells("height", window, 1).kept().unset(),
        false => Buffer::height(window),
    };
    let flow =
        step.stage.maps.contains(&"flow").then(|| Buffer::cells("flow", window, 1).kept().unset());
    let plan = Plan::new(
        step.stage.shader,
        *window,
        std::iter::once(height).chain(flow).collect(),
        vec![],
    );
    // One step, after which the ledger is entered.
    Plan { steps: vec![0], beside: CELL_BYTES * window.cells() as u64, ..plan }
}

/// What a stage leaves.
struct Made {
    heights: Vec<f64>,
    flow: Option<Vec<u32>>,
    derived: serde_json::Value,
}

/// Runs a stage on heights in cells.
fn run(step: &Step, site: &Site, ground: Vec<f64>, go_on: &dyn Fn() -> Result<()>) -> Result<Made> {
    let (s, seed) = (&step.settings, site.world.seed);
    let (width, depth) = (site.window.width as usize, site.window.height as usize);
    // Their grids have two vertices a side or more.
    if step.stage.name != "diamond_square" && (width < 2 || depth < 2) {
        return Err(Error::param(format!(
            "{width} x {depth} cells: the published algorithms need 2 x 2 or more"
        )));
    }
    // `rain` is a number of particles a cell.
    let count = |s: &Settings| (s.number("rain") * ground.len() as f64).round() as u64;
    match step.stage.name {
        "diamond_square" => land(s, site, seed, go_on),
        "droplets" => {
            let drops = Droplets { count: count(s), seed, ..Droplets::with(s) };
            let mut heights: Vec<f32> = ground.iter().map(|&h| h as f32).collect();
            let mut flow = vec![0; heights.len()];
            erode_inside(&mut heights, width, depth, &drops, Some(&mut flow), go_on)?;
            let derived = json!({ "drops": drops.count, "border_put_back_every": HELD });
            Ok(Made {
                heights: heights.into_iter().map(f64::from).collect(),
                flow: Some(flow),
                derived,
            })
        }
        "snowballs" => {
            let rim = (0..ground.len()).filter(|i| {
                let (x, y) = (i % width, i / width);
                x.min(width - 1 - x).min(y).min(depth - 1 - y) == 0
            });
            // Beyond the map all is as low as the lowest vertex of its rim.
            let outside = rim.map(|i| ground[i]).fold(f64::INFINITY, f64::min);
            let balls = Snowballs {
                count: count(s),
                seed,
                erosion_rate: s.number("erosion"),
                deposition_rate: s.number("deposition"),
                speed: s.number("speed"),
                friction: s.number("friction"),
                radius: s.number("offset_cells"),
                iterations: s.integer("lifetime") as u32,
                iteration_scale: s.number("quicken"),
                outside,
                ..Snowballs::published()
            };
            let (mut heights, mut flow) = (ground, vec![0; width * depth]);
            // In pieces, each with a seed of its own, so that a run can be cancelled.
            for piece in 0..balls.count.div_ceil(PIECE) {
                go_on()?;
                let count = PIECE.min(balls.count - piece * PIECE);
                let some = Snowballs { count, seed: seed.wrapping_add(piece), ..balls.clone() };
                snowballs::erode(&mut heights, width, depth, &some, Some(&mut flow));
            }
            Ok(Made {
                heights,
                flow: Some(flow),
                derived: json!({ "snowballs": balls.count, "outside_cells": outside }),
            })
        }
        _ => {
            let mut heights = ground;
            for _ in 0..s.integer("passes") {
                go_on()?;
                snowballs::blur(&mut heights, width, depth);
            }
            Ok(Made { heights, flow: None, derived: json!({}) })
        }
    }
}

/// Snowballs between two looks at whether the run was cancelled.
const PIECE: u64 = 4096;

/// The window of the fractal land, row by row.
fn land(s: &Settings, site: &Site, seed: u64, go_on: &dyn Fn() -> Result<()>) -> Result<Made> {
    let pair = s.word("random") != "mul";
    let world = World {
        size: diamond_square::world(s, &site.own),
        // As the stage takes it for the article's generator.
        seed: if pair { seed as u32 & 0x7fff_ffff } else { seed as u32 },
        roughness: s.number("roughness"),
        rounds: s.integer("rounds") as u32,
        rand: if pair { Rand::Pair } else { Rand::Hash },
    };
    let mut values = Lazy::new(world)?;
    let [x, y] = site.window.origin;
    let metres = |v: f64| {
        s.number("base_m") + s.number("relief_m") * if s.switch("square") { v * v } else { v }
    };
    let mut heights = Vec::with_capacity(site.window.cells());
    // Row by row, so that a run can be cancelled in between.
    for row in 0..i64::from(site.window.height) {
        go_on()?;
        let row = values.window(x, y + row, site.window.width as usize, 1);
        heights.extend(row.into_iter().map(|v| (metres(v) - site.datum_m()) / site.spacing_m()));
    }
    Ok(Made { heights, flow: None, derived: json!({ "world": world.size }) })
}

impl Job {
    /// The same run with the published sequential algorithms where there are some: in floats, on
    /// one thread, without a promise of equal bytes. Its recipe is to be [`prepare`]d. The CPU runs
    /// all other stages, exactly as ever.
    pub fn classic(mut self) -> Self {
        self.classic = true;
        self.schedule.planner = plan;
        self.device(Device::Cpu)
    }

    /// Whether the published sequential algorithms run.
    pub fn is_classic(&self) -> bool {
        self.classic
    }

    /// Runs stage `i` so, with the ledger's passes before and after it. Returns what is to be said
    /// of it; none if it runs as ever.
    pub(super) fn run_classic(
        &self,
        i: usize,
        plan: &Plan,
        executor: &mut dyn Executor,
    ) -> Result<Option<serde_json::Value>> {
        let (step, site) = (&self.schedule.units[i].step, self.schedule.site(i));
        if !is_published(step) {
            return Ok(None);
        }
        let stop = self.cancel.flag();
        // The pass that opens the ledger comes first, while the heights are as they were.
        let opens = plan.passes.first().is_some_and(|pass| pass.kernel.entry == "open");
        executor.run(
            plan,
            0..usize::from(opens),
            &mut Control { stop, progress: &mut |_| Ok(()) },
        )?;
        let ground = match step.stage.is_generator {
            true => vec![],
            false => executor
                .read("height")?
                .into_iter()
                .map(|word| f64::from(word) / f64::from(CELL))
                .collect(),
        };
        let made = run(step, &site, ground, &|| self.cancel.check())?;
        if let Some(at) = made.heights.iter().position(|height| !height.is_finite()) {
            let [x, y] = [at % site.window.width as usize, at / site.window.width as usize];
            let message = format!(
                "the published algorithm diverged at column {x}, row {y}: lower erosion or capacity"
            );
            let (place, pointer) = self.recipe().place(self.schedule.units[i].stage);
            return Err(Invalid::from(message).inside(&place, &pointer).into());
        }
        let end = f64::from(HEIGHT_END);
        let word = |height: &f64| (height * f64::from(CELL)).round().clamp(-end, end) as i32;
        executor.write("height", &made.heights.iter().map(word).collect::<Vec<_>>())?;
        if let Some(flow) = made.flow {
            executor.write("flow", &flow.into_iter().map(|n| n as i32).collect::<Vec<_>>())?;
        }
        executor.run(
            plan,
            usize::from(opens)..plan.passes.len(),
            &mut Control { stop, progress: &mut |_| Ok(()) },
        )?;
        let mut derived = made.derived;
        derived["sequential"] = true.into();
        Ok(Some(derived))
    }
}

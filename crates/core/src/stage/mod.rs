//! The stages in pipeline order. Recipes, executors, tests and benches all loop over this list.

pub mod biomes;
pub mod blur;
mod case;
pub mod coastal;
pub mod combine;
pub mod diamond_square;
pub mod droplets;
pub mod flat;
pub mod fractal;
pub mod hills;
pub mod incision;
pub mod island;
pub mod layer;
pub mod levels;
pub mod noise;
pub mod octaves;
pub mod random_raise;
pub mod ranges;
pub mod shore;
pub mod snowballs;
pub mod stepper;
pub mod strokes;
pub mod survey;
pub mod thermal;
pub mod voronoi_island;
pub mod weather;
pub mod wind;

pub use case::{Case, Surface};

use crate::map::Samples;
use crate::params::{Param, Settings};
use crate::plan::{Kernel, Plan};
use crate::site::{Layers, Site, Window};
use std::ops::Range;

/// How far, in cells, an error at a window's edge can travel inward in a range of a stage's steps.
#[doc(hidden)]
pub type Halo = fn(&Settings, &Site, Range<u32>) -> u64;

/// A kind of step in a recipe: its parameters, and how its plan is made.
pub struct Stage {
    /// Its `kind` in a recipe, the stem of its files, its name in reports.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Whether it makes heights from nothing, which settings may ask to combine with the heights
    /// that it finds. Other stages change those.
    pub is_generator: bool,
    /// Whether it changes heights that are there, alone or with layers.
    pub changes: bool,
    /// Whether it can run between the steps of another. Each of its plans must then set its scratch
    /// buffers before it reads them.
    pub can_interleave: bool,
    /// How far, in cells, an error at a window's edge can travel inward in a range of steps, by any
    /// of what a step passes on: heights, particles, and what these ask for. None for a stage that
    /// has no steps. The plans of others say where the steps end.
    #[doc(hidden)]
    pub halo: Option<Halo>,
    /// The layers that it makes.
    #[doc(hidden)]
    pub layers: fn(&Settings) -> Layers,
    /// What the samples are that it reads from a file or from memory, if it reads some.
    #[doc(hidden)]
    pub samples: fn(&Settings) -> Option<Samples>,
    /// Its parameters.
    pub params: &'static [Param],
    /// WGSL source of its kernels.
    #[doc(hidden)]
    pub shader: &'static str,
    /// Its kernels.
    #[doc(hidden)]
    pub kernels: &'static [&'static Kernel],
    /// The data maps that it leaves beside `height`: names of `thalweg::FIELDS`.
    pub maps: &'static [&'static str],
    /// Checks what the table cannot say about the parameters. Its error names the parameter.
    #[doc(hidden)]
    pub check: fn(&Settings, &Site) -> crate::Result<()>,
    /// Its plan. Settings and site have been checked.
    #[doc(hidden)]
    pub plan: fn(&Settings, &Site) -> Plan,
    /// How far away, in cells, heights can change a result.
    #[doc(hidden)]
    pub reach: fn(&Settings, &Site) -> u64,
    /// Figures that follow from the settings (steps, droplets …), as a JSON object.
    #[doc(hidden)]
    pub summary: fn(&Settings, &Site) -> serde_json::Value,
    /// The buffer whose words add up to the work done, if there is one.
    #[doc(hidden)]
    pub work: Option<&'static str>,
    /// Small runs that together reach the lines of the kernels: see `tests/coverage`.
    #[doc(hidden)]
    pub cases: fn() -> Vec<Case>,
}

impl Stage {
    /// What a stage has that says no more than its name, its kernels, its plan and its cases.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        about: "",
        is_generator: false,
        changes: false,
        can_interleave: false,
        halo: None,
        layers: |_| Layers::NONE,
        samples: |_| None,
        params: &[],
        shader: "",
        kernels: &[],
        maps: &[],
        check: |_, _| Ok(()),
        plan: |_, site| Plan::new("", site.window, vec![], vec![]),
        reach: |_, _| 0,
        summary: |_, _| serde_json::json!({}),
        work: None,
        cases: Vec::new,
    };

    /// Whether other stages can run between its steps.
    pub fn hosts(&self) -> bool {
        self.halo.is_some()
    }

    /// Whether it works on heights that are there step by step. Such stages run on coarse levels,
    /// too.
    pub fn erodes(&self) -> bool {
        self.hosts() || self.can_interleave
    }

    /// Side of the largest square map whose buffers, at these settings and with these layers, each
    /// fit into `bytes`. Estimated from the bytes a cell of a map of 1024 × 1024, so the rounding
    /// of tiles is not exact.
    pub fn side_max(&self, settings: &Settings, layers: Layers, bytes: u64) -> u32 {
        let window = Window { origin: [0, 0], width: 1024, height: 1024 };
        let plan = (self.plan)(settings, &Site { layers, ..Site::bare(window, 1.0, 0) });
        let per_cell = plan.largest().words as f64 * 4.0 / window.cells() as f64;
        (bytes as f64 / per_cell.max(4.0)).sqrt().min(Window::SIDE_MAX as f64) as u32
    }
}

/// Every stage, in pipeline order.
pub static STAGES: [&Stage; 19] = [
    &flat::STAGE,
    &diamond_square::STAGE,
    &island::STAGE,
    &noise::STAGE,
    &hills::STAGE,
    &random_raise::STAGE,
    &voronoi_island::STAGE,
    &ranges::STAGE,
    &strokes::STAGE,
    &layer::STAGE,
    &biomes::STAGE,
    &incision::STAGE,
    &droplets::STAGE,
    &snowballs::STAGE,
    &wind::STAGE,
    &thermal::STAGE,
    &coastal::STAGE,
    &blur::STAGE,
    &shore::STAGE,
];

/// The stages that runs need between and behind those of a recipe, which cannot name them.
pub static INNER: [&Stage; 4] =
    [&levels::KEEP, &levels::RESTRICT, &levels::REFINE, &combine::STAGE];

/// The stage called `name`.
pub fn find(name: &str) -> crate::Result<&'static Stage> {
    STAGES
        .iter()
        .copied()
        .find(|s| s.name == name)
        .ok_or_else(|| crate::params::unknown("stage", name, STAGES.iter().map(|s| s.name)).into())
}

/// The names of the stages that `which` picks, for errors.
pub fn names(which: impl Fn(&Stage) -> bool) -> String {
    STAGES
        .iter()
        .filter(|stage| which(stage))
        .map(|stage| stage.name)
        .collect::<Vec<_>>()
        .join(", ")
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Stage").field(&self.name).finish()
    }
}

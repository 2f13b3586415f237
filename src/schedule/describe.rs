//! What decides the words that a run leaves, for the keys of stored pieces.

use super::{Schedule, Slab};
use crate::error::Result;
use crate::recipe::{Nested, Step};
use crate::site::{Site, Window};
use crate::stage::strokes;
use serde_json::{Value, json};

/// The digest of the samples that a unit reads, if it reads some.
pub(crate) type SamplesDigest<'a> = dyn Fn(usize) -> Option<String> + 'a;

impl Schedule {
    /// The same with the strokes alone that can change a window in a slab of a level's time, and
    /// the window with its halo.
    pub(crate) fn near(&self, level: i32, slab: &Slab, window: &Window) -> Result<(Self, Window)> {
        let wide = self.halo(level, slab, window)?;
        // Strokes are first looked for within the reach of all of them.
        let mut near = self.clone();
        for i in self.units_of(level) {
            let site = Site { window: wide, ..self.site(i) };
            let step = &mut near.units[i].step;
            // Those that are drawn again after each step, too; where none is near, none is drawn.
            let is_drawn = |step: &Step| step.stage.name == strokes::STAGE.name;
            let mut nested = std::mem::take(&mut step.with);
            for Nested { step, .. } in nested.iter_mut().filter(|nested| is_drawn(&nested.step)) {
                step.settings = strokes::near(&step.settings, &site);
            }
            nested.retain(|Nested { step, .. }| {
                !is_drawn(step) || !step.settings.list("stroke").is_empty()
            });
            step.with = nested;
            if step.stage.name == strokes::STAGE.name {
                step.settings = strokes::near(&step.settings, &site);
            }
        }
        // Those that are far away reach no farther.
        let halo = near.halo(level, slab, window)?;
        Ok((near, halo))
    }

    /// What decides the words that the units of a level leave in a window with its halo.
    pub(crate) fn describe_level(
        &self,
        level: i32,
        halo: Window,
        samples: &SamplesDigest,
    ) -> Value {
        self.units_of(level).map(|i| self.describe_unit(i, halo, samples)).collect()
    }

    /// What decides the lands of levels that are given, beside the heights that the run starts
    /// from: what stages before the levels do, on the whole land. Nothing where each level's land
    /// is made for it.
    pub(crate) fn describe_given(&self, samples: &SamplesDigest) -> Value {
        if !self.restricts() {
            return Value::Null;
        }
        let whole = self.whole();
        let stages: Vec<_> = self
            .before_levels()
            .map(|i| self.describe_unit(i, self.site(i).window, samples))
            .collect();
        let land = [json!(whole.origin), json!([whole.width, whole.height])];
        json!({ "land": land, "stages": stages })
    }

    /// What decides the words that a unit leaves in a window.
    fn describe_unit(&self, i: usize, window: Window, samples: &SamplesDigest) -> Value {
        let unit = &self.units[i];
        let site = Site { window, ..self.site(i) };
        json!({
            "stage": unit.step.describe(),
            "seed": site.world.seed,
            "scale": [site.spacing_m(), site.datum_m()],
            "layers": format!("{:?}", site.layers),
            "summary": (unit.step.stage.summary)(&unit.step.settings, &site),
            "samples": samples(i),
        })
    }
}

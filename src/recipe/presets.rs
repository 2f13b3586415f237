//! Named settings of erosion.

use super::{ByLevel, Nested, Step};
use crate::error::Result;
use crate::params::{Value, unknown};

/// A preset: a stage with settings that suit a purpose.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it makes.
    pub about: &'static str,
    /// The name of its stage.
    pub stage: &'static str,
    /// The settings that are not at their defaults, everywhere.
    settings: &'static [Setting],
    /// Those of a land as it is.
    flat: &'static [Setting],
    /// Those of a land with levels; none if the preset is for a land as it is.
    by_level: Option<&'static [Setting]>,
    /// Every how many steps slopes slide, and to which angle on the coarsest and on the finest
    /// level.
    slides: Option<(u32, [f64; 2])>,
}

/// A setting's name and value.
type Setting = (&'static str, Given);

#[derive(Debug)]
enum Given {
    One(f64),
    /// By level, the finest last.
    Each(&'static [f64]),
    /// On the coarsest and on the finest level.
    Ramp([f64; 2]),
}
use Given::{Each, One, Ramp};

/// Named settings of erosion.
pub const PRESETS: &[Preset] = &[
    // Coarse levels only find the water: where they cut, the long profiles of a given land change.
    // By area_exponent = 0.35, near the concavity of real rivers, all rivers are lowered by about
    // as much.
    Preset {
        name: "default",
        about: "rivers and gullies cut a little deeper; nothing is filled, so a given land keeps \
                its valleys",
        stage: "incision",
        settings: UNHARMED,
        flat: &[("steps", One(128.0)), ("erodibility", One(0.00125))],
        by_level: Some(&[("steps", Each(&[96.0, 8.0])), ("erodibility", Each(&[0.0, 0.02]))]),
        slides: None,
    },
    Preset {
        name: "gentle",
        about: "half as deep",
        stage: "incision",
        settings: UNHARMED,
        flat: &[("steps", One(128.0)), ("erodibility", One(0.0006))],
        by_level: Some(&[("steps", Each(&[96.0, 8.0])), ("erodibility", Each(&[0.0, 0.01]))]),
        slides: None,
    },
    Preset {
        name: "deep",
        about: "trunk valleys, brooks and crests where noise or drawn ridges have none; lakes \
                become plains",
        stage: "incision",
        settings: &[
            ("area_exponent", One(0.45)),
            ("silt", One(0.02)),
            ("slope_min", One(0.003)),
            ("repose_deg", One(40.0)),
        ],
        flat: &[("steps", One(400.0)), ("erodibility", One(0.01)), ("creep", One(0.05))],
        by_level: Some(&[
            ("steps", Each(&[300.0, 160.0, 80.0, 40.0, 12.0])),
            ("erodibility", Each(&[0.004, 0.008, 0.012, 0.02, 0.05])),
            ("creep", Each(&[0.04, 0.05])),
            ("roughness_cells", Each(&[0.3, 0.3, 0.3, 0.2, 0.1])),
        ]),
        slides: None,
    },
    // Water that comes from afar has done most of its work on coarse levels, and more of it would
    // drown the land in sediment. Slopes slide down to an angle that is steeper on coarse levels:
    // sliding there would melt the ridges.
    Preset {
        name: "fans",
        about: "droplets, which lay down what they take: fans at the mouths of valleys, and floors \
                that fill",
        stage: "droplets",
        settings: &[],
        flat: &[],
        by_level: Some(&[
            ("lifetime", Ramp([192.0, 80.0])),
            ("rain", Ramp([1.5, 0.5])),
            ("capacity", One(1.0)),
        ]),
        slides: Some((16, [60.0, 40.0])),
    },
    Preset {
        name: "article",
        about: "the algorithm of van der Veen's article: its constants and its half droplet a \
                cell, on the land as it is",
        stage: "droplets",
        settings: &[
            ("rain", One(0.5)),
            // Fewer droplets at a time, and all that the ground allows in a step: so as much is
            // moved as by one droplet after another.
            ("density", One(0.0625)),
            ("max_step_fraction", One(1.0)),
            ("lifetime", One(300.0)),
            ("inertia", One(0.3)),
            ("slope_min", One(0.01)),
            ("capacity", One(10.0)),
            ("deposition", One(0.08)),
            ("erosion", One(0.7)),
            ("gravity", One(9.81)),
            ("evaporation", One(0.02)),
            ("radius_cells", One(5.0)),
        ],
        flat: &[],
        by_level: None,
        slides: None,
    },
];

/// What rivers need to cut without filling or smoothing anything.
const UNHARMED: &[Setting] = &[
    ("area_exponent", One(0.35)),
    ("silt", One(0.0)),
    ("roughness_cells", One(0.0)),
    ("repose_deg", One(60.0)),
];

impl Preset {
    /// The preset of a name.
    ///
    /// # Errors
    /// [`crate::Error::Param`] with a similar name, if there is none.
    pub fn find(name: &str) -> Result<&'static Preset> {
        let unknown = || unknown("preset", name, PRESETS.iter().map(|preset| preset.name)).into();
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(unknown)
    }

    /// Whether it is for a land with levels. That of the published algorithm, which has none, is
    /// not.
    pub fn has_levels(&self) -> bool {
        self.by_level.is_some()
    }

    /// The settings for a land as it is, or for one with levels where the preset is for one.
    fn given(&self, levels: bool) -> impl Iterator<Item = &Setting> {
        let more = self.by_level.filter(|_| levels).unwrap_or(self.flat);
        self.settings.iter().chain(more)
    }

    /// Its stage, for a land as it is or for one with levels. A preset that is for a land as it is
    /// is the same for both.
    ///
    /// # Errors
    /// None: a test makes all of them.
    pub fn step(&self, levels: bool) -> Result<Step> {
        let mut step = Step::new(self.stage, &[])?;
        for (name, given) in self.given(levels) {
            match given {
                One(v) => step.settings.set(step.stage.params, name, &value(*v))?,
                Each(all) => {
                    let param = step.stage.params.iter().find(|param| param.name == *name);
                    let accepted =
                        |v: &f64| param.map_or(Ok(value(*v)), |param| param.accept(&value(*v)));
                    let all = all.iter().map(accepted).collect::<Result<_, _>>()?;
                    step.by_level.push((name.to_string(), ByLevel::List(all)));
                }
                Ramp([from, to]) => {
                    step.by_level.push((name.to_string(), ByLevel::Ramp { from: *from, to: *to }))
                }
            }
        }
        if let Some((every, [from, to])) = self.slides.filter(|_| levels && self.has_levels()) {
            let mut slide = Step::new("thermal", &[("steps", Value::Integer(1))])?;
            slide.by_level.push(("repose_deg".into(), ByLevel::Ramp { from, to }));
            step.with.push(Nested { every, step: slide });
        }
        Ok(step)
    }

    /// Its stage as a recipe has it, with the settings that are not at their defaults alone.
    pub fn written(&self, levels: bool) -> serde_json::Value {
        let mut stage = serde_json::json!({ "kind": self.stage });
        for (name, given) in self.given(levels) {
            stage[*name] = match given {
                One(v) => number(*v),
                Each(all) => all.iter().map(|v| number(*v)).collect(),
                Ramp([from, to]) => serde_json::json!({ "from": number(*from), "to": number(*to) }),
            };
        }
        if let Some((every, [from, to])) = self.slides.filter(|_| levels && self.has_levels()) {
            let angle = serde_json::json!({ "from": number(from), "to": number(to) });
            stage["interleave"] = serde_json::json!([{ "kind": "thermal", "every": every,
                "steps": 1, "repose_deg": angle }]);
        }
        stage
    }
}

fn value(v: f64) -> Value {
    if v.fract() == 0.0 { Value::Integer(v as i64) } else { Value::Number(v) }
}

/// A number as people write it: whole ones without a point.
fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 { (value as i64).into() } else { value.into() }
}

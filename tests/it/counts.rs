//! Work is counted before it is planned, by the planner's own arithmetic, and what is beyond a
//! limit is refused by name (P6).

use crate::common::{anywhere, cases, site};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use thalweg::params::{Settings, Value};
use thalweg::plan::{Fill, PASSES_MAX, Plan, stoppable};
use thalweg::recipe::{NESTED_MAX, STAGES_MAX};
use thalweg::site::{Layer, Site, Window};
use thalweg::stage::{Case, STAGES, Stage, biomes, layer};
use thalweg::{Error, Job, Recipe};

/// A recipe of 64² cells with these stages behind one that makes the land.
fn recipe(stages: &[serde_json::Value]) -> Result<Recipe, Error> {
    let all: Vec<_> = [json!({ "kind": "noise" })].iter().chain(stages).cloned().collect();
    let text = json!({ "schema": 2, "width": 64, "height": 64, "spacing_m": 10, "stage": all })
        .to_string();
    Recipe::from_json(&text, "", "counts")
}

fn settings(stage: &Stage, case: &Case) -> Settings {
    let given: Vec<(String, Value)> =
        case.settings.iter().map(|(n, v)| (n.to_string(), v.clone())).collect();
    let mut settings = Settings::new(stage.params, &given).unwrap();
    thalweg::stage::strokes::pictures()
        .into_iter()
        .for_each(|(name, picture)| settings.show(&name, picture));
    settings
}

/// A draft has the counts and the sizes of the plan.
#[track_caller]
fn same(draft: &Plan, plan: &Plan, what: &str) {
    assert_eq!(draft.count(), plan.count(), "{what}");
    let sizes = |plan: &Plan| {
        plan.buffers.iter().map(|b| (b.name, b.shape, b.words, b.keep)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(draft), sizes(plan), "{what}");
    assert_eq!((draft.bytes(), draft.own_bytes()), (plan.bytes(), plan.own_bytes()), "{what}");
    assert_eq!(draft.writes("height"), plan.writes("height"), "{what}");
}

/// P6: of every case of every stage, with the ledger and with every stage that can run between its
/// steps.
#[test]
fn counts_are_those_of_the_plans() {
    for (stage, case) in cases() {
        let (settings, site) = (settings(stage, &case), site(&case));
        let of = |draft: bool, nested: Option<(&Stage, u32)>, ledger: Option<bool>| {
            let site = Site { draft, ..site };
            let mut plan = (stage.plan)(&settings, &site);
            if let Some((nested, every)) = nested {
                plan.interleave(every, |_| {
                    (nested.plan)(&Settings::new(nested.params, &[]).unwrap(), &site)
                });
            }
            if let Some(opens) = ledger {
                layer::keep_ledger(&mut plan, &site, opens);
            }
            plan
        };
        let what = format!("{} {}", stage.name, case.name);
        same(&of(true, None, None), &of(false, None, None), &what);
        if !case.layers.has(Layer::Ledger) || !stage.hosts() {
            continue;
        }
        for nested in STAGES.into_iter().filter(|nested| nested.can_interleave) {
            for (every, opens) in [(1, true), (3, false), (1 << 18, true)] {
                let [draft, plan] =
                    [true, false].map(|draft| of(draft, Some((nested, every)), Some(opens)));
                same(&draft, &plan, &format!("{what}, every {every} {}", nested.name));
            }
        }
    }
}

/// P6: points that are too many to be counted one by one are counted from above, and nearly.
#[test]
fn many_points_are_counted_from_above() {
    for (method, frequency) in
        [("scattered", 0.35), ("scattered", 1.0), ("convolved", 0.1), ("lerped", 0.1)]
    {
        let given = [
            ("method".into(), Value::Word(method.into())),
            ("frequency".into(), Value::Number(frequency)),
            ("interval_cells".into(), Value::Integer(2)),
        ];
        let settings = Settings::new(biomes::STAGE.params, &given).unwrap();
        let window = Window { origin: [-(1 << 40) + 7, 123], width: 900, height: 700 };
        let site = Site { window, ..anywhere() };
        let [draft, plan] =
            [true, false].map(|draft| (biomes::STAGE.plan)(&settings, &Site { draft, ..site }));
        let words = |plan: &Plan| plan.buffer("points").words as f64;
        assert!(words(&plan) > 1e5, "{method}: {}", words(&plan));
        assert_eq!(draft.buffer("points").fill, Fill::Words(vec![]));
        assert!(
            (1.0..1.1).contains(&(words(&draft) / words(&plan))),
            "{method}: {} of {}",
            words(&draft),
            words(&plan)
        );
        assert!(
            draft.count().passes >= plan.count().passes
                && draft.count().steps == plan.count().steps,
            "{method}"
        );
        assert!(draft.own_bytes() >= plan.own_bytes());
        // A planner that is stopped makes no points.
        let stopped =
            stoppable(&Arc::new(AtomicBool::new(true)), || (biomes::STAGE.plan)(&settings, &site));
        assert!(method != "scattered" || stopped.buffer("points").words == 0);
    }
}

/// P6: each step, nest, stage and level counts.
#[test]
fn recipes_beyond_a_limit_are_refused_by_name() {
    let thermal = |steps: u32| json!({ "kind": "thermal", "steps": steps });
    let nest = json!({ "kind": "thermal", "steps": 262_144,
        "interleave": [{ "kind": "thermal", "every": 1, "steps": 262_144 }] });
    let refused = |recipe: Result<Recipe, Error>, words: &[&str]| {
        let error = recipe.and_then(Job::new).unwrap_err();
        assert!(matches!(error, Error::Limit(_) | Error::Param(_)), "{error:?}");
        words.iter().for_each(|word| assert!(error.to_string().contains(word), "{error}: {word}"));
    };
    let all = (1u64 << 36) + (1 << 18) + 1;
    let most = PASSES_MAX.to_string();
    refused(recipe(&[nest]), &["stage 2, thermal", &all.to_string(), &most]);
    refused(
        recipe(&vec![thermal(262_144); 60]),
        &["stage 61, thermal", "15728641", &most, "262144"],
    );
    // Numbers that do not fit into 64 bits when they are multiplied.
    let with: Vec<_> = (0..NESTED_MAX)
        .map(|_| json!({ "kind": "thermal", "every": 1, "steps": 262_144 }))
        .collect();
    let deep = json!({ "kind": "droplets", "lifetime": 512, "rain": 127, "interleave": with });
    refused(recipe(&vec![deep.clone(); 500]), &["droplets", &most]);
    refused(recipe(&vec![thermal(1); STAGES_MAX]), &["1001 stages", "1000"]);
    refused(recipe(&vec![thermal(1); 20_000]), &["20001 stages", "1000"]);
    let many = json!({ "kind": "droplets",
        "interleave": vec![json!({ "kind": "thermal", "every": 1, "steps": 1 }); NESTED_MAX + 1] });
    refused(recipe(&[many]), &["stage 2", "17 stages", "16"]);
    // As many as are allowed.
    let job = Job::new(recipe(&vec![thermal(4194); STAGES_MAX - 1]).unwrap()).unwrap();
    let passes: u64 = job.schedule().counts().map(|(_, passes)| passes).sum();
    assert_eq!(passes, 4194 * (STAGES_MAX as u64 - 1) + 1);
    assert!(passes <= PASSES_MAX && passes + 1000 > PASSES_MAX - 5000);
    refused(recipe(&vec![thermal(4199); STAGES_MAX - 1]), &["4194802", &most]);
}

/// P6: what a run is said to take is what its plans have.
#[test]
fn a_job_counts_what_it_plans() {
    let text = "schema = 2\nwidth = 96\nheight = 80\nspacing_m = 10\nlevels = 2\n[[stage]]\n\
                kind = \"voronoi_island\"\n\
                [[stage]]\nkind = \"biomes\"\n[[stage.biome]]\nname = \"land\"\n\
                colour = \"#70d688\"\n\
                [[stage]]\nkind = \"droplets\"\nlifetime = 16\n[[stage.interleave]]\nkind = \
                                    \"thermal\"\n\
                every = 5\nsteps = 3\n\
                [[stage]]\nkind = \"thermal\"\nsteps = 7\n[output]\n\
                maps = [\"height\", \"erosion\"]\n";
    let job = Job::new(Recipe::from_toml(text, "", "counts").unwrap()).unwrap();
    let made: Vec<Plan> =
        (0..job.schedule().names().count()).map(|i| job.schedule().plan(i)).collect();
    let counted: Vec<(u64, u64)> = job.schedule().counts().collect();
    assert_eq!(
        counted,
        made.iter()
            .map(|plan| (plan.steps.len() as u64, plan.passes.len() as u64))
            .collect::<Vec<_>>()
    );
    let work: Vec<f64> = job.schedule().costs().into_iter().map(|(_, work)| work).collect();
    assert_eq!(
        work,
        made.iter()
            .map(|plan| plan.passes.iter().map(|pass| f64::from(pass.count())).sum())
            .collect::<Vec<f64>>()
    );
    let largest = made.iter().map(|plan| plan.largest().words as u64 * 4).max();
    assert_eq!(Some(job.largest_buffer_bytes()), largest);
    // Planning hears that the run is cancelled.
    job.cancel_handle().cancel();
    assert!(matches!(job.device_name(&mut |_| Ok(())), Err(Error::Cancelled)));
}

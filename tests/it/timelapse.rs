//! Watched runs: when frames come, that they are whole, and that watching changes nothing.

use crate::common::{Made, cpu, gpu, made};
use thalweg::exec::Executor;
use thalweg::job::FRAMES_MAX;
use thalweg::map::Map;
use thalweg::recipe::Recipe;
use thalweg::{Error, Event, Job};

const HEAD: &str = "schema = 2\nseed = 4\nwidth = 40\nheight = 24\nspacing_m = 20\n";
const MAKE: &str = "[[stage]]\nkind = \"diamond_square\"\nworld_cells = 256\nrelief_m = 300\n";
/// Sixteen steps.
const WEAR: &str = "[[stage]]\nkind = \"droplets\"\nlifetime = 16\ndensity = 1\n";
/// Seven steps that exchange the height with another buffer.
const SLIDE: &str = "[[stage]]\nkind = \"thermal\"\nsteps = 7\nrepose_deg = 2\n";
/// Seven steps, whose flow is counted at the end.
const CUT: &str = "[[stage]]\nkind = \"incision\"\nsteps = 7\nfall = 9\nuplift_m = 1\n";
const NESTED: &str = "[[stage.interleave]]\nkind = \"thermal\"\nsteps = 2\nevery = 4\n";
const LAYER: &str = "[[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"noise\"\n";
const GROUND: &str = "[output]\ncolour = \"ground\"\n";

fn recipe(parts: &[&str]) -> Recipe {
    Recipe::from_toml(&parts.concat(), "", "test").unwrap()
}

/// Step of each frame, its maps, and what was made in the end.
type Watched = (Vec<(usize, Vec<(&'static str, Map)>)>, Made);

fn watched(recipe: &Recipe, frames: usize, executor: &mut dyn Executor) -> Watched {
    let mut seen = vec![];
    let job = Job::new(recipe.clone()).unwrap().frames(frames).unwrap();
    let outcome = job.run_on(executor, &mut |event| {
        if let Event::Frame(frame) = event {
            assert_eq!(frame.index, seen.len());
            seen.push((
                frame.step,
                frame.maps.iter().map(|(name, map)| (*name, map.clone())).collect(),
            ));
        }
        Ok(())
    });
    (seen, Made::of(outcome.unwrap()))
}

/// The frames of a time-lapse are evenly spaced from the first step to the last, and do not change
/// the result.
/// Holds C1 in part.
#[test]
fn frames_are_even_and_change_nothing() {
    let recipes = [
        recipe(&[HEAD, MAKE, WEAR]),
        recipe(&[HEAD, "margin_cells = 6\n", MAKE, LAYER, WEAR, WEAR, GROUND]),
        recipe(&[HEAD, MAKE, WEAR, LAYER, WEAR, "[output]\nmaps = [\"height\", \"change\"]\n"]),
        recipe(&[HEAD, MAKE, WEAR, NESTED, SLIDE, GROUND]),
        recipe(&[HEAD, MAKE, CUT, GROUND]),
    ];
    let before = made(&recipe(&[HEAD, MAKE]), &mut cpu());
    for recipe in &recipes {
        let each = |name| match name {
            "droplets" => 16,
            "thermal" | "incision" => 7,
            _ => 0,
        };
        let steps: usize = recipe.stages.iter().map(|step| each(step.stage.name)).sum();
        let without = made(recipe, &mut cpu());
        for frames in [2, 3, 5, 7, steps + 1] {
            let (seen, made) = watched(recipe, frames, &mut cpu());
            assert_eq!(made.digests, without.digests);
            let even: Vec<_> = (0..frames)
                .map(|n| (n as f64 * steps as f64 / (frames - 1) as f64 + 0.5).floor() as usize)
                .collect();
            assert_eq!(seen.iter().map(|(step, _)| *step).collect::<Vec<_>>(), even);
            let height =
                |n: usize| &seen[n].1.iter().find(|(name, _)| *name == "height").unwrap().1;
            assert_eq!(height(0), &before.maps["height"]);
            assert_eq!(height(frames - 1), &made.maps["height"]);
            // (Droplets only propose in their first step.)
            assert!((1..frames).all(|n| height(n) != height(n - 1) || seen[n].0 % 16 == 1));
            // What colours the ground is there as soon as something has moved, and whole.
            let named = |n: usize| seen[n].1.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            assert_eq!(named(0), ["height"]);
            if made.maps.contains_key("deposition") {
                assert!(
                    (1..frames).all(|n| named(n) == ["deposition", "erosion", "flow", "height"])
                );
                for (name, map) in &seen[frames - 1].1 {
                    assert_eq!(map, &made.maps[name], "{name}");
                }
            }
        }
        if let Some(mut gpu) = gpu("frames_are_even_and_change_nothing", 32, None) {
            let (on_cpu, on_gpu) = (watched(recipe, 6, &mut cpu()), watched(recipe, 6, &mut gpu));
            assert_eq!(on_gpu.0, on_cpu.0);
            assert_eq!(on_gpu.1.digests, without.digests);
        }
    }
}

#[test]
fn an_error_of_the_watcher_ends_the_run() {
    let recipe = recipe(&[HEAD, MAKE, WEAR]);
    let mut looks = 0;
    let job = Job::new(recipe).unwrap().frames(9).unwrap();
    let ended = job.run_on(&mut cpu(), &mut |event| {
        let Event::Frame(frame) = event else { return Ok(()) };
        looks += 1;
        if frame.index == 3 { Err(Error::limit("enough")) } else { Ok(()) }
    });
    assert_eq!((ended.err().map(|e| e.to_string()), looks), (Some("enough".into()), 4));
}

#[test]
fn frames_that_cannot_be_are_refused_before_the_work() {
    let check = |parts: &[&str], frames| Job::new(recipe(parts)).unwrap().frames(frames).map(drop);
    check(&[HEAD, MAKE, WEAR, LAYER, WEAR], 33).unwrap();
    let said = |parts: &[&str], frames, words: &str| {
        let text = check(parts, frames).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    for frames in [1, 18, 1_000_000, usize::MAX] {
        said(&[HEAD, MAKE, WEAR], frames, "allowed 2 to 17");
    }
    let long = "[[stage]]\nkind = \"droplets\"\nlifetime = 4096\nrain = 3\ndensity = 1\n";
    said(
        &[HEAD, MAKE, long],
        FRAMES_MAX + 1,
        "allowed 2 to 10000: their files are numbered with four digits",
    );
    for parts in [&[HEAD, MAKE][..], &[HEAD, MAKE, LAYER]] {
        said(parts, 5, "nothing to watch");
    }
}

//! Jobs: inputs in memory, errors as data, cancelling, snapshots, sinks, devices of the caller's.

use crate::common::{Made, cpu};
use thalweg::exec::Executor;
use thalweg::field::find;
use thalweg::recipe::{EXAMPLES, Preset};
use thalweg::site::Scale;
use thalweg::{Cancel, Error, Event, Heights, Job, Outcome, Recipe, Result, Snapshot, Step, Value};

const HEAD: &str = "schema = 2\nseed = 4\nwidth = 40\nheight = 24\nspacing_m = 20\n";
const MAKE: &str = "[[stage]]\nkind = \"diamond_square\"\nworld_cells = 256\nrelief_m = 300\n";
const SAND: &str = "[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\nthickness_m = 4\n";
const WEAR: &str = "[[stage]]\nkind = \"droplets\"\nlifetime = 16\ndensity = 1\n";
const SLIDE: &str = "[[stage]]\nkind = \"thermal\"\nsteps = 7\nrepose_deg = 2\n";
const BIOMES: &str = "[[stage]]\nkind = \"biomes\"\nsplat = true\n[[stage.biome]]\nname = \"fen\"\n\
                      colour = \"#087020\"\nrain = 0.4\n\
                      [[stage.biome]]\nname = \"moor\"\ncolour = \"#806030\"\nhardness = 0.6\n";

fn recipe(parts: &[&str]) -> Recipe {
    Recipe::from_toml(&parts.concat(), "", "test").unwrap()
}

fn run(job: &Job) -> Result<Outcome> {
    job.run_on(&mut cpu(), &mut |_| Ok(()))
}

/// A slope with waves, in metres.
fn metres(width: u32, height: u32) -> Vec<f32> {
    let at = |i: u32| ((i % width) as f32, (i / width) as f32);
    (0..width * height)
        .map(at)
        .map(|(x, y)| 100.0 + 3.0 * x + 20.0 * (x / 5.0).sin() * (y / 4.0).cos())
        .collect()
}

fn erosion() -> Recipe {
    Recipe::on_heights(vec![Step::new("droplets", &[("lifetime", Value::Integer(16))]).unwrap()])
        .unwrap()
}

#[test]
fn heights_in_memory_are_those_of_a_map_and_of_exact_words() {
    let data = metres(30, 20);
    let job = Job::with_heights(erosion(), Heights::metres(30, 20, 10.0, &data)).unwrap();
    let outcome = run(&job).unwrap();
    assert_ne!(outcome.map("height").unwrap().data, data);
    let map = thalweg::Map {
        width: 30,
        height: 20,
        spacing_m: 10.0,
        data: data.clone(),
        range_m: None,
        georef: None,
    };
    let from_map = run(&Job::with_heights(erosion(), &map).unwrap()).unwrap();
    assert_eq!(from_map.words("height").unwrap(), outcome.words("height").unwrap());
    let scale = job.scale();
    let words = scale.to_words(&data);
    let from_words =
        run(&Job::with_heights(erosion(), Heights::words_of(30, 20, scale, &words)).unwrap())
            .unwrap();
    assert_eq!(from_words.words("height").unwrap(), outcome.words("height").unwrap());
    // What a run leaves goes in again without losing a bit.
    let again = Heights::words_of(30, 20, scale, outcome.words("height").unwrap());
    let nothing =
        Recipe::on_heights(vec![Step::new("droplets", &[("rain", Value::Integer(0))]).unwrap()])
            .unwrap();
    let same = run(&Job::with_heights(nothing, again).unwrap()).unwrap();
    assert_eq!(same.words("height").unwrap(), outcome.words("height").unwrap());
}

/// A wrong input is an error with its data.
#[test]
fn heights_that_cannot_be_are_refused_with_their_data() {
    let said = |heights: Heights, given: &str, words: &[&str]| {
        let error = Job::with_heights(erosion(), heights).unwrap_err();
        let invalid = error.invalid().unwrap_or_else(|| panic!("{error} is about a value"));
        assert_eq!(invalid.given.as_deref(), Some(given), "{error}");
        words.iter().for_each(|word| assert!(error.to_string().contains(word), "{error}"));
    };
    let mut data = metres(6, 4);
    said(Heights::metres(6, 5, 10.0, &data), "24", &["24 values", "6 x 5"]);
    said(Heights::metres(0, 0, 10.0, &[]), "0", &["0 values"]);
    said(Heights::metres(6, 4, f64::NAN, &data), "NaN", &["spacing_m"]);
    said(Heights::metres(6, 4, 0.0, &data), "0", &["spacing_m"]);
    for (value, shown) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        data[13] = value;
        said(Heights::metres(6, 4, 10.0, &data), shown, &["column 1, row 2", "finite"]);
    }
    let scale = Scale::of(10.0);
    said(Heights::words_of(2, 1, scale, &[0, i32::MAX]), "2147483647", &["column 1, row 0"]);
    let high = [0.0, 1e9];
    let error = Job::with_heights(erosion(), Heights::metres(2, 1, 1.0, &high)).unwrap_err();
    assert!(matches!(error, Error::Limit(_)), "{error}");
    let error = Job::with_heights(erosion(), Heights::metres(40_000, 1, 1.0, &vec![0.0; 40_000]))
        .unwrap_err();
    let Error::Limit(limit) = &error else { panic!("{error}") };
    let numbers = (limit.needed, limit.allowed, limit.unit);
    assert_eq!(numbers, (Some(40_000), Some(32_767), Some("cells a side")), "{error}");
    assert_eq!(error.data().unwrap()["needed"], 40_000);
    // Recipes and heights that do not go together.
    assert!(
        Job::with_heights(recipe(&[HEAD, MAKE]), Heights::metres(2, 1, 1.0, &[0.0, 1.0])).is_err()
    );
    assert!(Job::new(erosion()).is_err());
}

/// An error says where in the recipe it stands, so that a form can show it beside the field.
#[test]
fn errors_point_into_the_recipe() {
    let pointed = |text: &str, pointer: &str, field: &str, given: Option<&str>| {
        let error = Recipe::from_toml(text, "", "test").unwrap_err();
        let invalid = error.invalid().unwrap_or_else(|| panic!("{error}"));
        assert_eq!(
            (invalid.pointer.as_deref(), invalid.field.as_deref()),
            (Some(pointer), Some(field)),
            "{error}"
        );
        assert_eq!(invalid.given.as_deref(), given, "{error}");
    };
    let with = |tail: &str| [HEAD, MAKE, WEAR, tail].concat();
    pointed(&with("rain = 600\n"), "/stage/1/rain", "rain", Some("600"));
    // Of settings that do not go together, the one to change.
    pointed(
        &with("[[stage]]\nkind = \"thermal\"\ncliff_deg = 20\n"),
        "/stage/2/cliff_deg",
        "cliff_deg",
        Some("20"),
    );
    pointed(&with("rian = 6\n"), "/stage/1/rian", "rian", Some("rian"));
    pointed(&with("border = \"opne\"\n"), "/stage/1/border", "border", Some("\"opne\""));
    pointed(&with("[[stage]]\nkind = \"droplet\"\n"), "/stage/2/kind", "kind", Some("droplet"));
    pointed(
        &with("[[stage.interleave]]\nkind = \"thermal\"\nevery = 0\n"),
        "/stage/1/interleave/0/every",
        "every",
        Some("0"),
    );
    pointed(
        &with("[[stage.interleave]]\nkind = \"thermal\"\nevery = 2\nrate = 2\n"),
        "/stage/1/interleave/0/rate",
        "rate",
        Some("2"),
    );
    pointed(
        &with("[output]\nmaps = [\"height\", \"flwo\"]\n"),
        "/output/maps/1",
        "maps",
        Some("flwo"),
    );
    pointed(&with("[output]\nformat = \"jpg\"\n"), "/output/format", "format", Some("jpg"));
    pointed(
        &with("[output]\ncolour = \"biomes\"\n"),
        "/output/colour",
        "colour",
        Some("\"biomes\""),
    );
    pointed(&[HEAD, "sede = 4\n", MAKE].concat(), "/sede", "sede", Some("sede"));
    pointed(
        &[HEAD, "margin_cells = -1\n", MAKE].concat(),
        "/margin_cells",
        "margin_cells",
        Some("-1"),
    );
    pointed(
        &[HEAD, "seed = 1.5\n", MAKE].concat().replacen("seed = 4\n", "", 1),
        "/seed",
        "seed",
        Some("1.5"),
    );
}

/// Every key does, with values that none takes: those of all examples, spelled out, those of all
/// stages, and those of all tables, whether an example has them or not.
#[test]
fn a_wrong_value_of_any_key_is_pointed_at() {
    let land = |kind: &str| {
        serde_json::json!({
            "schema": 2, "width": 65, "height": 65, "spacing_m": 10,
            "stage": [{ "kind": "diamond_square" }, { "kind": kind }],
        })
    };
    let mut wrong: Vec<(serde_json::Value, String)> = vec![];
    // Without dungeons the example that has some is refused.
    let readable = |(name, _): &&(&str, &str)| cfg!(feature = "dungeon") || *name != "dungeons";
    for (name, text) in EXAMPLES.iter().filter(readable) {
        let recipe = Recipe::from_toml(text, "", name).unwrap().describe();
        let mut places = vec![];
        crate::common::places(&recipe, String::new(), &mut places);
        wrong.extend(places.into_iter().map(|place| (recipe.clone(), place)));
    }
    for stage in thalweg::stage::STAGES {
        let places = stage.params.iter().map(|param| format!("/stage/1/{}", param.name));
        wrong.extend(places.map(|place| (land(stage.name), place)));
    }
    let schema = Recipe::schema();
    for (table, keys) in [
        ("", "/properties"),
        ("/levels", "/properties/levels/anyOf/1/properties"),
        ("/water", "/properties/water/properties"),
        ("/output", "/properties/output/properties"),
    ] {
        for key in schema.pointer(keys).unwrap().as_object().unwrap().keys() {
            let mut recipe = land("blur");
            if !table.is_empty() {
                recipe[&table[1..]] = serde_json::json!({});
            }
            wrong.push((recipe, format!("{table}/{key}")));
        }
    }
    for (recipe, place) in wrong.iter().filter(|(_, place)| !place.is_empty()) {
        // Of one value of a list, or one end of a ramp, the error may be about the setting.
        let key = place.trim_end_matches(|c: char| c.is_ascii_digit() || c == '/');
        let key = key.trim_end_matches("/from").trim_end_matches("/to");
        let (parent, last) = place.rsplit_once('/').unwrap();
        for value in [serde_json::json!([[]]), serde_json::json!({ "no": 1 })] {
            let mut recipe = recipe.clone();
            match recipe.pointer_mut(parent).unwrap() {
                serde_json::Value::Array(list) => list[last.parse::<usize>().unwrap()] = value,
                table => table[last] = value,
            }
            let error = recipe.to_string().parse::<Recipe>().unwrap_err();
            let pointer = error.invalid().and_then(|invalid| invalid.pointer.clone());
            assert!(
                pointer.as_ref().is_some_and(|pointer| pointer.starts_with(key)),
                "{place}: {pointer:?}: {error}"
            );
        }
    }
}

/// So does one of a setting that is changed later.
#[test]
fn changed_settings_point_into_the_recipe() {
    let mut recipe =
        recipe(&[HEAD, MAKE, WEAR, "[[stage.interleave]]\nkind = \"thermal\"\nevery = 4\n"]);
    for (text, pointer) in [
        ("droplets.rain=600", "/stage/1/rain"),
        ("2.rian=6", "/stage/1/rian"),
        ("thermal.rate=2", "/stage/1/interleave/0/rate"),
        ("thermal.every=0", "/stage/1/interleave/0/every"),
    ] {
        let error = recipe.set(text).unwrap_err();
        assert_eq!(
            error.invalid().and_then(|invalid| invalid.pointer.as_deref()),
            Some(pointer),
            "{error}"
        );
    }
    recipe.set("thermal.every=8").unwrap();
    recipe.set("2.rain=0.5").unwrap();
    assert_eq!(
        (recipe.stages[1].with[0].every, recipe.stages[1].settings.get("rain")),
        (8, Some(&Value::Number(0.5)))
    );
}

/// Fields of a recipe are public, so what parsing refuses is refused again.
#[test]
fn recipes_changed_in_rust_are_checked() {
    let good = recipe(&[HEAD, MAKE, WEAR, "[[stage.interleave]]\nkind = \"thermal\"\nevery = 4\n"]);
    let refused = |change: &dyn Fn(&mut Recipe), field: &str| {
        let mut recipe = good.clone();
        change(&mut recipe);
        let error = Job::new(recipe).unwrap_err();
        assert_eq!(
            error.invalid().and_then(|invalid| invalid.field.as_deref()),
            Some(field),
            "{error}"
        );
    };
    refused(&|recipe| recipe.margin = u32::MAX, "margin_cells");
    refused(&|recipe| recipe.spacing_m = Some(f64::NAN), "spacing_m");
    refused(&|recipe| recipe.spacing_m = Some(0.0), "spacing_m");
    refused(&|recipe| recipe.window.width = 0, "width");
    refused(&|recipe| recipe.window.origin[1] = i64::MIN, "origin");
    refused(&|recipe| recipe.stages[1].with[0].every = 0, "every");
    refused(&|recipe| recipe.output.maps.push("x".into()), "maps");
    refused(&|recipe| recipe.output.format = "bmp".into(), "format");
}

#[test]
fn unknown_names_are_errors() {
    let mut executor = cpu();
    let outcome =
        Job::new(recipe(&[HEAD, MAKE])).unwrap().run_on(&mut executor, &mut |_| Ok(())).unwrap();
    for error in [
        outcome.map("hieght").map(drop),
        outcome.words("flow").map(drop),
        outcome.digest("").map(drop),
        outcome.map_into("", &mut []),
    ] {
        let error = error.unwrap_err();
        assert!(
            error.invalid().is_some_and(|invalid| invalid.allowed.as_deref() == Some("height")),
            "{error}"
        );
    }
    let land = outcome.map("height").unwrap();
    let mut values = vec![f32::NAN; land.data.len()];
    outcome.map_into("height", &mut values).unwrap();
    assert_eq!(values, land.data);
    let error = outcome.map_into("height", &mut values[1..]).unwrap_err().to_string();
    let cells = land.data.len();
    assert!(error.contains(&format!("{} values", cells - 1)), "{error}");
    assert!(error.contains(&cells.to_string()), "{error}");
    assert!(executor.read("nothing").is_err());
    assert!(
        Preset::find("none").is_err() && Step::new("none", &[]).is_err() && find("none").is_none()
    );
    assert!(Step::new("droplets", &[("none", Value::Integer(1))]).is_err());
    let mut job = Job::new(recipe(&[HEAD, MAKE])).unwrap();
    let map = outcome.map("height").unwrap();
    assert!(job.supply(7, &map).is_err() && job.supply(0, &map).is_err());
}

/// Samples for the land of `HEAD`, by cell.
fn samples(value: impl Fn(usize) -> f32) -> thalweg::Map {
    let data = (0..40 * 24).map(value).collect();
    thalweg::Map { width: 40, height: 24, spacing_m: 1.0, data, range_m: None, georef: None }
}

/// A stage that reads samples needs no file: they may come from memory.
#[test]
fn samples_in_memory_take_the_place_of_a_file() {
    for (layer, from) in [
        ("kind = \"layer\"\nfrom = \"file\"\n", "layer"),
        ("kind = \"biomes\"\nfrom = \"image\"\n", "biomes"),
    ] {
        let recipe = recipe(&[HEAD, MAKE, "[[stage]]\n", layer]);
        let mut job = Job::new(recipe).unwrap();
        let error = run(&job).unwrap_err();
        assert!(
            error.to_string().contains("file = \"\"") && error.to_string().contains(from),
            "{error}"
        );
        job.supply(1, &samples(|i| (i % 2) as f32)).unwrap();
        run(&job).unwrap();
    }
}

/// What stages have read from files or memory is part of what a snapshot is of.
#[test]
fn a_snapshot_is_of_the_samples_that_were_read() {
    let layer = "[[stage]]\nkind = \"layer\"\nmap = \"hardness\"\nfrom = \"file\"\n";
    let job = |value: f32| {
        let mut job = Job::new(recipe(&[HEAD, MAKE, layer, WEAR])).unwrap();
        job.supply(1, &samples(|_| value)).unwrap();
        job
    };
    let snapshot_after = |stage: usize| {
        let mut kept = None;
        let done = job(0.25).run_on(&mut cpu(), &mut |event| match event {
            Event::Stage(after) if after.stage() == stage => {
                kept = Some(after.snapshot()?);
                Err(Error::Cancelled)
            }
            _ => Ok(()),
        });
        assert!(matches!(done, Err(Error::Cancelled)));
        kept.unwrap()
    };
    let whole = |value| Made::of(run(&job(value)).unwrap()).digests;
    // Before the layer is made its samples may be others.
    let resumed = job(0.75).resume_from(snapshot_after(0)).unwrap();
    assert_eq!(Made::of(run(&resumed).unwrap()).digests, whole(0.75));
    let resumed = job(0.25).resume_from(snapshot_after(1)).unwrap();
    assert_eq!(Made::of(run(&resumed).unwrap()).digests, whole(0.25));
    let refused = job(0.75).resume_from(snapshot_after(1)).unwrap_err().to_string();
    assert!(refused.contains("other inputs"), "{refused}");
    assert_ne!(whole(0.75), whole(0.25));
}

#[test]
fn a_cancelled_run_ends_with_an_error_and_leaves_the_executor_usable() {
    let mut executor = cpu();
    let job = Job::new(recipe(&[HEAD, MAKE, WEAR])).unwrap();
    let cancel = job.cancel_handle();
    let mut events = 0;
    let done = job.run_on(&mut executor, &mut |event| {
        if matches!(event, Event::Progress(_)) {
            events += 1;
            cancel.cancel();
        }
        Ok(())
    });
    assert!(matches!(done, Err(Error::Cancelled)) && events > 0);
    assert!(matches!(run(&job), Err(Error::Cancelled)), "it stays cancelled");
    cancel.renew();
    assert!(run(&job).is_ok(), "it may run again");
    // From what watches, without a flag.
    let job = job.cancel_by(Cancel::default());
    let done = job.run_on(&mut executor, &mut |event| match event {
        Event::Progress(at) if at.stage == 1 => Err(Error::Cancelled),
        _ => Ok(()),
    });
    assert!(matches!(done, Err(Error::Cancelled)));
    let made = Made::of(job.run_on(&mut executor, &mut |_| Ok(())).unwrap());
    assert_eq!(made.digests, Made::of(run(&job).unwrap()).digests);
}

/// A run, and the snapshot after each of its stages.
fn with_snapshots(recipe: &Recipe) -> (Outcome, Vec<Vec<u8>>) {
    let mut snapshots = vec![];
    let whole = Job::new(recipe.clone()).unwrap().run_on(&mut cpu(), &mut |event| {
        if let Event::Stage(stage) = event {
            let mut bytes = vec![];
            stage.snapshot()?.write(&mut bytes)?;
            snapshots.push(bytes);
        }
        Ok(())
    });
    (whole.unwrap(), snapshots)
}

/// After any stage a snapshot is taken, written, read, and the run goes on from it to the same
/// words.
#[test]
fn runs_go_on_from_any_snapshot_with_the_same_words() {
    let ground =
        "[output]\nmaps = [\"height\", \"change\", \"sediment\", \"slope\"]\ncolour = \"ground\"\n";
    let recipes = [
        recipe(&[HEAD, MAKE, WEAR, SLIDE]),
        recipe(&[HEAD, "margin_cells = 5\n", MAKE, SAND, WEAR, SLIDE, WEAR, ground]),
        recipe(&[
            HEAD,
            MAKE,
            BIOMES,
            WEAR,
            "[output]\nmaps = [\"biome\", \"biome_colour\", \"rain\", \"hardness\"]\n",
        ]),
    ];
    for recipe in &recipes {
        let (whole, snapshots) = with_snapshots(recipe);
        assert_eq!(snapshots.len(), recipe.stages.len());
        for (done, bytes) in snapshots.iter().enumerate() {
            let snapshot = Snapshot::read(&mut bytes.as_slice()).unwrap();
            assert_eq!(snapshot.stages(), done + 1);
            let resumed = run(&Job::resume(recipe.clone(), snapshot).unwrap()).unwrap();
            for name in whole.names() {
                assert_eq!(
                    resumed.words(name).unwrap(),
                    whole.words(name).unwrap(),
                    "{name} after {done}"
                );
            }
            assert_eq!(resumed.textures, whole.textures);
            assert_eq!(resumed.biomes, whole.biomes);
            assert_eq!(resumed.stages.len(), whole.stages.len());
        }
    }
    // Heights from memory are in the snapshot, and the digest of what it began with.
    let data = metres(30, 20);
    let two = Recipe::on_heights(vec![
        Preset::find("fans").unwrap().step(false).unwrap(),
        Step::new("thermal", &[]).unwrap(),
    ])
    .unwrap();
    let job = Job::with_heights(two.clone(), Heights::metres(30, 20, 10.0, &data)).unwrap();
    let mut kept = None;
    let whole = job.run_on(&mut cpu(), &mut |event| {
        if let Event::Stage(stage) = event
            && stage.stage() == 0
        {
            kept = Some(stage.snapshot()?);
        }
        Ok(())
    });
    let whole = whole.unwrap();
    let resumed = run(&Job::resume(two, kept.unwrap()).unwrap()).unwrap();
    assert_eq!(resumed.words("height").unwrap(), whole.words("height").unwrap());
    assert!(whole.start_digest.is_some() && resumed.start_digest == whole.start_digest);
}

#[test]
fn snapshots_of_other_recipes_and_damaged_ones_are_refused() {
    let first = recipe(&[HEAD, MAKE, WEAR, SLIDE]);
    let mut bytes = vec![];
    let job = Job::new(first.clone()).unwrap();
    let done = job.run_on(&mut cpu(), &mut |event| match event {
        Event::Stage(stage) if stage.stage() == 1 => stage.snapshot()?.write(&mut bytes),
        _ => Ok(()),
    });
    done.unwrap();
    let snapshot = || Snapshot::read(&mut bytes.as_slice()).unwrap();
    let mut others = vec![
        recipe(&[HEAD, MAKE]),
        recipe(&[HEAD, MAKE, SLIDE, WEAR]),
        recipe(&[HEAD, MAKE, WEAR, "rain = 2\n", SLIDE]),
    ];
    others.push(recipe(&[HEAD, "margin_cells = 1\n", MAKE, WEAR, SLIDE]));
    others.push(recipe(&[HEAD, MAKE, WEAR, SLIDE, "[output]\nmaps = [\"erosion\"]\n"]));
    let mut seed = first.clone();
    seed.seed += 1;
    others.push(seed);
    for other in others {
        let error = Job::resume(other, snapshot()).unwrap_err();
        assert!(
            error.to_string().contains("another recipe")
                && error.to_string().contains("diamond_square, droplets"),
            "{error}"
        );
    }
    // Later stages and other outputs are free.
    let mut longer =
        recipe(&[HEAD, MAKE, WEAR, SLIDE, SLIDE, "[output]\nmaps = [\"height\", \"slope\"]\n"]);
    longer.name = "another name".into();
    assert_eq!(run(&Job::resume(longer, snapshot()).unwrap()).unwrap().stages.len(), 4);
    // Cut off anywhere in its head, or flipped anywhere: an error that names the fault.
    let damaged = |bytes: &[u8]| matches!(Snapshot::read(&mut &*bytes), Err(Error::Input { .. }));
    for end in (0..400.min(bytes.len())).chain([bytes.len() - 40, bytes.len() - 1]) {
        assert!(damaged(&bytes[..end]), "cut off at {end}");
    }
    for at in (0..bytes.len()).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 16;
        assert!(damaged(&flipped), "flipped at {at}");
    }
}

/// A snapshot with another header and other buffers, and the digest of that.
fn forged(
    snapshot: &[u8],
    change: impl FnOnce(&mut serde_json::Value, &mut Vec<&[u8]>),
) -> Snapshot {
    let (magic, rest) = snapshot.split_at("thalweg snapshot 4\n".len());
    let (length, rest) = rest.split_first_chunk().unwrap();
    let (header, mut words) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let lengths = |key: &str| header[key].as_array().unwrap().iter();
    let mut buffers = vec![];
    for length in lengths("buffers").chain(lengths("levels")) {
        let (buffer, rest) = words.split_at(length[1].as_u64().unwrap() as usize * 4);
        buffers.push(buffer);
        words = rest;
    }
    change(&mut header, &mut buffers);
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let mut bytes = [magic, &length, header.as_bytes(), &buffers.concat()].concat();
    bytes.extend(blake3::hash(&bytes).as_bytes());
    Snapshot::read(&mut bytes.as_slice()).unwrap()
}

/// A digest does not say who made a snapshot. One that lacks a buffer, or that says it is of a run
/// to another level, is an error, unless that run would have come to the same.
#[test]
fn snapshots_of_no_run_are_errors() {
    let levels = "levels = 2\n[output]\nmaps = [\"height\", \"flow\"]\n";
    let maps = "[output]\nmaps = [\"height\", \"change\", \"sediment\", \"flow\"]\n";
    let recipes = [
        recipe(&[HEAD, MAKE, SAND, WEAR, SLIDE, WEAR, maps]),
        recipe(&[&HEAD.replace("40", "96").replace("24", "64"), levels, MAKE, WEAR, SLIDE]),
    ];
    let (mut lacking, mut other, mut same) = (0, 0, 0);
    for recipe in &recipes {
        let (whole, snapshots) = with_snapshots(recipe);
        let ran = |snapshot| Job::resume(recipe.clone(), snapshot).and_then(|job| run(&job));
        for (done, bytes) in (1..).zip(&snapshots) {
            let mut count = 0;
            forged(bytes, |header, _| count = header["buffers"].as_array().unwrap().len());
            for lost in 0..count {
                let snapshot = forged(bytes, |header, buffers| {
                    header["buffers"].as_array_mut().unwrap().remove(lost);
                    buffers.remove(lost);
                });
                match ran(snapshot) {
                    // No stage to come reads it.
                    Ok(outcome) => whole.names().for_each(|name| {
                        let words = [&outcome, &whole].map(|outcome| outcome.words(name).unwrap());
                        assert_eq!(words[0], words[1], "{name} without {lost} after {done}");
                    }),
                    Err(_) => lacking += 1,
                }
            }
            let Ok(ended) = Job::new(recipe.clone()).unwrap().until_level(1) else { continue };
            match ran(forged(bytes, |header, _| header["until_level"] = 1.into())) {
                Ok(outcome) => {
                    let ended = run(&ended).unwrap();
                    assert_eq!(outcome.words("height").unwrap(), ended.words("height").unwrap());
                    same += 1;
                }
                Err(_) => other += 1,
            }
        }
    }
    assert!(lacking > 10 && other > 2 && same > 0, "{lacking}, {other}, {same}");
}

/// The device fails in the middle of a run: an error value, and nothing half-written.
#[cfg(feature = "gpu")]
mod gpu {
    use super::*;
    use crate::common::gpu;

    #[test]
    fn a_device_that_is_lost_is_an_error() {
        let Some(mut gpu) = gpu("job::a_device_that_is_lost_is_an_error", 64, None) else { return };
        let job = Job::new(recipe(&[HEAD, MAKE, WEAR])).unwrap();
        gpu.lose();
        let done = job.run_on(&mut gpu, &mut |_| Ok(()));
        assert!(matches!(done, Err(Error::Device(_))));
    }

    fn own() -> Option<(thalweg::wgpu::Device, thalweg::wgpu::Queue)> {
        gpu("job::own", 64, None)?;
        use thalweg::wgpu;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter =
            pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
                .unwrap();
        let limits = thalweg::Gpu::required_limits(0);
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        Some(pollster::block_on(adapter.request_device(&descriptor)).unwrap())
    }

    #[test]
    fn a_device_of_the_callers_makes_the_same_words_and_keeps_them() {
        let Some((device, queue)) = own() else { return };
        let mut gpu = thalweg::Gpu::from_device(device, queue).unwrap();
        let job = Job::new(recipe(&[HEAD, MAKE, WEAR])).unwrap();
        let reports = job.compute_on(&mut gpu, &mut |_| Ok(())).unwrap();
        assert_eq!(reports.len(), 2);
        assert_eq!(gpu.read("height").unwrap(), run(&job).unwrap().words("height").unwrap());
        let buffer = gpu.take_buffer("height").unwrap();
        assert!(buffer.size() >= 40 * 24 * 4);
        assert!(
            gpu.take_buffer("height").is_err() && gpu.read("height").is_err(),
            "it is the caller's now"
        );
        // The executor goes on without it.
        let outcome = job.run_on(&mut gpu, &mut |_| Ok(())).unwrap();
        assert_eq!(outcome.words("height").unwrap(), run(&job).unwrap().words("height").unwrap());
    }

    #[test]
    fn a_device_of_the_callers_that_is_lost_in_mid_run_is_an_error() {
        let Some((device, queue)) = own() else { return };
        let mut gpu = thalweg::Gpu::from_device(device.clone(), queue).unwrap();
        let job = Job::new(recipe(&[HEAD, MAKE, WEAR])).unwrap();
        let done = job.compute_on(&mut gpu, &mut |event| {
            if let Event::Stage(_) = event {
                device.destroy();
            }
            Ok(())
        });
        assert!(matches!(done, Err(Error::Device(_))), "{done:?}");
    }

    #[test]
    fn a_device_with_too_low_limits_is_refused_by_name() {
        if gpu("job::limits", 64, None).is_none() {
            return;
        }
        use thalweg::wgpu;
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter =
            pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
                .unwrap();
        let low = wgpu::Limits {
            max_storage_buffers_per_shader_stage: 4,
            ..thalweg::Gpu::required_limits(0)
        };
        let descriptor = wgpu::DeviceDescriptor { required_limits: low, ..Default::default() };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
        let error = thalweg::Gpu::from_device(device, queue).err().expect("refused").to_string();
        assert!(
            error.contains("max_storage_buffers_per_shader_stage = 4")
                && error.contains("8 or more"),
            "{error}"
        );
    }
}

/// Bundles: the same files wherever they go, and nothing where the run fails.
#[cfg(feature = "io")]
mod sinks {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{Cursor, Read};
    use thalweg::bundle::TimelapseOptions;
    use thalweg::io::FilmFormat;
    use thalweg::{Device, Folder, Memory, Sink, Zip};

    fn job() -> Job {
        let output = "[output]\nmaps = [\"height\", \"erosion\"]\nformat = \"npy\"\n";
        Job::new(recipe(&[HEAD, MAKE, WEAR, output])).unwrap().device(Device::Cpu).threads(1)
    }

    fn files(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            if entry.is_dir() {
                all.extend(
                    files(&entry)
                        .into_iter()
                        .map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)),
                );
            } else {
                all.insert(name, std::fs::read(entry).unwrap());
            }
        }
        all
    }

    #[test]
    fn a_folder_a_zip_and_memory_hold_the_same_files() {
        let timelapse = TimelapseOptions::of(3, 64, FilmFormat::Apng);
        let root = std::env::temp_dir().join(format!("thalweg-sinks-{}", std::process::id()));
        let run =
            |sink: &mut dyn Sink| job().run_into(sink, Some(&timelapse), &mut |_| Ok(())).unwrap();
        let mut memory = Memory::default();
        let bundle = run(&mut memory);
        let names: Vec<&str> = memory.files.keys().map(String::as_str).collect();
        let expected = [
            "erosion.npy",
            "frames/0000.png",
            "frames/0001.png",
            "frames/0002.png",
            "height.npy",
            "manifest.json",
            "preview.png",
            "timelapse.apng",
        ];
        assert_eq!(names, expected);
        assert_eq!(bundle.files.len() + bundle.timelapse.len(), expected.len());
        for stored in bundle.files.iter().chain(&bundle.timelapse) {
            let bytes = &memory.files[&*stored.path.to_string_lossy()];
            assert_eq!(
                (stored.bytes, &stored.blake3),
                (bytes.len() as u64, &blake3::hash(bytes).to_hex().to_string())
            );
        }
        let mut folder = Folder::for_bundle(&root, false);
        run(&mut folder);
        drop(folder);
        assert_eq!(files(&root), memory.files);
        std::fs::remove_dir_all(&root).unwrap();
        let mut bytes = vec![];
        let mut archive = Zip::new(Cursor::new(&mut bytes));
        run(&mut archive);
        drop(archive);
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut found = BTreeMap::new();
        for i in 0..archive.len() {
            let mut file = archive.by_index(i).unwrap();
            let mut bytes = vec![];
            file.read_to_end(&mut bytes).unwrap();
            found.insert(file.name().unwrap().into_owned(), bytes);
        }
        assert_eq!(found, memory.files);
    }

    /// What a run has left is stored later, as often as one likes, with the bytes of a run into
    /// files. The job of another recipe or input refuses it and writes nothing.
    #[test]
    fn an_outcome_is_stored_with_the_bytes_of_its_run() {
        let outcome = std::sync::Arc::new(job().run(&mut |_| Ok(())).unwrap());
        let mut expected = Memory::default();
        job().run_into(&mut expected, None, &mut |_| Ok(())).unwrap();
        for _ in 0..2 {
            let mut stored = Memory::default();
            let bundle = job().store(outcome.clone(), &mut stored, &mut |_| Ok(())).unwrap();
            assert_eq!(stored, expected);
            assert_eq!(bundle.files.len(), expected.files.len());
        }
        let mut recipe = job().recipe().clone();
        recipe.seed += 1;
        let other = Job::new(recipe).unwrap();
        // The same recipe on other heights is another run.
        let on = |metres: f32| {
            let data: Vec<f32> = (0..600u16).map(|i| metres * f32::from(i % 30)).collect();
            Job::with_heights(erosion(), Heights::metres(30, 20, 10.0, &data)).unwrap()
        };
        let outcome = [outcome, std::sync::Arc::new(on(1.0).run(&mut |_| Ok(())).unwrap())];
        for (wrong, outcome) in [other, on(2.0)].iter().zip(outcome) {
            let mut stored = Memory::default();
            let error = wrong.store(outcome, &mut stored, &mut |_| Ok(())).unwrap_err();
            assert!(error.to_string().contains("that of another run"), "{error}");
            assert_eq!(stored, Memory::default());
        }
    }

    /// The bundle of a run that was resumed is that of one that was not interrupted.
    #[test]
    fn a_resumed_run_has_the_bundle_of_the_whole_one() {
        let mut kept = None;
        let mut whole = Memory::default();
        let bundle = job().run_into(&mut whole, None, &mut |event| {
            if let Event::Stage(stage) = event
                && stage.stage() == 0
            {
                kept = Some(stage.snapshot()?);
            }
            Ok(())
        });
        bundle.unwrap();
        let mut resumed = Memory::default();
        let job = Job::resume(job().recipe().clone(), kept.unwrap()).unwrap().device(Device::Cpu);
        job.run_into(&mut resumed, None, &mut |_| Ok(())).unwrap();
        assert_eq!(resumed, whole);
    }

    /// The range and the place of an input are in the snapshot: the files of a resumed run need
    /// them.
    #[test]
    fn a_resumed_run_has_the_inputs_range_and_place() {
        let georef = thalweg::Georef {
            epsg: Some(32633),
            west: 5e5,
            north: 5e6,
            cell: (10.0, 10.0),
            keys: None,
        };
        let map = thalweg::Map {
            width: 30,
            height: 20,
            spacing_m: 10.0,
            data: metres(30, 20),
            range_m: Some((-100.0, 900.0)),
            georef: Some(georef),
        };
        let mut recipe = Recipe::on_heights(vec![
            Preset::find("fans").unwrap().step(false).unwrap(),
            Step::new("thermal", &[]).unwrap(),
        ])
        .unwrap();
        recipe.output.format = "png".into();
        let job = Job::with_heights(recipe.clone(), &map).unwrap().device(Device::Cpu);
        let (mut kept, mut whole, mut resumed) = (vec![], Memory::default(), Memory::default());
        let bundle = job.run_into(&mut whole, None, &mut |event| match event {
            Event::Stage(stage) if stage.stage() == 0 => stage.snapshot()?.write(&mut kept),
            _ => Ok(()),
        });
        assert_eq!(bundle.unwrap().outcome.map("height").unwrap().georef, map.georef);
        let job = Job::resume(recipe, Snapshot::read(&mut kept.as_slice()).unwrap())
            .unwrap()
            .device(Device::Cpu);
        let bundle = job.run_into(&mut resumed, None, &mut |_| Ok(())).unwrap();
        assert_eq!(bundle.outcome.map("height").unwrap().georef, map.georef);
        assert_eq!(resumed, whole);
    }

    /// A folder that may not replace files keeps what it has, and an archive of a failed run is
    /// empty.
    #[test]
    fn files_that_exist_stay_and_failed_archives_are_empty() {
        let root = std::env::temp_dir().join(format!("thalweg-stay-{}", std::process::id()));
        job().run_into(&mut Folder::for_bundle(&root, false), None, &mut |_| Ok(())).unwrap();
        let before = files(&root);
        let again = job().run_into(&mut Folder::for_bundle(&root, false), None, &mut |_| Ok(()));
        assert!(matches!(again, Err(Error::Output { .. })));
        assert_eq!(files(&root), before);
        std::fs::remove_dir_all(&root).unwrap();
        let mut bytes = vec![];
        let mut archive = Zip::new(Cursor::new(&mut bytes));
        let failed = job().run_into(
            &mut archive,
            Some(&TimelapseOptions::of(3, 64, FilmFormat::Apng)),
            &mut |event| match event {
                Event::Stage(_) => Err(Error::Cancelled),
                _ => Ok(()),
            },
        );
        assert!(matches!(failed, Err(Error::Cancelled)));
        drop(archive);
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_run_that_fails_leaves_no_file() {
        let root = std::env::temp_dir().join(format!("thalweg-fails-{}", std::process::id()));
        for stage in 0..2 {
            let mut folder = Folder::for_bundle(&root, false);
            let timelapse = TimelapseOptions::of(3, 64, FilmFormat::Apng);
            let done = job().run_into(&mut folder, Some(&timelapse), &mut |event| match event {
                Event::Stage(after) if after.stage() == stage => Err(Error::Cancelled),
                _ => Ok(()),
            });
            assert!(matches!(done, Err(Error::Cancelled)));
            drop(folder);
            assert!(!root.exists(), "stage {stage}");
        }
    }
}

/// What particles carry over open borders is in the report, and the land has lost just that.
/// Nothing leaves a land with walls, or one among higher land.
#[test]
fn the_report_says_what_left_the_land() {
    let words = |outcome: &Outcome| {
        outcome.words("height").unwrap().iter().map(|h| i64::from(*h)).sum::<i64>()
    };
    let before = words(&run(&Job::new(recipe(&[HEAD, MAKE])).unwrap()).unwrap());
    for (border, leaves) in [("open", true), ("wall", false), ("high", false)] {
        let rain =
            format!("[[stage]]\nkind = \"droplets\"\nlifetime = 24\nborder = \"{border}\"\n");
        let after = run(&Job::new(recipe(&[HEAD, MAKE, &rain])).unwrap()).unwrap();
        let exported_m3 = after.stages[1].exported_m3.unwrap();
        assert_eq!(after.stages[0].exported_m3, None);
        // A cell is 20 m wide, and 2¹⁸ units high.
        let units = exported_m3 / 8000.0 * 262144.0;
        let lost = (before - words(&after)) as f64;
        println!("{border}: {exported_m3} m3, {units} units, lost {lost}");
        assert_eq!(units, lost);
        assert_eq!(exported_m3 > 0.0, leaves);
        assert_eq!(after.stages[1].lost_m3, None, "{border}");
    }
}

/// With `wash`, what leaves the land at once is in the report, to the unit, also where nothing
/// leaves over a border; and the more, the higher the share.
#[test]
fn the_report_says_what_was_washed_out() {
    let words = |outcome: &Outcome| {
        outcome.words("height").unwrap().iter().map(|h| i64::from(*h)).sum::<i64>()
    };
    let before = words(&run(&Job::new(recipe(&[HEAD, MAKE])).unwrap()).unwrap());
    for kind in ["droplets\"\nlifetime = 24", "snowballs\"\nrain = 1\nloads = \"left\""] {
        let mut all = vec![];
        for wash in [0.0, 0.25, 1.0] {
            let rain = format!("[[stage]]\nkind = \"{kind}\nborder = \"wall\"\nwash = {wash}\n");
            let after = run(&Job::new(recipe(&[HEAD, MAKE, &rain])).unwrap()).unwrap();
            let report = &after.stages[1];
            let exported_m3 = report.exported_m3.unwrap();
            println!("{kind}, wash {wash}: {exported_m3} m3, lost {:?}", report.lost_m3);
            // A cell is 20 m wide, and 2¹⁸ units high.
            assert_eq!(
                exported_m3 / 8000.0 * 262144.0,
                (before - words(&after)) as f64,
                "{kind}, wash {wash}"
            );
            all.push(exported_m3 - report.lost_m3.unwrap_or(0.0));
        }
        assert!(all[0] == 0.0 && all[1] > 0.0 && all[2] > all[1], "{kind}: {all:?}");
    }
}

/// Loads that end with their snowballs are named apart from what left over the border. Those that
/// are left where their snowballs end are not lost.
/// Holds A30.
#[test]
fn the_report_says_what_vanished_with_snowballs() {
    let words = |outcome: &Outcome| {
        outcome.words("height").unwrap().iter().map(|h| i64::from(*h)).sum::<i64>()
    };
    let before = words(&run(&Job::new(recipe(&[HEAD, MAKE])).unwrap()).unwrap());
    let mut lost = vec![];
    for (border, loads) in [("wall", "lost"), ("open", "lost"), ("wall", "left"), ("open", "left")]
    {
        let rain = format!(
            "[[stage]]\nkind = \"snowballs\"\nborder = \"{border}\"\nloads = \"{loads}\"\n"
        );
        let after = run(&Job::new(recipe(&[HEAD, MAKE, &rain])).unwrap()).unwrap();
        let [exported_m3, lost_m3] =
            [after.stages[1].exported_m3, after.stages[1].lost_m3].map(|m3| m3.unwrap_or(0.0));
        println!("{border}, {loads}: {exported_m3} m3, of which {lost_m3} lost");
        assert_eq!(
            exported_m3 / 8000.0 * 262144.0,
            (before - words(&after)) as f64,
            "{border}, {loads}"
        );
        lost.push(lost_m3);
        assert_eq!(exported_m3 > lost_m3, border == "open", "{border}, {loads}");
    }
    // What is more than a sum can hold where many end together is lost in any case.
    assert!(
        lost[0] > 0.0 && lost[1] > 0.0 && lost[2] < lost[0] / 20.0 && lost[3] < lost[1] / 20.0,
        "{lost:?}"
    );
}

/// What finds no place on the ground when a stage ends is in the report, to the unit, and apart
/// from what left over the border: the land has lost as much with walls and on a torus (P7, M6).
#[test]
fn the_report_says_what_found_no_place() {
    let words = |outcome: &Outcome| {
        outcome.words("height").unwrap().iter().map(|h| i64::from(*h)).sum::<i64>()
    };
    let wide = "schema = 2\nseed = 1010\nwidth = 117\nheight = 59\nspacing_m = 1\n[[stage]]\n\
                kind = \"noise\"\nrelief_m = 25\n\
                feature_cells = 8\noctaves = 3\n[[stage]]\nkind = \"layer\"\nmap = \"sediment\"\n\
                from = \"constant\"\nthickness_m = 5\n";
    let torus = "schema = 2\nseed = 88\nwidth = 69\nheight = 114\nspacing_m = 10\n[[stage]]\n\
                 kind = \"noise\"\nrelief_m = 10\n\
                 feature_cells = 20\noctaves = 3\n";
    for (land, rain, loses) in [
        (
            wide,
            "lifetime = 150\ninertia = 0.436751\nriver_threshold = 38.817029\nslope_min = \
             0.262837\n\
             erosion = 0.770545\ndeposition = 0\n\
             evaporation = 0.00718368\nradius_cells = 6\nborder = \"wall\"\ndensity = 1\nrain = \
                 1\n",
            1.0,
        ),
        (
            torus,
            "rain = 10\nlifetime = 40\ncapacity = 0.00326929\nriver_threshold = 410200.29\n\
             erosion = 0.464436\nevaporation = 0.00552550\n\
             radius_cells = 28.186025\nborder = \"torus\"\ndensity = 1\n",
            -1.0,
        ),
    ] {
        let before = words(&run(&Job::new(recipe(&[land])).unwrap()).unwrap());
        let after =
            run(&Job::new(recipe(&[land, "[[stage]]\nkind = \"droplets\"\n", rain])).unwrap())
                .unwrap();
        let report = after.stages.last().unwrap();
        let cell = if land == wide { 1.0 } else { 1000.0 };
        println!("{:?} m3, of which {:?} lost", report.exported_m3, report.lost_m3);
        assert_eq!(report.exported_m3.unwrap() / cell * 262144.0, (before - words(&after)) as f64);
        assert_eq!(report.exported_m3, report.lost_m3, "nothing leaves over the border");
        assert_eq!(report.lost_m3.unwrap().signum(), loses);
    }
}

/// A game asks for the weights of a cell, of a biome and of a chunk (B-2). They agree with the
/// textures, which have 8 bits.
/// Holds E1, E18 in part.
#[test]
fn the_weights_of_every_biome_are_at_hand() {
    let recipe = recipe(&[
        HEAD,
        MAKE,
        &BIOMES.replace(
            "splat = true",
            "splat = true\nweights = \"npy\"\nfeature_cells = 30\npadding_cells = 3\nfrequency = \
             0.3",
        ),
    ]);
    let outcome = run(&Job::new(recipe).unwrap()).unwrap();
    let all = outcome.weights.as_ref().expect("weights");
    assert_eq!((all.width, all.height, all.biomes.join(" ").as_str()), (40, 24, "fen moor"));
    let mut mixed = 0;
    for (i, texel) in outcome.textures[0].rgba.chunks(4).enumerate() {
        let cell: Vec<(usize, u16)> = all.at(i as u32 % 40, i as u32 / 40).collect();
        assert_eq!(cell.iter().map(|(_, weight)| u32::from(*weight)).sum::<u32>(), 65535);
        for (biome, weight) in &cell {
            assert_eq!(all.of(*biome).map(|plane| plane[i]), Some(*weight));
            assert!(
                (f64::from(*weight) / 257.0 - f64::from(texel[*biome])).abs() < 1.01,
                "{cell:?} and {texel:?}"
            );
        }
        mixed += (cell.len() == 2) as usize;
    }
    assert!(mixed > 20 && mixed < 900, "{mixed} cells have both");
    assert_eq!((all.of(2), all.at(40, 0).count(), all.at(0, 24).count()), (None, 0, 0));
    let part = all.part([8, 16], [16, 8]).unwrap();
    assert_eq!((part.width, part.height, part.values.len()), (16, 8, 2 * 16 * 8));
    for (x, y) in (0..8).flat_map(|y| (0..16).map(move |x| (x, y))) {
        assert!(part.at(x, y).eq(all.at(8 + x, 16 + y)));
    }
    let refused = all.part([30, 0], [16, 8]).unwrap_err().to_string();
    assert!(
        refused.contains("16 x 8 cells from column 30, row 0") && refused.contains("40 x 24"),
        "{refused}"
    );
}

/// M5: a recipe may begin with biomes: it has the words of one with level ground before them. (It
/// was refused.)
/// Holds E18.
#[test]
fn biomes_may_be_the_first_stage() {
    let biomes = BIOMES
        .replace("splat = true", "heights = \"replace\"\nfeature_cells = 30")
        .replace("name = \"fen\"", "name = \"fen\"\nbase_m = 40")
        + "[output]\nmaps = [\"height\", \"biome\"]\n";
    let first = Job::new(recipe(&[HEAD, &biomes])).unwrap();
    let second = Job::new(recipe(&[HEAD, "[[stage]]\nkind = \"flat\"\n", &biomes])).unwrap();
    let [first, second] = [first, second].map(|job| run(&job).unwrap());
    let heights = first.words("height").unwrap();
    assert!(heights.iter().any(|height| *height != heights[0]), "biomes have heights of their own");
    for map in ["height", "biome"] {
        assert_eq!(first.words(map).unwrap(), second.words(map).unwrap(), "{map}");
    }
    // What the manifest has is a recipe, and the same one.
    let again =
        thalweg::recipe::Recipe::from_json(&first.recipe.describe().to_string(), "", "again")
            .unwrap();
    assert_eq!(run(&Job::new(again).unwrap()).unwrap().words("height").unwrap(), heights);
}

/// Beyond the square of its world diamond_square is level, which is said.
#[test]
fn a_land_beyond_its_world_is_warned_of() {
    let said = |changes: &str, edge: &str| -> Vec<String> {
        let job = Job::new(recipe(&[HEAD, changes, MAKE, edge])).unwrap();
        assert!(job.warnings().iter().all(|(file, _)| file.is_none()));
        job.warnings().iter().map(|(_, warning)| warning.clone()).collect()
    };
    // 40 x 24 cells. The last vertices of a world of 256 cells are at 256.
    assert!(said("origin = [217, 233]\n", "").is_empty());
    assert!(said("origin = [-20, 0]\n", "edge = \"torus\"\n").is_empty());
    for (origin, share) in
        [("[237, 0]", 50), ("[0, -6]", 25), ("[237, -6]", 63), ("[257, 0]", 100), ("[-40, 0]", 100)]
    {
        let warnings = said(&format!("origin = {origin}\n"), "");
        let [warning] = &warnings[..] else { panic!("{origin}: {warnings:?}") };
        assert!(
            warning.starts_with(&format!(
                "stage 1, diamond_square: world_cells = 256 cells: {share} % of the land"
            )),
            "{warning}"
        );
    }
    let endless = said("endless = true\nlevels = 2\n", WEAR);
    assert!(endless.len() == 1 && endless[0].contains("goes on beyond it"), "{endless:?}");
}

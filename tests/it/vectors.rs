//! Terrain changes only on purpose: the digest of every case, as it was when last looked at. And
//! what the host does has its digests in `src/identity.txt`, so that another host is another
//! edition (P3).

use crate::common::{cases, cpu, plan};
use std::fmt::Write;
use thalweg::job::digest;
use thalweg::plan::{Buffer, Fill, Plan};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors.txt");
#[cfg(all(feature = "io", feature = "dungeon"))]
const DUNGEONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/dungeon_vectors.txt");
const HEAD: &str = "# stage case digest: BLAKE3 of the words of the buffers that outlive the \
                    stage, little-endian, in the order of the plan.\n";

#[cfg(feature = "dungeon")]
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples.txt");
#[cfg(feature = "dungeon")]
const EXAMPLES_HEAD: &str = "# example digest: of its height on 128 cells a side. `tests/web` holds \
                             pages and Node to it.\n";

/// The digests of what the host does: see `src/identity.rs`.
#[cfg(all(feature = "io", feature = "dungeon"))]
const IDENTITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/identity.txt");
#[cfg(all(feature = "io", feature = "dungeon"))]
const IDENTITY_HEAD: &str = "# Digests of what the host does: see identity.rs. `THALWEG_BLESS=1 \
                             cargo test --test it vectors` writes this file.\n";

/// Everything of a plan, as text.
fn written(plan: &Plan) -> String {
    let mut text = String::new();
    for Buffer { name, shape, words, fill, keep } in &plan.buffers {
        let filled = match fill {
            Fill::Words(words) => digest(words),
            other => format!("{other:?}"),
        };
        writeln!(text, "{name} {shape:?} {words} {filled} {keep:?}").unwrap();
    }
    for pass in &plan.passes {
        let params = blake3::hash(&pass.uniform.bytes()).to_hex();
        writeln!(
            text,
            "{} {:?} {:?} {:?} {params}",
            pass.kernel.entry, pass.range, pass.swaps, pass.constant
        )
        .unwrap();
    }
    writeln!(text, "{:?} {:?}", plan.steps, plan.interim).unwrap();
    text
}

/// A plan that differs in a word of a table, a member of a uniform struct, a pass or a step is
/// another plan.
#[test]
fn a_changed_plan_is_another() {
    let (stage, case) = cases().find(|(stage, _)| stage.name == "droplets").unwrap();
    let plan = || plan(stage, &case);
    let usual = written(&plan());
    assert_eq!(usual, written(&plan()));
    let changed = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan();
        change(&mut plan);
        assert_ne!(written(&plan), usual);
    };
    changed(&|plan| {
        let table = plan.buffers.iter_mut().find_map(|buffer| {
            if let Fill::Words(words) = &mut buffer.fill { Some(words) } else { None }
        });
        table.unwrap()[0] += 1;
    });
    changed(&|plan| {
        plan.passes[1].uniform = plan.passes[0].uniform.followed_by(&plan.passes[0].uniform)
    });
    changed(&|plan| drop(plan.passes.pop()));
    changed(&|plan| plan.passes.swap(0, 1));
    changed(&|plan| plan.steps.truncate(1));
}

/// A recipe of every map, each in one of the formats of files, and with more lines at its end.
#[cfg(all(feature = "io", feature = "dungeon"))]
pub fn every_map(more: &str) -> thalweg::Recipe {
    let mut recipe = thalweg::Recipe::from_toml(&format!("{ALL}{more}"), "", "all").unwrap();
    recipe.output.maps = recipe.fields().iter().map(|field| field.name.to_string()).collect();
    let formats = ["tif", "png", "exr", "npy", "r32", "asc"].iter().cycle();
    recipe.output.formats = recipe
        .output
        .maps
        .iter()
        .zip(formats)
        .map(|(map, format)| (map.clone(), format.to_string()))
        .collect();
    recipe.check().unwrap();
    recipe
}

/// The files of its run: of what follows from words, and of how files are written.
#[cfg(all(feature = "io", feature = "dungeon"))]
fn files() -> String {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("vectors-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let job = thalweg::Job::new(every_map("")).unwrap().device(thalweg::Device::Cpu);
    let bundle = job
        .run_into(&mut thalweg::Folder::for_bundle(&folder, true), None, &mut |_| Ok(()))
        .unwrap();
    let name = |file: &thalweg::Stored| {
        file.path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/")
    };
    let mut files: Vec<String> =
        bundle.files.iter().map(|file| format!("{} {}\n", name(file), file.blake3)).collect();
    std::fs::remove_dir_all(&folder).unwrap();
    // The manifest has the version in it.
    files.retain(|line| !line.starts_with("manifest.json"));
    files.sort();
    assert!(files.len() > 25, "{files:?}");
    files.concat()
}

/// Every kind of map, rivers as vectors, and dungeons.
#[cfg(all(feature = "io", feature = "dungeon"))]
const ALL: &str = r##"
schema = 2
seed = 7
width = 128
height = 112
spacing_m = 20
levels = 2
[[stage]]
kind = "island"
[[stage]]
kind = "biomes"
[[stage.biome]]
name = "sea"
colour = "#2060a0"
base_m = -100
[[stage.biome]]
name = "plain"
colour = "#70d688"
base_m = 40
[[stage]]
kind = "layer"
map = "sediment"
thickness_m = 3
[[stage]]
kind = "droplets"
lifetime = 24
[[stage.interleave]]
kind = "thermal"
every = 8
steps = 2
[[stage]]
kind = "wind"
lifetime = 8
[[stage]]
kind = "shore"
[water]
sea_level_m = 0
channel_area_km2 = 0.05
vectors = ["geojson", "gpkg"]
[output]
preview = false
"##;

#[test]
fn terrain_is_what_it_was() {
    let mut text = HEAD.to_string();
    let mut plans = blake3::Hasher::new();
    for (stage, case) in cases() {
        let plan = plan(stage, &case);
        plans.update(format!("{} {}\n{}", stage.name, case.name, written(&plan)).as_bytes());
        let left = plan.kept().map(|buffer| buffer.words).sum::<usize>();
        assert!(left > 0, "{} {} leaves nothing", stage.name, case.name);
        let words = thalweg::vectors::digest(stage, &case, &mut cpu()).unwrap();
        writeln!(text, "{} {} {words}", stage.name, case.name).unwrap();
    }
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(PATH, &text).unwrap();
    }
    let stored = std::fs::read_to_string(PATH).unwrap_or_default();
    let changed: Vec<&str> = text.lines().filter(|l| !stored.lines().any(|s| s == *l)).collect();
    let gone: Vec<&str> = stored.lines().filter(|l| !text.lines().any(|s| s == *l)).collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "terrain changed: now {changed:#?}, stored {gone:#?}\n\
         If this was meant, look at pictures, run\n    THALWEG_BLESS=1 cargo test --test it \
         vectors\nand say so in CHANGELOG.md under Terrain."
    );
    #[cfg(all(feature = "io", feature = "dungeon"))]
    {
        let plans = plans.finalize().to_hex();
        let dungeons = std::fs::read_to_string(DUNGEONS).unwrap();
        let [words, dungeons, files] =
            [&text, &dungeons, &files()].map(|text| blake3::hash(text.as_bytes()).to_hex());
        let host = format!(
            "{IDENTITY_HEAD}plans {plans}\nwords {words}\ndungeons {dungeons}\nfiles {files}\n"
        );
        if std::env::var("THALWEG_BLESS").is_ok() {
            std::fs::write(IDENTITY, &host).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(IDENTITY).unwrap_or_default(),
            host,
            "what the host does changed, so this is another edition: run\n    THALWEG_BLESS=1 \
             cargo test --test it vectors\nand commit src/identity.txt"
        );
    }
}

/// Words that are not the stored ones are named.
#[test]
fn cases_with_other_words_are_named() {
    use thalweg::vectors::{DIGESTS, Differing, check};
    let (stage, case) = cases().find(|(stage, _)| stage.name == "droplets").unwrap();
    let name = format!("{} {}", stage.name, case.name);
    let line = DIGESTS.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    let last = if line.ends_with('0') { "1" } else { "0" };
    let other = DIGESTS.replace(line, &(line[..line.len() - 1].to_string() + last));
    let made = line.rsplit(' ').next().unwrap().to_string();
    let stored = Some(made[..made.len() - 1].to_string() + last);
    // All lines of the file but the first, which is a comment.
    let digest = blake3::hash(DIGESTS.split_once('\n').unwrap().1.as_bytes()).to_hex();
    let none = DIGESTS.replace(line, "");
    for (lines, differing) in [
        (DIGESTS, vec![]),
        (&other, vec![Differing { name: name.clone(), made: made.clone(), stored }]),
        (&none, vec![Differing { name, made, stored: None }]),
    ] {
        let checked = check(&mut cpu(), lines, &mut || Ok(())).unwrap();
        assert_eq!((checked.cases, &*checked.digest), (cases().count(), digest.as_str()));
        assert_eq!(checked.differing, differing);
    }
    let mut left = 3;
    let mut stop = || {
        left -= 1;
        if left == 0 { Err(thalweg::Error::Cancelled) } else { Ok(()) }
    };
    let stopped = check(&mut cpu(), DIGESTS, &mut stop);
    assert!(matches!(stopped, Err(thalweg::Error::Cancelled)), "{stopped:?}");
}

/// Whole recipes on the CPU: the digest of the height of every example.
#[cfg(feature = "dungeon")]
#[test]
fn examples_are_what_they_were() {
    let mut text = EXAMPLES_HEAD.to_string();
    for (name, recipe) in thalweg::recipe::EXAMPLES {
        let mut recipe = thalweg::Recipe::from_toml(recipe, "", name).unwrap();
        recipe.resize(128, 128).unwrap();
        let job = thalweg::Job::new(recipe).unwrap().device(thalweg::Device::Cpu);
        let land = job.run(&mut |_| Ok(())).unwrap();
        writeln!(text, "{name} {}", land.digest("height").unwrap()).unwrap();
    }
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(EXAMPLES, text).unwrap();
        return;
    }
    assert_eq!(
        std::fs::read_to_string(EXAMPLES).unwrap(),
        text,
        "examples are other lands: if this was meant, look at pictures and run\n    \
         THALWEG_BLESS=1 cargo test --test it vectors"
    );
}

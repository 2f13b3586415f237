//! `tiles --for`: what it writes is run by GNU make and by a shell in the place of Slurm, and the
//! output has the bytes of one run. Tests of the Python package run Snakemake.

use super::{Folder, RECIPE, Ran, ran};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A land of two levels in a few small tiles.
fn recipe() -> String {
    RECIPE
        .replace("spacing_m = 10", "spacing_m = 10\nlevels = 2")
        .replace("lifetime = 16\nrain = 2", "lifetime = 4\nrain = 0.5")
        .replace("format = \"png\"", "format = \"tif\"")
}

fn thalweg(at: &Path, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    command.args(words).args(["--device", "cpu", "--tile-size", "24"]).current_dir(at);
    ran(command.stdin(Stdio::null()).output().unwrap())
}

/// A program that is not a part of thalweg.
fn program(name: &str, at: &Path) -> Command {
    let mut command = Command::new(name);
    // Tests may run under make themselves.
    command.current_dir(at).stdin(Stdio::null()).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    command
}

fn make(at: &Path, words: &[&str]) -> Ran {
    let made = program("make", at).args(words).output();
    ran(made.unwrap_or_else(|e| panic!("make: {e}: these tests need GNU make")))
}

/// `sbatch` and `scontrol` of a cluster of one machine that runs each job at once. It knows the
/// options of submit.sh, and a job waits for those that have ended well: others are refused.
struct Cluster(PathBuf);

impl Cluster {
    fn new(folder: &Folder) -> Self {
        let bin = folder.0.join("bin");
        std::fs::create_dir(&bin).unwrap();
        let sbatch = r#"#!/bin/sh
set -eu
here=$(dirname "$0") array= parsable=
while :; do
    case $1 in
    --parsable) parsable=yes ;;
    --array=[0-9]*-[0-9]*) array=${1#*=} ;;
    --dependency=afterok:*) test -e "$here/ok.${1##*:}" ;;
    --kill-on-invalid-dep=yes | --job-name=* | --cpus-per-task=1) ;;
    --mem=[0-9]*M | --time=[0-9]* | --partition=short) ;;
    -*) echo "sbatch: unrecognized option '$1'" >&2; exit 1 ;;
    *) break ;;
    esac
    shift
done
job=$(ls "$here" | grep -c '^job' || true)
echo "$*" > "$here/job.$job"
export SLURM_JOB_ID="$job" SLURM_CPUS_PER_TASK=1
if [ -n "$array" ]; then
    at=${array%-*}
    while [ "$at" -le "${array#*-}" ]; do
        SLURM_ARRAY_TASK_ID=$at sh "$@" >&2
        at=$((at + 1))
    done
else
    sh "$@" >&2
fi
touch "$here/ok.$job"
[ -z "$parsable" ] || echo "$job;cluster"
"#;
        let scontrol = "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/requeued\"\n";
        for (name, text) in [("sbatch", sbatch), ("scontrol", scontrol)] {
            std::fs::write(bin.join(name), text).unwrap();
            std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(bin)
    }

    fn submit(&self, folder: &Path, thalweg: Option<&str>) -> Ran {
        let paths = std::env::var("PATH").unwrap();
        let mut command = program("sh", folder);
        command.args(["slurm/submit.sh", "--partition=short"]);
        command.env("PATH", format!("{}:{paths}", self.0.display()));
        thalweg.map(|thalweg| command.env("THALWEG", thalweg));
        ran(command.output().unwrap())
    }

    fn list(&self, start: &str) -> usize {
        let names = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with(start)).count()
    }
}

/// When a file was written.
fn written(path: &Path) -> std::time::SystemTime {
    path.metadata().unwrap().modified().unwrap()
}

/// Make runs the jobs two at a time, and what it writes is what one process writes: one file, a
/// folder of files, a Zarr folder, a part in slabs. All tiles are in the store by then. What is
/// there is not made again, and after an edit of the recipe it is.
#[test]
fn make_makes_the_land() {
    let folder = Folder::new("make");
    let at = &folder.0;
    folder.file("r.toml", recipe());
    for (name, more) in [
        ("land.tif", "--set droplets.rain=1 --seed 9 --map flow"),
        ("part.tif", "--part 103 205 40 30 --time-chunk 3 --level 0"),
        ("files", "--file-side 32 --shared-edge --format npy"),
        ("land.zarr", "--size 70x50"),
        ("web", "--xyz terrarium"),
    ] {
        let more: Vec<&str> = more.split_whitespace().collect();
        let known = [&["tiles", "r.toml", "-o", "known"][..], &more].concat();
        let known_name = format!("known-{name}");
        let known = known.iter().map(|word| if *word == "known" { &known_name } else { *word });
        thalweg(at, &known.collect::<Vec<_>>()).ok();
        let store = format!("store-{name}");
        let asked = [
            "tiles", "r.toml", "-o", name, "--store", &store, "--for", "make", "--json", "--force",
        ];
        let said = thalweg(at, &[&asked[..], &more].concat()).ok();
        let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        make(at, &["-j2"]).ok();
        let same = program("diff", at).args(["-r", name, &known_name]).output().unwrap();
        assert!(same.status.success(), "{name}: {}", String::from_utf8_lossy(&same.stdout));
        let counted = thalweg(
            at,
            &[&["tiles", "r.toml", "-o", name, "--store", &store, "--json", "--force"], &more[..]]
                .concat(),
        )
        .ok();
        let counted: serde_json::Value = serde_json::from_str(&counted.stdout).unwrap();
        assert_eq!(counted["made"], 0, "{name}");
        let listed = folder.thalweg(&format!("store list {store} --json")).ok();
        let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
        assert_eq!(listed["tiles"].as_array().unwrap().len(), said["tiles"], "{name}");
    }
    // What is there and newer than its script and its recipe stays.
    thalweg(
        at,
        &["tiles", "r.toml", "-o", "l.tif", "--store", "store", "--for", "make", "--force"],
    )
    .ok();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    make(at, &["-j2"]).ok();
    let first = (written(&at.join("l.tif")), folder.read("l.tif"));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    make(at, &[]).ok();
    assert_eq!((written(&at.join("l.tif")), folder.read("l.tif")), first);
    folder.file("r.toml", recipe().replace("seed = 5", "seed = 6"));
    make(at, &[]).ok();
    assert!(folder.read("l.tif") != first.1);
    thalweg(at, &["tiles", "r.toml", "-o", "edited.tif"]).ok();
    assert!(folder.read("l.tif") == folder.read("edited.tif"));
    // Jobs of a recipe that has changed are refused.
    std::fs::remove_dir_all(at.join("store")).unwrap();
    let refused = make(at, &["-k"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("list them again"), "{}", refused.stderr);
    // Another program may be named, and a failure ends it.
    let failed = make(at, &["THALWEG=false"]);
    assert_eq!(failed.code, Some(2));
}

/// Slurm's scripts submit an array for each layer after the one before, and the output last. A
/// task that fails goes back into the queue, and after a failure the rest can be submitted again.
#[test]
fn slurm_makes_the_land() {
    let folder = Folder::new("slurm");
    let at = &folder.0;
    let cluster = Cluster::new(&folder);
    folder.file("r.toml", recipe());
    thalweg(at, &["tiles", "r.toml", "-o", "known.tif"]).ok();
    let said = thalweg(
        at,
        &["tiles", "r.toml", "-o", "l.tif", "--store", "store", "--for", "slurm", "--json"],
    )
    .ok();
    let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["layers"], 2);
    let failed = cluster.submit(at, Some("false"));
    assert_eq!(failed.code, Some(1));
    assert_eq!(folder.read("bin/requeued"), b"requeue 0\n");
    assert!(!at.join("l.tif").exists());
    cluster.submit(at, None).ok();
    // One that failed, an array for each layer, and the output.
    assert_eq!((cluster.list("job"), cluster.list("ok")), (4, 3));
    assert!(folder.read("l.tif") == folder.read("known.tif"));
    let lines = |n: u32| {
        let text = String::from_utf8(folder.read(&format!("slurm/layer-{n}.txt"))).unwrap();
        text.lines().count() as u64
    };
    assert_eq!(lines(0) + lines(1), said["tiles"]);
    let first = written(&at.join("l.tif"));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    // Nothing is left to be made: a program that cannot make anything is not asked.
    cluster.submit(at, Some("false")).ok();
    assert_eq!(written(&at.join("l.tif")), first);
}

/// An array has at most 1000 tasks, each with some of the tiles.
#[test]
fn arrays_of_slurm_have_an_end() {
    let folder = Folder::new("slurm-many");
    folder.file(
        "r.toml",
        "schema = 2\nseed = 5\nwidth = 800\nheight = 600\nspacing_m = 10\n\
        [[stage]]\nkind = \"noise\"\nrelief_m = 100\n[output]\nmaps = [\"height\"]\n",
    );
    let cluster = Cluster::new(&folder);
    let line = "tiles r.toml -o l.tif --store store --for slurm --device cpu --tile-size 16";
    folder.thalweg(line).ok();
    let submit = String::from_utf8(folder.read("slurm/submit.sh")).unwrap();
    assert!(submit.contains("--array=0-999 "), "{submit}");
    // The tasks take turns, so that all lines are taken.
    let tasks: usize = 7;
    let text = submit.replace("--array=0-999 ", "--array=0-6 ").replace("txt 1000", "txt 7");
    folder.file("slurm/submit.sh", text);
    let list = String::from_utf8(folder.read("slurm/layer-0.txt")).unwrap();
    let few: Vec<&str> = list.lines().take(2 * tasks + 3).collect();
    folder.file("slurm/layer-0.txt", few.join("\n") + "\n");
    folder.file("slurm/land.sh", "");
    cluster.submit(&folder.0, None).ok();
    let listed = folder.thalweg("store list store --json").ok();
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["tiles"].as_array().unwrap().len(), few.len());
}

/// A recipe of the program is named by its name, and there is no file to be newer than.
#[test]
fn a_name_is_a_recipe() {
    let folder = Folder::new("make-name");
    let line = "tiles mountains --size 64 -o l.tif --store store --tile-size 48 --device cpu";
    folder.thalweg(&format!("{line} --for make --script jobs.mk")).ok();
    make(&folder.0, &["-f", "jobs.mk", "-j2"]).ok();
    folder.thalweg(&line.replace("l.tif", "known.tif")).ok();
    assert!(folder.read("l.tif") == folder.read("known.tif"));
}

#[test]
fn names_that_no_script_can_have_are_refused() {
    let folder = Folder::new("make-names");
    folder.file("r.toml", recipe());
    let refused = thalweg(
        &folder.0,
        &["tiles", "r.toml", "-o", "a\nb.tif", "--store", "store", "--for", "make"],
    );
    refused.refused(1, &["a\\nb.tif", "the end of a line"]);
    assert_eq!(folder.list(""), ["r.toml"]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        failure_persistence: None,
        ..Default::default()
    })]

    /// Names with all that shells, make and Python take for something else are names.
    #[test]
    fn names_are_quoted(names in prop::collection::vec(
        prop::collection::vec(prop::sample::select(NAMED), 1..8).prop_map(|c| c.concat()), 4,
    )) {
        let folder = Folder::new("names");
        let at = folder.0.join(format!("{}@", names[0]));
        std::fs::create_dir(&at).unwrap();
        let cluster = Cluster::new(&folder);
        let of = |n: usize, ending: &str| format!("./{}{n}{ending}", names[n]);
        let (recipe_file, store) = (of(1, ".toml"), of(2, ""));
        std::fs::write(at.join(&recipe_file), recipe()).unwrap();
        thalweg(&at, &["tiles", &recipe_file, "-o", "known.tif"]).ok();
        let known = std::fs::read(at.join("known.tif")).unwrap();
        for by in ["make", "slurm"] {
            let output = of(3, &format!("{by}.tif"));
            let words = ["tiles", &recipe_file, "-o", &output, "--store", &store, "--for", by];
            thalweg(&at, &words).ok();
            match by {
                "make" => make(&at, &["-j2"]).ok(),
                _ => cluster.submit(&at, None).ok(),
            };
            prop_assert!(std::fs::read(at.join(&output)).unwrap() == known);
            std::fs::remove_dir_all(at.join(&store)).unwrap();
        }
    }
}

/// Parts of names.
const NAMED: &[&str] = &[
    " ", "  ", "'", "\"", "$", "$(a)", "${b}", "$$", "#", "%", ":", ";", "&", "(", ")", "[", "]",
    "{", "}", "*", "?", "!", "~", "`", "\\", "\\n", "=", "|", "<", ">", ",", "+", "-", "@", "^",
    "é", "漢", "\u{301}", "a", "B", "0",
];

//! `thalweg tiles --list` and `--for`: the graph of tiles for programs that run jobs on many
//! machines.

use super::super::console::{Console, bytes, count};
use super::super::dry_run::{duration, pace};
use super::super::is_standard;
use super::super::summary::{files_json, files_text};
use super::{Arguments, Which};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf, absolute};
use thalweg::io::{Files, refuse};
use thalweg::tiles::{Cost, Cut, Node, Store, Tile, Tiles, engine};
use thalweg::{Error, Job, Result, Window};

/// Most tiles of a list.
const LIST_MAX: u64 = 1 << 20;

/// Tasks of an array of Slurm at most: its `MaxArraySize` is 1001 where nobody has raised it.
const TASKS: usize = 1000;

/// How often a job that has failed is tried again.
const RETRIES: u32 = 2;

/// A program that runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Workflow {
    /// GNU make, on one machine: a Makefile
    Make,
    /// Snakemake 8 or later, on one machine or a cluster: a Snakefile
    Snakemake,
    /// Slurm: a folder with submit.sh, an array of jobs for each layer of tiles
    Slurm,
}

/// The tiles of a graph, and how fast a device makes them.
struct Graph {
    nodes: Vec<Node>,
    cut: Cut,
    device: String,
    /// Passes over cells in a second.
    pace: f64,
}

impl Graph {
    fn of(console: &Console, job: &Job, cost: &Cost, level: i32, window: &Window) -> Result<Self> {
        if cost.tiles() > LIST_MAX {
            return Err(Error::param(format!(
                "{} tiles; allowed in a list are {LIST_MAX}: give --part or a larger --tile-size",
                cost.tiles()
            )));
        }
        let nodes = Tiles::new(job.clone(), cost.cut.clone())?.graph(level, window)?;
        let (device, pace) = pace(console, job, cost, window)?;
        Ok(Self { nodes, cut: cost.cut.clone(), device, pace })
    }

    fn seconds(&self, node: &Node) -> f64 {
        node.work / self.pace
    }

    fn all_seconds(&self) -> f64 {
        self.nodes.iter().map(|node| self.seconds(node)).sum()
    }

    fn store_bytes(&self) -> u64 {
        self.nodes.iter().map(|node| node.store_bytes).sum()
    }

    /// The tiles of each layer, the coarsest first.
    fn layers(&self) -> impl Iterator<Item = &[Node]> {
        self.nodes.chunk_by(|a, b| a.layer == b.layer)
    }
}

/// Prints the graph. It is for programs, with --json or without.
pub fn list(
    console: &Console,
    job: &Job,
    cost: &Cost,
    level: i32,
    window: &Window,
) -> Result<bool> {
    let graph = Graph::of(console, job, cost, level, window)?;
    let tile = |node: &Node| {
        let mut described = node.describe();
        described["expected_seconds"] = json!(graph.seconds(node));
        described
    };
    let described = json!({
        "program": engine(), "device": graph.device, "tile_size": graph.cut.side(),
        "time_chunk": graph.cut.slab, "tiles": graph.nodes.iter().map(tile).collect::<Vec<_>>(),
    });
    console.pipe(format!("{described:#}\n").as_bytes())?;
    Ok(true)
}

/// Refuses a recipe that jobs could not read.
pub fn check_recipe(recipe: &Path) -> Result<()> {
    if is_standard(recipe) {
        return Err(Error::param(
            "-: the jobs of --for read the recipe, too; store it in a file and give its path",
        ));
    }
    Ok(())
}

/// Writes what makes all tiles and then the output, for a program.
pub fn write(
    console: &Console,
    a: &Arguments,
    workflow: Workflow,
    job: &Job,
    cost: &Cost,
    (level, window): (i32, &Window),
) -> Result<bool> {
    let script = Script::of(console, a, workflow, cost)?;
    // Jobs run beside each other, so each has one thread where nobody says more.
    let graph = Graph::of(console, &job.clone().threads(script.threads), cost, level, window)?;
    let written = match workflow {
        Workflow::Make => vec![(script.path.clone(), script.makefile(&graph))],
        Workflow::Snakemake => vec![(script.path.clone(), script.snakefile(&graph)?)],
        Workflow::Slurm => script.slurm(&graph, cost),
    };
    let paths: Vec<PathBuf> = written.iter().map(|(path, _)| path.clone()).collect();
    refuse(&paths, console.options.force)?;
    // Here, for Snakemake makes folders in it before the first job does.
    if let Some(store) = &a.which.store {
        Store::open(store, None)?;
    }
    let mut files = Files::default();
    if let Some(folder) = script.path.parent() {
        files.make_folder(if workflow == Workflow::Slurm { &script.path } else { folder })?;
    }
    let stored = written.iter().map(|(path, text)| files.write(path, text.as_bytes()));
    let stored = stored.collect::<Result<Vec<_>>>()?;
    console.check()?;
    files.keep();
    let (seconds, layers) = (graph.all_seconds(), graph.layers().count() as u64);
    console.result(
        || {
            json!({
                "tiles": graph.nodes.len(), "layers": layers, "device": graph.device,
                "threads": script.threads, "expected_seconds": seconds,
                "store_bytes": graph.store_bytes(), "files": files_json(&stored),
            })
        },
        || {
            format!(
                "{}: {} in {}, some {} of {}, {} in the store\n{}{}\n",
                job.recipe().name,
                count(graph.nodes.len() as u64, "tile"),
                count(layers, "layer"),
                duration(seconds * script.threads as f64),
                if graph.device.starts_with("CPU") { "CPU time" } else { &graph.device },
                bytes(graph.store_bytes()),
                files_text(&stored),
                script.run()
            )
        },
    )?;
    Ok(true)
}

/// The commands of the jobs, as words for a shell.
struct Script {
    workflow: Workflow,
    /// The file, or of Slurm the folder.
    path: PathBuf,
    program: String,
    /// `tile RECIPE …`, but for the threads, the key and the place.
    tile: Vec<String>,
    /// `tiles RECIPE … -o OUT`.
    land: Vec<String>,
    threads: usize,
    store: String,
    /// What is there when the output is, and whether it is a file beside a folder for that alone.
    made: (String, bool),
    /// What the output must be newer than: the script and the recipe's file.
    sources: Vec<String>,
}

impl Script {
    fn of(console: &Console, a: &Arguments, workflow: Workflow, cost: &Cost) -> Result<Self> {
        let [Some(store), Some(output)] = [&a.which.store, &a.output] else {
            return Err(Error::param("--for: give --store DIR for the tiles, and -o OUT"));
        };
        if output.symlink_metadata().is_ok() && !console.options.force {
            let what = std::io::Error::new(
                std::io::ErrorKind::AlreadyExists,
                "already exists; replace it with --force, or give another path",
            );
            return Err(Error::output(output, what));
        }
        let path = a.script.clone().unwrap_or_else(|| {
            PathBuf::from(match workflow {
                Workflow::Make => "Makefile",
                Workflow::Snakemake => "Snakefile",
                Workflow::Slurm => "slurm",
            })
        });
        let path = PathBuf::from(place(&path)?);
        let program = std::env::current_exe().map_err(|e| Error::input("thalweg", e))?;
        let output = place(output)?;
        let own = a.which.recipe_words()?;
        let common = [own.clone(), a.which.tile_words(&cost.cut)?, device(console)].concat();
        let mut land = vec!["tiles".into()];
        land.extend(common.iter().cloned());
        land.extend(a.land_words()?);
        // A job that failed half way is run again, and must not stop at what it has left.
        land.extend(["-o".into(), output.clone(), "--force".into(), "-q".into()]);
        let mut tile = vec!["tile".into()];
        tile.extend(common);
        tile.push("-q".into());
        let ends = |end: &str| Path::new(&output).extension().is_some_and(|e| e == end);
        let made = if ends("tif") {
            (output, false)
        } else if ends("zarr") {
            (format!("{output}/zarr.json"), false)
        } else {
            (format!("{output}.made"), true)
        };
        let is_file = super::super::own_recipe(&a.which.recipe).is_none();
        let sources = is_file.then(|| own[0].clone());
        // The script is a source, so that writing it anew makes the output again.
        let first = if workflow == Workflow::Slurm { path.join("submit.sh") } else { path.clone() };
        Ok(Self {
            workflow,
            sources: std::iter::once(place(&first)?).chain(sources).collect(),
            path,
            program: place(&program)?,
            tile,
            land,
            threads: usize::from(console.options.threads.max(1)),
            store: place(store)?,
            made,
        })
    }

    /// How it is run.
    fn run(&self) -> String {
        let path = self.path.display().to_string();
        match self.workflow {
            Workflow::Make => format!("make -f {} -j CORES", quoted(&path)),
            Workflow::Snakemake => format!("snakemake -s {} --cores CORES", quoted(&path)),
            Workflow::Slurm => {
                format!("sh {} [OPTIONS OF sbatch]", quoted(&format!("{path}/submit.sh")))
            }
        }
    }

    /// What every script begins with, as comments.
    fn head(&self, graph: &Graph) -> String {
        format!(
            "# {} by {}. Run it with:\n#   {}\n# A tile that is in the store is not made again, \
             so after a failure run it again. After a\n# change of the recipe or another version \
             of thalweg, write it anew.\n",
            count(graph.nodes.len() as u64, "tile"),
            engine(),
            self.run()
        )
    }

    /// A shell's command that makes the output, unless it is newer than what it is made of.
    fn land(&self, program: &str, threads: &str) -> String {
        let (made, is_stamp) = &self.made;
        let newer = self
            .sources
            .iter()
            .map(|source| format!("[ {} -nt {} ]", quoted(made), quoted(source)));
        let newer = newer.collect::<Vec<_>>().join(" && ");
        let stamp = if *is_stamp { format!(" && touch {}", quoted(made)) } else { String::new() };
        format!("{newer} || {{ {program} {}{threads}{stamp}; }}", words(&self.land))
    }

    /// What a tile's command ends with.
    fn at(node: &Node) -> String {
        let Tile { level, slab, x, y } = node.tile;
        format!("--key {} --slab {slab} -- {level} {x} {y}", node.key)
    }

    /// Targets are keys, for names of files cannot all be written as targets. What is in the store
    /// is looked for by the shell.
    fn makefile(&self, graph: &Graph) -> String {
        // Make replaces dollars, also of words in quotes.
        let escaped = |text: &str| text.replace('$', "$$");
        let mut text = self.head(graph);
        let _ = write!(
            text,
            "\nSHELL = /bin/sh\n\ndefine THALWEG\n{}\nendef\ndefine there\ntest -e {}/\nendef\n\
             define tile\n$(THALWEG) {} --threads {}\nendef\ndefine land\nprogram=$(THALWEG); \
             {}\nendef\n\ntiles = {}\n.PHONY: land $(tiles)\n\nland: $(tiles)\n\t@$(land)\n",
            escaped(&quoted(&self.program)),
            escaped(&quoted(&self.store)),
            escaped(&words(&self.tile)),
            self.threads,
            escaped(&self.land("\"$program\"", "")),
            words_of(graph.nodes.iter().map(|node| node.key.as_str()))
        );
        for node in &graph.nodes {
            let inputs = words_of(node.inputs.iter().map(String::as_str));
            let _ = write!(
                text,
                "\n{}: {inputs}\n\t@$(there){} || $(tile) {}\n",
                node.key,
                node.file(),
                Self::at(node)
            );
        }
        text
    }

    fn snakefile(&self, graph: &Graph) -> Result<String> {
        let (made, is_stamp) = &self.made;
        if let Some(name) = [&self.store, made].into_iter().find(|name| name.contains(['{', '}'])) {
            return Err(Error::param(format!(
                "{name}: Snakemake takes names in braces for wildcards; give another path"
            )));
        }
        let files = |nodes: &mut dyn Iterator<Item = &Node>| {
            json!(nodes.map(Node::file).collect::<Vec<_>>()).to_string()
        };
        let by_key: std::collections::HashMap<&str, &Node> =
            graph.nodes.iter().map(|node| (node.key.as_str(), node)).collect();
        let mut text = self.head(graph);
        let last = graph.layers().last().unwrap_or_default();
        let _ = write!(
            text,
            "\nTHALWEG = config.get(\"thalweg\", {})\nSTORE = {}\nTILE = {}\nLAND = {}\n\
             SOURCES = {}\nLAST = {}\n\
             # By the file in the store: its place, what it is made from, MiB of memory, minutes.\n\
             TILES = {{\n",
            literal(&self.program),
            literal(&self.store),
            literal(&words(&self.tile)),
            literal(&words(&self.land)),
            json!(self.sources),
            files(&mut last.iter()),
        );
        for node in &graph.nodes {
            let inputs =
                files(&mut node.inputs.iter().filter_map(|key| by_key.get(key.as_str()).copied()));
            let _ = writeln!(
                text,
                "    {}: ({}, {inputs}, {}, {}),",
                literal(&node.file()),
                literal(&Self::at(node)),
                mebibytes(node.memory_bytes),
                minutes(graph.seconds(node))
            );
        }
        let output = literal(made);
        let output = if *is_stamp { format!("touch({output})") } else { output };
        let most = graph.nodes.iter().map(|node| node.memory_bytes).max().unwrap_or(0);
        text.push('}');
        text += &self.rules(&output, mebibytes(most));
        Ok(text)
    }

    /// The rules of a Snakefile: the land, which is `output` and takes `most` MiB, and a tile.
    fn rules(&self, output: &str, most: u64) -> String {
        let threads = self.threads;
        format!(
            r#"


def stored(files):
    # Tiles have no age: a file that is there is the tile.
    return ancient([f"{{STORE}}/{{file}}" for file in files])


rule land:
    input:
        tiles=lambda wildcards: stored(LAST),
        sources=lambda wildcards: SOURCES,
    output:
        {output},
    threads: {threads}
    retries: {RETRIES}
    resources:
        mem_mb={most},
    shell:
        "{{THALWEG:q}} {{LAND}} --threads {{threads}}"


rule tile:
    input:
        lambda wildcards: stored(TILES[wildcards.tile][1]),
    output:
        STORE + "/{{tile}}",
    wildcard_constraints:
        tile="[0-9a-f]{{2}}/[0-9a-f]{{62}}[.](tile|same)",
    params:
        at=lambda wildcards: TILES[wildcards.tile][0],
    threads: {threads}
    retries: {RETRIES}
    resources:
        mem_mb=lambda wildcards: TILES[wildcards.tile][2],
        runtime=lambda wildcards: TILES[wildcards.tile][3],
    shell:
        "{{THALWEG:q}} {{TILE}} --threads {{threads}} {{params.at}}"
"#
        )
    }

    fn slurm(&self, graph: &Graph, cost: &Cost) -> Vec<(PathBuf, String)> {
        let folder = self.path.display();
        let mut files = vec![];
        let mut submit = format!(
            "#!/bin/sh\n{}set -eu\nmkdir -p {logs}\ncd {logs}\n",
            self.head(graph),
            logs = quoted(&format!("{folder}/logs")),
        );
        // The first has nothing to wait for.
        let mut wait = "";
        // `sbatch --parsable` prints the job's number, and on some clusters a cluster's name behind
        // a semicolon.
        let after = "--dependency=\"afterok:${job%%;*}\" --kill-on-invalid-dep=yes ";
        for (n, layer) in graph.layers().enumerate() {
            let tasks = layer.len().min(TASKS);
            let seconds: f64 = layer.iter().map(|node| graph.seconds(node)).sum();
            let memory = layer.iter().map(|node| node.memory_bytes).max().unwrap_or(0);
            let _ = writeln!(
                submit,
                "job=$(sbatch --parsable {wait}--job-name=tiles-{n} --array=0-{} \
                 --cpus-per-task={} --mem={}M --time={} \"$@\" ../tile.sh ../layer-{n}.txt {tasks})",
                tasks - 1,
                self.threads,
                mebibytes(memory),
                minutes(seconds / tasks as f64)
            );
            wait = after;
            let lines = layer.iter().map(|node| {
                let Tile { level, slab, x, y } = node.tile;
                format!("{} {} {slab} {level} {x} {y}\n", node.file(), node.key)
            });
            files.push((self.path.join(format!("layer-{n}.txt")), lines.collect()));
        }
        let _ = write!(
            submit,
            "job=$(sbatch --parsable {wait}--job-name=land --cpus-per-task={} --mem={}M --time={} \
             \"$@\" ../land.sh)\necho \"the land will be there after job ${{job%%;*}}\"\n",
            self.threads,
            mebibytes(cost.bytes()),
            // A store is read at some 20 MB a second or faster.
            minutes(graph.store_bytes() as f64 / 2e7)
        );
        let head = format!(
            "#SBATCH --requeue\n#SBATCH --open-mode=append\nset -eu\nprogram={}\n\
             program=${{THALWEG:-$program}}\nthreads=${{SLURM_CPUS_PER_TASK:-{}}}\n\
             # Slurm puts the job back into its queue, {RETRIES} times.\nagain() {{\n    \
             [ \"${{SLURM_RESTART_COUNT:-0}}\" -ge {RETRIES} ] || scontrol requeue \
             \"$SLURM_JOB_ID\"\n    exit 1\n}}\n",
            quoted(&self.program),
            self.threads
        );
        let tile = format!(
            "#!/bin/sh\n# tile.sh LIST N: of the lines of LIST, every N-th from the task's number \
             on.\n{head}awk -v at=\"$SLURM_ARRAY_TASK_ID\" -v of=\"$2\" '(NR - 1) % of == at' \
             \"$1\" |\nwhile read -r file key slab level x y; do\n    [ -e {}/\"$file\" ] || \
             \"$program\" {} --threads \"$threads\" --key \"$key\" --slab \"$slab\" -- \"$level\" \
             \"$x\" \"$y\" </dev/null || again\ndone\n",
            quoted(&self.store),
            words(&self.tile)
        );
        let land = format!(
            "#!/bin/sh\n# Writes the output from the store.\n{head}{} || again\n",
            self.land("\"$program\"", " --threads \"$threads\"")
        );
        files.push((self.path.join("tile.sh"), tile));
        files.push((self.path.join("land.sh"), land));
        files.push((self.path.join("submit.sh"), submit));
        files
    }
}

impl Which {
    /// The recipe and what changes it.
    fn recipe_words(&self) -> Result<Vec<String>> {
        let is_file = super::super::own_recipe(&self.recipe).is_none();
        let recipe = if is_file { place(&self.recipe)? } else { text(&self.recipe)? };
        let mut words = vec![recipe];
        add(&mut words, "--seed", self.seed);
        let size = self.changes.size.map(|(width, height)| format!("{width}x{height}"));
        add(&mut words, "--size", size);
        add(&mut words, "--scale", self.changes.scale);
        for set in &self.changes.set {
            if set.contains('\n') {
                return Err(line_end(set));
            }
            // In one word, since a value may begin with a dash.
            words.push(format!("--set={set}"));
        }
        Ok(words)
    }

    /// How the land is cut, and where tiles are kept.
    fn tile_words(&self, cut: &Cut) -> Result<Vec<String>> {
        let mut words = vec![];
        add(&mut words, "--store", self.store.as_deref().map(place).transpose()?);
        add(&mut words, "--store-limit", self.store_limit);
        add(&mut words, "--tile-size", cut.side());
        add(&mut words, "--time-chunk", cut.slab);
        Ok(words)
    }
}

impl Arguments {
    /// What is written, but for where.
    fn land_words(&self) -> Result<Vec<String>> {
        let mut words = vec![];
        if let Some(map) = &self.map {
            if map.contains('\n') {
                return Err(line_end(map));
            }
            words.push(format!("--map={map}"));
        }
        if let Some(part) = &self.part.part {
            words.push("--part".into());
            words.extend(part.iter().map(i64::to_string));
        }
        add(&mut words, "--level", self.level);
        add(&mut words, "--file-side", self.file_side);
        words.extend(self.shared_edge.then(|| "--shared-edge".into()));
        add(&mut words, "--format", self.format.map(|format| format.extension()));
        add(&mut words, "--xyz", self.xyz.as_deref());
        add(&mut words, "--xyz-side", self.xyz.as_ref().map(|_| &self.xyz_side));
        if let Some((low, high)) = self.range.pair()? {
            words.extend(["--output-range".into(), low.to_string(), high.to_string()]);
        }
        Ok(words)
    }
}

/// The options of the device, but for its threads.
fn device(console: &Console) -> Vec<String> {
    let mut words = vec![];
    let device = console.options.device.to_string();
    add(&mut words, "--device", (device != "auto").then_some(device));
    let size = console.options.workgroup_size;
    add(&mut words, "--workgroup-size", (size > 0).then_some(size));
    add(&mut words, "--shuffle", console.options.shuffle);
    words
}

/// Adds an option with its value, if there is one.
fn add(words: &mut Vec<String>, option: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        words.extend([option.into(), value.to_string()]);
    }
}

/// A path as a word of a script.
fn text(path: &Path) -> Result<String> {
    let name = path.to_str().ok_or_else(|| {
        Error::param(format!("{}: names in scripts are UTF-8; give another", path.display()))
    })?;
    if name.contains('\n') { Err(line_end(name)) } else { Ok(name.into()) }
}

/// The same, from any folder.
fn place(path: &Path) -> Result<String> {
    text(&absolute(path).map_err(|e| Error::input(path, e))?)
}

fn line_end(word: &str) -> Error {
    Error::param(format!("{word:?}: a script has no room for the end of a line; give another name"))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    // POSIX: nothing has a meaning between single quotes, and a quote itself cannot stand there.
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn words_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// A text in Python, whose escapes JSON's are.
fn literal(text: &str) -> String {
    Value::from(text).to_string()
}

/// Mebibytes to ask for: what the plan has, a quarter of it, and what the system counts beside.
fn mebibytes(bytes: u64) -> u64 {
    (bytes / 4 * 5).div_ceil(1 << 20) + 64
}

/// Minutes to ask for: machines may be slower than this one.
fn minutes(seconds: f64) -> u64 {
    10.max((4.0 * seconds / 60.0).ceil() as u64)
}

//! House rules, as tests.

use std::path::{Path, PathBuf};
use thalweg::field;
use thalweg::site::Layer;
use thalweg::stage::STAGES;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(under: &str, extension: &str) -> Vec<(String, String)> {
    fn walk(at: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(at).unwrap().map(|e| e.unwrap().path()) {
            if entry.is_dir() {
                walk(&entry, extension, found);
            } else if entry.extension().is_some_and(|e| e == extension) {
                found.push(entry);
            }
        }
    }
    let mut found = vec![];
    walk(&root().join(under), extension, &mut found);
    assert!(!found.is_empty(), "no .{extension} under {under}");
    found
        .into_iter()
        .map(|p| {
            (
                p.strip_prefix(root()).unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(p).unwrap(),
            )
        })
        .collect()
}

/// The kernels' package, and the library and the command.
const PACKAGES: [&str; 2] = ["crates/core/src", "src"];

/// The source files of all packages.
fn sources() -> Vec<(String, String)> {
    PACKAGES.into_iter().flat_map(|package| files(package, "rs")).collect()
}

/// The package of a source file, and the file's place in it.
fn placed(file: &str) -> (&'static str, &str) {
    let of =
        |package: &'static str| Some((package, file.strip_prefix(package)?.strip_prefix('/')?));
    PACKAGES.into_iter().find_map(of).expect("a source file")
}

#[test]
fn a_stage_has_one_stem() {
    let shaders: Vec<String> =
        files("crates/core/shaders", "wgsl").into_iter().map(|(p, _)| p).collect();
    for stage in STAGES {
        assert!(
            root().join(format!("crates/core/src/stage/{}.rs", stage.name)).exists(),
            "crates/core/src/stage/{}.rs",
            stage.name
        );
        assert!(
            shaders.contains(&format!("crates/core/shaders/{}.wgsl", stage.name)),
            "crates/core/shaders/{}.wgsl",
            stage.name
        );
        assert!(
            root().join(format!("tests/it/{}.rs", stage.name)).exists(),
            "tests/it/{}.rs: the physics of the stage",
            stage.name
        );
        assert!(!(stage.cases)().is_empty(), "{} has cases", stage.name);
    }
    assert_eq!(
        shaders.len(),
        STAGES.len() + 9,
        "one shader a stage, arith.wgsl, fractal.wgsl, octaves.wgsl, weather.wgsl, stepper.wgsl of \
         the particle laws, levels.wgsl, survey.wgsl, combine.wgsl and read.wgsl of the executor"
    );
}

#[test]
fn source_files_begin_with_what_they_are_for() {
    for (path, text) in sources().into_iter().chain(files("tests", "rs")) {
        assert!(text.starts_with("//! "), "{path} begins with a //! line");
    }
}

#[test]
fn each_source_file_is_a_module() {
    let all = sources();
    for (path, _) in &all {
        let path = Path::new(path);
        let name = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "main") => continue,
            Some("mod") => path.parent().unwrap(),
            _ => path,
        };
        let (folder, name) = (name.parent().unwrap(), name.file_stem().unwrap().to_str().unwrap());
        let parents = [
            folder.join("lib.rs"),
            folder.join("main.rs"),
            folder.join("mod.rs"),
            folder.with_extension("rs"),
        ];
        let declared = all
            .iter()
            .filter(|(parent, _)| parents.iter().any(|known| known == Path::new(parent)))
            .any(|(_, text)| text.lines().any(|line| line.ends_with(&format!("mod {name};"))));
        assert!(declared, "{}: no file declares it as a module", path.display());
    }
}

/// Lines have at most 100 characters. rustfmt leaves alone what it cannot read, such as macros and
/// shaders. Data in strings may be longer.
#[test]
fn lines_are_short() {
    let shaders = files("crates/core/shaders", "wgsl");
    for (path, text) in sources().into_iter().chain(files("tests", "rs")).chain(shaders) {
        for (line, number) in text.lines().zip(1..) {
            let fits = line.chars().count() <= 100 || line.contains('"');
            assert!(fits, "{path}:{number} has {} characters", line.chars().count());
        }
    }
    // Of scripts only comments and text: formatters have the rest.
    let scripts = ["tests", "benches", "crates", "blender", "examples"];
    for (path, text) in scripts.into_iter().flat_map(|folder| files(folder, "py")) {
        for (line, number) in text.lines().zip(1..) {
            let fits = line.chars().count() <= 100 || line.contains(['"', '\'', '=', '(']);
            assert!(fits, "{path}:{number} has {} characters", line.chars().count());
        }
    }
}

/// The system's functions differ in the last bit from those of another system; those of `libm` are
/// the same everywhere. Statistics and the published algorithms, which no promise covers, may use
/// either.
#[test]
fn functions_are_the_same_on_every_system() {
    let outside = ["src/quality/", "src/classic/", "src/command/looks.rs"];
    let mut functions: Vec<String> =
        ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sin_cos", "exp"]
            .into_iter()
            .chain(["exp2", "exp_m1", "ln", "ln_1p", "log2", "log10", "cbrt"])
            .map(|name| format!(".{name}()"))
            .collect();
    functions.extend(["atan2", "hypot", "powf", "log"].map(|name| format!(".{name}(")));
    let doors = ["python", "c", "web"].map(|door| files(&format!("crates/{door}/src"), "rs"));
    for (path, text) in sources().into_iter().chain(doors.into_iter().flatten()) {
        for (line, number) in text.lines().zip(1..) {
            let found = functions.iter().find(|name| line.contains(name.as_str()));
            let is_outside = outside.iter().any(|place| path.starts_with(place));
            assert!(
                found.is_none() || is_outside || line.contains("console.log("),
                "{path}:{number}: {found:?} is the system's: use libm"
            );
        }
    }
}

#[test]
fn each_thing_is_named_in_one_place() {
    for (path, text) in sources() {
        let code: String = text
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        let names = |word: &str| code.contains(word);
        assert!(
            !names("wgpu::") || path.starts_with("crates/core/src/exec/gpu"),
            "{path} names wgpu"
        );
        assert!(!names("axum::") || path.starts_with("src/service/"), "{path} names axum");
        let words = code.split(|c: char| c != '_' && !c.is_alphanumeric());
        let allowed = ["crates/core/src/exec/cpu.rs", "src/main.rs"].contains(&path.as_str());
        assert_eq!(
            words.filter(|word| *word == "unsafe").count(),
            usize::from(allowed),
            "blocks of unsafe code in {path}"
        );
        let pure = ["crates/core/src/stage/", "src/dungeon/"].iter().any(|p| path.starts_with(p));
        assert!(!pure || !names("std::fs") && !names("println!"), "{path} talks to the world");
        // A target without threads or a clock runs all but the service and the command.
        let outer = ["src/service/", "src/command/"].iter().any(|p| path.starts_with(p));
        assert!(
            outer || !names("Instant::now") || path == "crates/core/src/clock.rs",
            "{path} reads the clock"
        );
        assert!(
            outer || !names("ThreadPoolBuilder") || path == "crates/core/src/exec/pool.rs",
            "{path} makes threads"
        );
        assert!(!pure || !names("clock::"), "{path} reads the clock");
        // The library and the command are built without tests (`test = false`), so one that stands
        // in them would never run.
        assert!(
            !code.contains("#[test]") && !code.contains("cfg(test)"),
            "{path} has tests: they belong in tests/it"
        );
        for rule in ["keep in sync", "todo!", "unimplemented!"] {
            assert!(!text.to_lowercase().contains(rule), "{path} says {rule:?}");
        }
        // Where bytes are equal there is no tolerance.
        if [
            "crates/core/src/stage/",
            "crates/core/src/exec/",
            "crates/core/src/arith.rs",
            "crates/core/src/plan.rs",
            "src/compare.rs",
        ]
        .iter()
        .any(|p| path.starts_with(p))
        {
            for rule in ["EPSILON", "tolerance", "1e-"] {
                assert!(!code.contains(rule), "{path} says {rule:?}");
            }
        }
    }
}

/// The page of parameters is made from the table.
#[test]
fn the_page_of_stages_is_that_of_the_table() {
    use std::fmt::Write;
    let mut page = String::from(
        "# Stages\n\nMade from the parameter tables in `crates/core/src/stage/`; regenerate with \
         `THALWEG_BLESS=1 cargo test --test it tidy`.\n",
    );
    let head = "| parameter | default | allowed | |\n|---|---|---|---|";
    let row = |p: &thalweg::Param| {
        let default = p.default().to_string();
        let default = default.trim_matches('"');
        let allowed = format!("{} {}", p.allowed().replace("a whole number", "whole"), p.unit);
        format!("| `{}` | {default} | {} | {} |", p.name, allowed.trim_end(), p.doc)
    };
    // What several stages have in the same words stands once.
    let rows: Vec<String> = STAGES.iter().flat_map(|stage| stage.params).map(row).collect();
    let is_shared = |p: &&thalweg::Param| rows.iter().filter(|other| **other == row(p)).count() > 2;
    for stage in STAGES {
        writeln!(page, "\n## `{}`\n\n{}\n", stage.name, stage.about).unwrap();
        for name in stage.maps {
            let field =
                field::find(name).unwrap_or_else(|| panic!("{}: {name} is no field", stage.name));
            writeln!(page, "Leaves the data map `{name}`: {}.\n", field.unit).unwrap();
        }
        writeln!(page, "{head}").unwrap();
        for p in stage.params {
            let sentence = p.doc.ends_with('.') && p.doc.len() > 10;
            assert!(sentence, "{}.{}: a sentence", stage.name, p.name);
        }
        for p in stage.params.iter().filter(|p| !is_shared(p)) {
            writeln!(page, "{}", row(p)).unwrap();
        }
        let shared: Vec<String> =
            stage.params.iter().filter(is_shared).map(|p| format!("`{}`", p.name)).collect();
        if !shared.is_empty() {
            let shared = shared.join(", ");
            writeln!(page, "\nAlso [{shared}](#keys-of-several-stages).").unwrap();
        }
    }
    writeln!(page, "\n## Keys of several stages\n\n{head}").unwrap();
    let mut told = std::collections::BTreeSet::new();
    for p in STAGES.iter().flat_map(|stage| stage.params).filter(is_shared) {
        if told.insert(row(p)) {
            writeln!(page, "{}", row(p)).unwrap();
        }
    }
    let path = root().join("docs/stages.md");
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        page,
        "run THALWEG_BLESS=1 cargo test --test it tidy"
    );
}

/// The tables of the page of maps are made from the table of fields.
#[test]
fn the_page_of_maps_is_that_of_the_fields() {
    use std::fmt::Write;
    use thalweg::field::{FIELDS, Origin};
    let (mut rows, mut meanings) =
        (String::from("| map | unit | there with |\n|---|---|---|\n"), String::new());
    for field in &FIELDS {
        let stages = STAGES.iter().filter(|stage| stage.maps.contains(&field.name));
        let made = match field.origin {
            Origin::Every => "every recipe".into(),
            Origin::Stage => {
                stages.map(|stage| format!("`{}`", stage.name)).collect::<Vec<_>>().join(", ")
            }
            Origin::Layer(Layer::Sediment) => "`layer`".into(),
            Origin::Layer(_) => "`layer`, `strokes` or `biomes` that set it".into(),
            Origin::Water => "`[water]`".into(),
            Origin::Materials => "`[materials]`".into(),
            _ => "stages that change heights".into(),
        };
        assert!(!made.is_empty(), "{}: no stage makes it", field.name);
        assert!(field.about.ends_with('.'), "{}: sentences", field.name);
        writeln!(rows, "| `{}` | {} | {made} |", field.name, field.unit).unwrap();
        writeln!(meanings, "**`{}`** – {}\n", field.name, field.about).unwrap();
    }
    let path = root().join("docs/maps.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let made = between(&between(&page, "table", &rows), "meanings", &meanings);
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        made,
        "run THALWEG_BLESS=1 cargo test --test it tidy"
    );
}

/// The table of figures is made from the list of them.
#[cfg(feature = "classic")]
#[test]
fn the_page_of_quality_has_the_figures() {
    use std::fmt::Write;
    let mut rows = String::from("| figure | | real land | published |\n|---|---|---|---|\n");
    for figure in thalweg::quality::FIGURES {
        writeln!(
            rows,
            "| `{}` | {} | {} | {} |",
            figure.name,
            figure.label,
            figure.range(),
            figure.published
        )
        .unwrap();
    }
    let path = root().join("docs/quality.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let made = between(&page, "figures", &rows);
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        made,
        "run THALWEG_BLESS=1 cargo test --test it tidy"
    );
}

/// A page with other text between two marks.
fn between(page: &str, mark: &str, text: &str) -> String {
    let (begin, end) =
        (format!("<!-- {mark}: made by the tests -->\n"), format!("<!-- {mark}: end -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{begin}{text}{end}{after}")
}

/// The example of the README is the crate's documentation, which is compiled and run.
#[test]
fn the_readme_shows_the_example_that_is_tested() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (readme, library) = (read("README.md"), read("src/lib.rs"));
    let shown = readme
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example in README.md");
    let tested = library
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line));
    let tested: String =
        tested.filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    assert!(tested.contains(shown), "src/lib.rs does not have the example of README.md");
}

/// The commands of a page's blocks for the shell, as words without comments.
fn commands(page: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = text
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect::<Vec<_>>()
        .join("\n");
    let lines = blocks.lines().map(|line| {
        line.split(" # ").next().unwrap_or_default().split("  #").next().unwrap_or_default()
    });
    let words = lines.map(|line| line.split_whitespace().map(String::from).collect::<Vec<_>>());
    let ours = words.map(|words| {
        let cargo = ["cargo", "run", "--release", "--"];
        if words.starts_with(&cargo.map(String::from)) {
            [vec!["thalweg".to_string()], words[4..].to_vec()].concat()
        } else {
            words
        }
    });
    ours.filter(|words| words.first().is_some_and(|word| word == "thalweg")).collect()
}

/// U12: the commands of the README and of the page of commands can be typed one after another: what
/// they read is in the repository or was written by one before, in the README at least, and none
/// writes what another has written.
#[test]
fn commands_of_the_pages_can_be_typed() {
    let mut written: Vec<String> = vec![];
    for page in ["README.md", "docs/commands.md"] {
        for words in commands(page) {
            let command = words[1].as_str();
            let after = |flag: &str| words.iter().skip_while(|word| *word != flag).nth(1).cloned();
            let there = |path: &str| {
                root().join(path).exists()
                    || written.iter().any(|known| path.starts_with(known.as_str()))
            };
            if page == "README.md" && ["run", "erode", "tiles"].contains(&command) {
                let within = thalweg::recipe::EXAMPLES.iter().any(|(name, _)| *name == words[2]);
                assert!(within || there(&words[2]), "{page}: {words:?} reads what is not there");
            }
            let output = if command == "convert" { words.get(3).cloned() } else { after("-o") };
            if let Some(output) = output.filter(|output| {
                output != "-" && ["run", "erode", "tiles", "convert"].contains(&command)
            }) {
                assert!(
                    !written.contains(&output),
                    "{page}: {words:?} writes what another command has written"
                );
                written.push(output);
            }
        }
    }
    assert!(written.len() > 15, "{written:?}");
}

/// All that is published has the version of the library.
#[test]
fn what_is_published_has_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("crates/web/npm/package.json", format!("\n  \"version\": \"{version}\",\n")),
        ("blender/addon/blender_manifest.toml", format!("\nversion = \"{version}\"\n")),
        ("docs/c.md", format!("`thalweg_version()` | the version: `{version}` |\n")),
        ("CHANGELOG.md", format!("\n## [{version}] – ")),
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(&line), "{file} lacks {line:?}");
    }
}

/// U13: the program is installed without what only a debugger reads.
#[test]
fn the_released_program_is_stripped() {
    let manifest: toml::Table =
        toml::from_str(&std::fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    assert_eq!(manifest["profile"]["release"]["strip"], toml::Value::Boolean(true));
}

/// What headings of a page are called in links to them.
fn anchors(page: &str) -> Vec<String> {
    let slug = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().to_lowercase();
        let letter = |c: char| match c {
            ' ' => Some('-'),
            c => (c.is_alphanumeric() || c == '-' || c == '_').then_some(c),
        };
        kept.chars().filter_map(letter).collect()
    };
    // Every second part between fences is code.
    page.split("```")
        .step_by(2)
        .flat_map(str::lines)
        .filter(|line| line.starts_with('#'))
        .map(slug)
        .collect()
}

/// Links in pages lead to files that exist, and to headings that these have.
#[test]
fn links_in_pages_lead_somewhere() {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    let pages = pages.into_iter().map(String::from);
    let folders = ["docs", "benches", "crates/python", "crates/web", "tests"];
    // `fuzz` may hold the inputs of a search.
    let others = ["fuzz/README.md".to_owned()].into_iter();
    let others =
        others.chain(folders.into_iter().flat_map(|folder| files(folder, "md")).map(|f| f.0));
    for page in pages.chain(others) {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        let folder = root().join(&page).parent().unwrap().to_path_buf();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = if file.is_empty() { root().join(&page) } else { folder.join(file) };
            assert!(path.exists(), "{page}: {target}");
            if !heading.is_empty() {
                let there = anchors(&std::fs::read_to_string(path).unwrap());
                assert!(
                    there.iter().any(|anchor| anchor == heading),
                    "{page}: {target}: no such heading in {there:?}"
                );
            }
        }
    }
}

/// The page's presets are those of the program.
#[test]
fn the_page_of_commands_has_the_presets() {
    let page = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    for thalweg::Preset { name, about, .. } in thalweg::recipe::PRESETS {
        assert!(
            page.contains(&format!("| `{name}` | {about} |")),
            "docs/commands.md has no row of the preset {name}: {about}"
        );
    }
}

/// The page's largest maps are those of the plans: by `Stage::side_max`, which `thalweg devices`
/// prints, and exact to the cell where the page does not say "about".
#[test]
fn the_page_of_devices_has_the_largest_maps() {
    use thalweg::params::{Settings, Value};
    use thalweg::site::{Layer, Layers, Site, Window};
    use thalweg::stage::{biomes, droplets, wind};
    let page = std::fs::read_to_string(root().join("docs/devices.md")).unwrap();
    let heading = "| largest binding | such as | density 1/4 | a ledger | density 1 | wind, about \
                   | biomes, about |";
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| *line != heading)
        .skip(2)
        .map_while(|line| line.strip_prefix("| "))
        .map(|line| line.trim_end_matches(" |").split(" | ").collect())
        .collect();
    assert_eq!(rows.len(), 3);
    let ledger = Layers::of(&[Layer::Ledger, Layer::Sediment]);
    let none = Layers::NONE;
    let set = |density: f64| {
        Settings::new(
            droplets::STAGE.params,
            &[("density".into(), Value::Number(density)), ("rain".into(), Value::Number(density))],
        )
        .unwrap()
    };
    for row in rows {
        let [size, unit] = row[0].split(' ').collect::<Vec<_>>()[..] else { panic!("{row:?}") };
        let bytes = size.parse::<u64>().unwrap() << if unit == "MiB" { 20 } else { 30 };
        let sides: Vec<u32> =
            row[2..].iter().map(|cell| cell.trim_end_matches('²').parse().unwrap()).collect();
        for (i, density, layers) in [(0, 0.25, none), (1, 0.25, ledger), (2, 1.0, none)] {
            let most = |side| {
                let site = Site {
                    layers,
                    ..Site::bare(Window { origin: [0; 2], width: side, height: side }, 1.0, 0)
                };
                (droplets::STAGE.plan)(&set(density), &site).largest().words as u64 * 4
            };
            assert!(most(sides[i]) <= bytes && most(sides[i] + 1) > bytes, "{row:?}: {i}");
        }
        let side = |stage: &thalweg::stage::Stage, layers| {
            stage.side_max(&Settings::defaults(stage.params), layers, bytes)
        };
        assert_eq!(
            sides[..2],
            [side(&droplets::STAGE, none), side(&droplets::STAGE, ledger)],
            "{row:?}"
        );
        assert_eq!(sides[3..], [side(&wind::STAGE, ledger), side(&biomes::STAGE, none)], "{row:?}");
    }
}

/// The code of a source file, without comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// The modules of the crate that a file names, as `stage::droplets`: in `use` lines, and in paths
/// from `crate`. What a file takes by `super` is of its own module.
fn names(text: &str) -> Vec<String> {
    let code = code(text);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = vec![];
    for rest in code.split("crate::").skip(1) {
        // The path up to a group, and each member of a group.
        let path: String = rest.chars().take_while(|c| word(*c) || *c == ':').collect();
        let parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
        found.extend((1..=parts.len().min(2)).map(|n| parts[..n].join("::")));
        if let (1, Some(group)) = (parts.len(), rest[path.len()..].strip_prefix('{')) {
            let group = group.split('}').next().unwrap_or("");
            found.extend(group.split(',').map(|member| {
                format!("{}::{}", parts[0], member.trim().split("::").next().unwrap_or(""))
            }));
        }
    }
    if code.contains("wgpu::") {
        found.push("wgpu".into());
    }
    found
}

/// The code map says which modules a place does not know of, and no place does.
/// Holds M4: `src/dungeon/` knows neither plans nor executors.
#[test]
fn the_code_map_is_true() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<[&str; 3]> = page
        .lines()
        .skip_while(|line| *line != "| path | what it is | does not know of |")
        .skip(2)
        .map_while(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect::<Vec<_>>().try_into().expect("three columns"))
        .collect();
    let quoted =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let all = sources();
    let mut checked = 0;
    for [paths, _, strangers] in &rows {
        let path = &quoted(paths)[0];
        let here: Vec<_> = all
            .iter()
            .filter(|(file, _)| file == path || path.ends_with('/') && file.starts_with(path))
            .collect();
        assert!(!here.is_empty(), "the code map has {path}");
        for (file, text) in here {
            // The one place of a folder that may.
            let strangers = quoted(strangers)
                .into_iter()
                .filter(|name| !(name == "wgpu" && file.starts_with("crates/core/src/exec/gpu")));
            for stranger in strangers {
                assert!(
                    !names(text).contains(&stranger),
                    "{file} names {stranger}, and the code map says that {path} does not"
                );
                checked += 1;
            }
        }
    }
    // Every module has its row, and the test sees what is there.
    for (file, _) in &all {
        let (package, inner) = placed(file);
        let module = inner.split('/').next().unwrap();
        let there = ["lib.rs", "main.rs"].contains(&module)
            || rows.iter().any(|row| row[0].contains(&format!("`{package}/{module}")));
        assert!(there, "the code map lacks {file}");
    }
    assert!(checked > 400, "{checked} checks");
    let sample = "use crate::stage::{droplets, wind::Law};\n// crate::io\n\
                  fn f() { crate::plan::Plan::new() }";
    assert_eq!(names(sample), ["stage", "stage::droplets", "stage::wind", "plan", "plan::Plan"]);
}

/// Takes away, again and again, those that name no other that is left. What is left has a circle.
fn circles(mut edges: std::collections::BTreeMap<String, Vec<String>>) -> Vec<String> {
    loop {
        let free = edges
            .iter()
            .find(|(name, to)| to.iter().all(|other| other == *name || !edges.contains_key(other)));
        match free.map(|(name, _)| name.clone()) {
            Some(name) => edges.remove(&name),
            None => return edges.into_keys().collect(),
        };
    }
}

/// The modules of a package form no circle.
#[test]
fn modules_form_no_circle() {
    for package in PACKAGES {
        let mut edges: std::collections::BTreeMap<String, Vec<String>> = Default::default();
        for (file, text) in files(package, "rs") {
            let inner = placed(&file).1;
            let module = inner.split('/').next().unwrap().trim_end_matches(".rs");
            if module != "command" && module != "lib" {
                let others = names(&text).into_iter().filter(|name| !name.contains("::"));
                edges.entry(module.to_string()).or_default().extend(others);
            }
        }
        assert!(edges.len() > 10, "{package}");
        let left = circles(edges);
        assert!(left.is_empty(), "{package}: a circle among {left:?}");
    }
}

/// The modules of the editor form no circle either.
#[test]
fn modules_of_the_editor_form_no_circle() {
    let mut edges: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for (file, text) in files("web/js", "js") {
        let others = text.split("from './").skip(1).chain(text.split("import './").skip(1));
        let others = others.map(|rest| rest.split('\'').next().unwrap().to_string()).collect();
        edges.insert(file.strip_prefix("web/js/").unwrap().to_string(), others);
    }
    assert!(edges["main.js"].contains(&"editor.js".to_string()), "{edges:?}");
    let left = circles(edges);
    assert!(left.is_empty(), "a circle among {left:?}");
}

/// The paths that a file names behind a prefix, as `["layer", "params", "Params"]`.
fn paths_behind(prefix: &str, code: &str) -> Vec<Vec<String>> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let split = |path: &str| -> Vec<String> {
        path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(String::from).collect()
    };
    let mut found = vec![];
    for (at, _) in code.match_indices(prefix) {
        // Not `super::super::`, nor a word that ends so.
        if code[..at].ends_with(|c: char| word(c) || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        let path: String = rest.chars().take_while(|c| word(*c) || *c == ':').collect();
        let group = rest[path.len()..].strip_prefix('{').and_then(|group| group.split('}').next());
        match group {
            None => found.push(split(&path)),
            Some(group) => {
                found.extend(group.split(',').map(|member| [split(&path), split(member)].concat()))
            }
        }
    }
    found
}

/// The files of a folder form no circle either, as far as they name each other by path. What a
/// folder's `mod.rs` hands on is its own.
#[test]
fn files_form_no_circle() {
    let all = sources();
    let there: std::collections::BTreeSet<&str> =
        all.iter().map(|(file, _)| file.as_str()).collect();
    // The file in which a path from a folder on leads somewhere, if that is none of the folder's
    // own `mod.rs`.
    let leads = |folder: &str, path: &[String]| {
        (1..=path.len()).rev().find_map(|n| {
            let file = format!("{folder}/{}.rs", path[..n].join("/"));
            there.get(file.as_str()).map(|file| file.to_string())
        })
    };
    let mut edges: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for (file, text) in &all {
        let code = code(text);
        let own = code.split(';').filter(|line| !line.contains("pub use "));
        let own = own.collect::<Vec<_>>().join(";");
        let folder = match file.strip_suffix("/mod.rs") {
            // `super` of a folder is the folder above.
            Some(module) => module.rsplit_once('/').unwrap().0,
            None => file.rsplit_once('/').unwrap().0,
        };
        let near = paths_behind("super::", &own).into_iter().filter_map(|p| leads(folder, &p));
        let package = placed(file).0;
        let far = paths_behind("crate::", &own).into_iter().filter_map(|p| leads(package, &p));
        let others = near.chain(far).filter(|other| other != file);
        edges.insert(file.clone(), others.collect());
    }
    assert!(edges.values().map(Vec::len).sum::<usize>() > 500, "few files name others");
    let left = circles(edges);
    assert!(left.is_empty(), "a circle among {left:?}");
    let sample = "use super::layer::params::Params;\nuse super::{a::B, c};\nsuper::super::d::e()";
    assert_eq!(
        paths_behind("super::", sample),
        [vec!["layer", "params", "Params"], vec!["a", "B"], vec!["c"], vec!["super", "d", "e"]]
    );
}

/// The ids that a line of a comment names: those after "Holds", up to the first word that is none.
fn held(line: &str) -> Vec<String> {
    let Some(rest) = line.trim_start().strip_prefix("/// Holds ") else { return vec![] };
    let id = |word: &str| {
        let word = word.trim_end_matches([',', ':', '.']);
        let number =
            word.get(1..).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        (number && word.starts_with(|c: char| ('A'..='G').contains(&c) || c == 'M'))
            .then(|| word.to_string())
    };
    rest.split(' ')
        .take_while(|word| id(word).is_some() || word.contains('-'))
        .filter_map(id)
        .collect()
}

/// Every statement of the articles is on its page, with the tests that hold it. Their comments say
/// so, and the page's last column is made from them; without a test there is a reason, in brackets.
#[test]
fn the_page_of_articles_has_every_id_with_its_tests() {
    use std::collections::{BTreeMap, BTreeSet};
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files("tests/it", "rs") {
        let module = path
            .trim_start_matches("tests/it/")
            .trim_end_matches(".rs")
            .trim_end_matches("/mod")
            .replace('/', "::");
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            // Elsewhere an F is a promise about files.
            let of_dungeons = |id: &String| id.starts_with(['F', 'G']);
            let ids: Vec<String> = held(line)
                .into_iter()
                .filter(|id| path.contains("dungeon") || !of_dungeons(id))
                .collect();
            if ids.is_empty() {
                continue;
            }
            let function = lines[i..].iter().find_map(|line| line.trim_start().strip_prefix("fn "));
            let name = function
                .unwrap_or_else(|| panic!("{path}: no test after {line}"))
                .split('(')
                .next()
                .unwrap();
            for id in ids {
                tests.entry(id).or_default().insert(format!("`{module}::{name}`"));
            }
        }
    }
    let path = root().join("docs/articles.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut ids = vec![];
    let line = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let &[id, says, here, holds] = &cells[..] else { return line.to_string() };
        if id == "id" {
            return line.to_string();
        }
        ids.push(id.to_string());
        let holds = match tests.remove(id) {
            Some(names) => names.into_iter().take(2).collect::<Vec<_>>().join(", "),
            None => {
                let reason = holds.len() > 4 && holds.starts_with('(') && holds.ends_with(')');
                assert!(
                    reason,
                    "docs/articles.md: no test holds {id}, and no reason in brackets says why"
                );
                holds.to_string()
            }
        };
        format!("| {id} | {says} | {here} | {holds} |")
    };
    let made = page.lines().map(line).collect::<Vec<_>>().join("\n") + "\n";
    let numbers =
        [('A', 30), ('B', 9), ('C', 32), ('D', 25), ('E', 22), ('F', 20), ('G', 17), ('M', 6)];
    let all: Vec<String> = numbers
        .iter()
        .flat_map(|(letter, n)| (1..=*n).map(move |i| format!("{letter}{i}")))
        .collect();
    assert_eq!(ids, all, "docs/articles.md has every id once, in order");
    assert!(tests.is_empty(), "held, but no statement of the articles: {tests:?}");
    if std::env::var("THALWEG_BLESS").is_ok() {
        std::fs::write(&path, &made).unwrap();
    }
    assert_eq!(page, made, "run THALWEG_BLESS=1 cargo test --test it tidy");
    assert_eq!(held("/// Holds A5, D-4, G12: words A7"), ["A5", "G12"]);
    assert_eq!(held("/// Holds B1 in part."), ["B1"]);
    assert!(
        held("/// Holds that A1 is so.").is_empty()
            && held("/// Holds file F1: of files").is_empty()
    );
}

/// H9: the page of the library has a row for each feature, and says of each whether it is on by
/// default.
#[test]
fn the_page_of_the_library_has_the_features() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let (page, manifest) = (read("docs/library.md"), read("Cargo.toml"));
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let features = manifest["features"].as_table().unwrap();
    let on: Vec<&str> =
        features["default"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    for name in features.keys().filter(|name| *name != "default") {
        let default = if on.contains(&name.as_str()) { " (default)" } else { "" };
        assert!(
            page.contains(&format!("\n| `{name}`{default} | ")),
            "docs/library.md has no row of {name}{default}"
        );
    }
    // What it says of `cli`: everything but these three.
    let within = |name: &str| {
        features[name].as_array().unwrap().iter().filter_map(|v| v.as_str()).collect::<Vec<_>>()
    };
    let apart = ["default", "cli", "api", "gpu", "serve"];
    let others = features.keys().filter(|name| !apart.contains(&name.as_str()));
    others.for_each(|name| assert!(within("cli").contains(&name.as_str()), "cli brings {name}"));
}

//! The C interface: its header, its programs, and its manual.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use thalweg::recipe::EXAMPLES;
use thalweg::{Device, Job, Recipe};
use thalweg_c::border::{ThalwegStatus, guard, thalweg_last_error};

/// In the order of the header.
const SOURCES: [&str; 5] = ["version.rs", "border.rs", "recipe.rs", "job.rs", "land.rs"];

/// Strict compilers.
const C99: &[&str] = &["gcc", "-xc", "-std=c99"];
const CPP11: &[&str] = &["g++", "-xc++", "-std=c++11"];
const STRICT: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic"];

/// What `rustc --print native-static-libs` says, which docs/c.md has, too.
const SYSTEM: &[&str] = &["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(own(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The folder of the libraries, which are built for the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs what must succeed: its standard output.
fn succeed(command: &mut Command) -> String {
    let out = run(command);
    let (said, wrong) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{command:?}: {}\n{said}{wrong}", out.status);
    said.into()
}

/// How a program gets the library.
#[derive(Clone, Copy, Debug)]
enum Link {
    Shared,
    Static,
}

/// Compiles a program of C.
fn program(source: &str, link: Link) -> PathBuf {
    let source = own(source);
    let name = format!("{}-{link:?}", source.file_stem().unwrap().display());
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-g", "-D_POSIX_C_SOURCE=200809L"]).args(STRICT);
    gcc.arg("-I").arg(own("include")).arg(&source).arg("-o").arg(&out);
    let libraries = libraries();
    match link {
        Link::Shared => {
            gcc.arg("-L").arg(&libraries).args(["-lthalweg_c", "-lpthread"]);
            gcc.arg(format!("-Wl,-rpath,{}", libraries.display()))
        }
        Link::Static => gcc.arg(libraries.join("libthalweg_c.a")).args(SYSTEM),
    };
    succeed(&mut gcc);
    out
}

/// The header as the source has it.
fn written() -> String {
    let config = cbindgen::Config::from_file(own("cbindgen.toml")).unwrap();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(own("src").join(source));
    }
    let mut header = vec![];
    builder.generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_that_of_the_source() {
    let header = written();
    if std::env::var_os("THALWEG_BLESS").is_some() {
        std::fs::write(own("include/thalweg.h"), &header).unwrap();
    }
    let same = text("include/thalweg.h") == header;
    assert!(same, "THALWEG_BLESS=1 cargo test -p thalweg-c header writes include/thalweg.h anew");
}

/// A program that does nothing but include the header.
fn including(compiler: &[&str]) -> Output {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(compiler[0]);
    std::fs::write(&source, "#include <thalweg.h>\nint main(void) { return 0; }\n").unwrap();
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(STRICT).arg("-fsyntax-only");
    run(command.arg("-I").arg(own("include")).arg(&source))
}

#[test]
fn the_header_is_c99_and_cpp11() {
    for compiler in [C99, CPP11] {
        let out = including(compiler);
        assert!(out.status.success(), "{compiler:?}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// The functions that a text names before a parenthesis.
fn functions(text: &str) -> BTreeSet<String> {
    let ends = text.match_indices('(').map(|(end, _)| &text[..end]);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = ends.map(|before| before.rsplit(|c| !is_name(c)).next().unwrap_or_default());
    names.filter(|name| name.starts_with("thalweg_")).map(String::from).collect()
}

#[test]
fn the_manual_has_every_function_and_the_demo() {
    let (header, manual) = (text("include/thalweg.h"), text("../../docs/c.md"));
    let table: String = manual.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(functions(&table), functions(&header));
    let declared = |name: &String| header.matches(&format!("{name}(")).count();
    assert!(functions(&header).iter().all(|name| declared(name) == 1));
    assert!(functions(&header).len() <= 20);
    assert!(manual.contains(text("examples/demo.c").split_once("int main").unwrap().1));
    assert!(manual.contains(&SYSTEM.join(" ")), "the system's libraries");
    assert!(manual.lines().all(|line| line.chars().count() <= 100));
}

/// The digest of the demo's land, by the Rust library.
fn digest() -> String {
    let (_, toml) = EXAMPLES.iter().find(|(name, _)| *name == "mountains").unwrap();
    let mut recipe: Recipe = toml.parse().unwrap();
    recipe.resize(256, 256).unwrap();
    let land = Job::new(recipe).unwrap().device(Device::Cpu).run(&mut |_| Ok(())).unwrap();
    land.digest("height").unwrap().into()
}

#[test]
fn the_demo_makes_the_same_bytes() {
    let wanted = format!("{}\n", digest());
    for link in [Link::Shared, Link::Static] {
        assert_eq!(
            succeed(&mut Command::new(program("examples/demo.c", link))),
            wanted,
            "{link:?}"
        );
    }
}

/// Runs a program under valgrind, where it is, and as it is.
fn check(source: &str) {
    let program = program(source, Link::Shared);
    succeed(&mut Command::new(&program));
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("valgrind is not installed: {source} ran without it");
        return;
    }
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--leak-check=full", "--show-leak-kinds=definite,indirect,possible"]);
    valgrind.args(["--errors-for-leak-kinds=definite,indirect,possible", "--error-exitcode=99"]);
    valgrind.arg(format!("--suppressions={}", own("tests/valgrind.supp").display()));
    let out = run(valgrind.arg(&program));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{}\n{said}", out.status);
    assert!(said.contains("ERROR SUMMARY: 0 errors"), "{said}");
}

#[test]
fn bad_input_of_every_kind_is_an_error() {
    check("tests/bad.c");
}

#[test]
fn threads_share_a_job() {
    check("tests/threads.c");
}

#[test]
fn c_sharp_makes_the_same_bytes() {
    let missing = |program: &str| Command::new(program).arg("--version").output().is_err();
    if missing("mcs") || missing("mono") {
        println!("Mono is not installed: Thalweg.cs was not run");
        return;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("Thalweg.exe");
    let mut out = std::ffi::OsString::from("-out:");
    out.push(&program);
    succeed(Command::new("mcs").arg("-warnaserror").arg(out).arg(own("examples/Thalweg.cs")));
    let mut mono = Command::new("mono");
    mono.env("LD_LIBRARY_PATH", libraries()).arg(program);
    assert_eq!(succeed(&mut mono), format!("{}\n", digest()));
}

#[test]
fn panics_stop_at_the_border() {
    assert_eq!(guard(|| panic!("on {}", "purpose")), ThalwegStatus::Panic);
    // SAFETY: the error of this thread stays until its next one.
    let error = unsafe { &*thalweg_last_error() };
    assert_eq!(error.status, ThalwegStatus::Panic);
    // SAFETY: a message is never null and ends in a zero.
    let message = unsafe { std::ffi::CStr::from_ptr(error.message) };
    assert_eq!(message, c"thalweg is at fault: on purpose");
}

//! The command: what it writes, what it refuses, how it ends. This file has what the tests share;
//! the tests are grouped by subject.

mod bench;
mod biomes;
mod compare;
mod convert;
mod devices;
mod dungeon;
mod erode;
mod faults;
mod film;
mod quality;
mod render;
mod report;
mod run;
mod tiles;
mod variants;
#[cfg(unix)]
mod workflow;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use thalweg::io;
use thalweg::map::Map;

const RECIPE: &str = r#"
schema = 2
seed = 5
width = 64
height = 48
spacing_m = 10
origin = [100, 200]
[[stage]]
kind = "diamond_square"
world_cells = 1024
feature_cells = 64
relief_m = 200
[[stage]]
kind = "droplets"
lifetime = 16
rain = 2
[output]
maps = ["height", "flow"]
format = "png"
sea_level_m = 60
"#;

/// A new folder for one test, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("command-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.0.join(name), content).unwrap();
        self
    }

    /// Runs `thalweg` in the folder; the words of the line are its arguments.
    pub fn thalweg(&self, line: &str) -> Ran {
        ran(self.command(line).output().unwrap())
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.current_dir(&self.0).args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// The names of everything in a subfolder, with hidden files.
    fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ran {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Asserts that it ended with `code`, with an error that has all of `words`, and without a
    /// panic.
    #[track_caller]
    fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        // Drivers write to stderr as well, before the error.
        let error = self.stderr.rfind("error: ").map(|at| &self.stderr[at..]).unwrap_or_default();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {:?}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self
    }
}

impl Ran {
    /// Asserts that it ended with `code` and said `word` on stdout.
    #[track_caller]
    fn refused_with_output(self, code: i32, word: &str) {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(self.stdout.contains(word), "{}", self.stdout);
    }
}

/// A PNG of 8 bits a channel, by the decoder alone.
pub fn picture(bytes: &[u8]) -> image::DynamicImage {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut data).unwrap();
    let (width, height) = (info.width, info.height);
    match info.color_type {
        png::ColorType::Rgb => image::RgbImage::from_raw(width, height, data).unwrap().into(),
        png::ColorType::Rgba => image::RgbaImage::from_raw(width, height, data).unwrap().into(),
        png::ColorType::GrayscaleAlpha => {
            image::GrayAlphaImage::from_raw(width, height, data).unwrap().into()
        }
        other => panic!("{other:?}"),
    }
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn map(width: u32, height: u32, value: impl Fn(u32, u32) -> f32) -> Map {
    let data = (0..height)
        .flat_map(|r| (0..width).map(move |c| (r, c)))
        .map(|(r, c)| value(r, c))
        .collect();
    Map { width, height, spacing_m: 10.0, data, range_m: None, georef: None }
}

/// Hills, 0 to 400 m.
fn hills(width: u32, height: u32) -> Map {
    map(width, height, |r, c| 200.0 + 100.0 * ((r as f32 * 0.3).sin() + (c as f32 * 0.2).cos()))
}

fn npy(map: &Map) -> Vec<u8> {
    io::encode(map, io::MapFormat::Npy).unwrap().0
}

/// The bytes of a map with another value in one cell. The value may be one that the program
/// refuses, such as NaN.
fn spoilt(map: &Map, cell: usize, value: f32) -> Vec<u8> {
    let mut bytes = npy(map);
    let at = bytes.len() - 4 * (map.data.len() - cell);
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// The pixels of a picture.
pub fn pixels(bytes: Vec<u8>) -> Vec<u8> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut data = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut data).unwrap();
    data
}

/// Whether to run a test on a graphics adapter. `THALWEG_GPU` is `off`, `require`, or unset: then
/// tests use one if there is one.
fn adapter(test: &str) -> bool {
    let wish = std::env::var("THALWEG_GPU").unwrap_or_default();
    let folder = Folder::new(&format!("adapter-{}", test.replace("::", "-")));
    let there =
        wish != "off" && folder.thalweg("devices --json").ok().stdout.contains("\"index\":0");
    assert!(there || wish != "require", "THALWEG_GPU=require and there is no adapter");
    if !there {
        crate::common::left_out(&format!("command::{test}"), &wish);
    }
    there
}

#[test]
fn help_shows_an_example_everywhere() {
    let folder = Folder::new("help");
    for command in ["", "run", "erode", "render", "compare", "devices", "bench"] {
        let text = folder.thalweg(&format!("{command} --help")).ok().stdout;
        assert!(
            text.contains(&format!("thalweg {}", if command.is_empty() { "run" } else { command })),
            "{text}"
        );
        assert!(text.contains("Example") && text.contains("--device"), "{command}");
    }
}

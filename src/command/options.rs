//! Options that several commands have.

use super::console::Console;
use super::{format, is_standard, refuse_standard, size, standard_input, tell};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::Path;
use thalweg::io::engine::{Engine, README};
use thalweg::io::{MapFormat, ReadOptions, Reading, header_path, refuse};
use thalweg::{Device, Error, Result};

/// The formats of `--from` and `--to`.
fn all_formats() -> String {
    MapFormat::names(|_| true).join(", ")
}

/// What every subcommand takes.
#[derive(Args)]
pub(super) struct Options {
    /// Where to compute: auto, cpu, gpu, or an adapter's number or part of its name (see `thalweg
    /// devices`)
    ///
    /// auto takes a graphics card if there is one that the map fits, else the CPU, and continues on
    /// the CPU should the card fail; gpu takes the best adapter, software ones too. The results are
    /// the same bytes.
    #[arg(
        long,
        global = true,
        value_name = "DEVICE",
        default_value = "auto",
        help_heading = "Device"
    )]
    pub(super) device: Device,
    /// Threads of the CPU; 0: one a core
    #[arg(long, global = true, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..=1024), help_heading = "Device")]
    pub(super) threads: u16,
    /// Invocations of a workgroup on the GPU, on which the results do not depend; 0: 256, or the
    /// adapter's limit if that is lower
    #[arg(long, global = true, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u32).range(..=1024), help_heading = "Device")]
    pub(super) workgroup_size: u32,
    /// Shuffle the order in which the CPU does its work by this seed, to prove that the order does
    /// not matter
    #[arg(long, global = true, value_name = "SEED", value_parser = super::seed,
        help_heading = "Device")]
    pub(super) shuffle: Option<u64>,
    /// Print one JSON value on stdout; an error is an object on stderr:
    /// {"error":{"code","message"}}, with the pointer, field and value where they are known
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) json: bool,
    /// Replace files that exist
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) force: bool,
    /// No warnings, no progress, no summary; errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub(super) quiet: bool,
    /// Say more on stderr: the device, and progress where stderr is no terminal
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    pub(super) verbose: u8,
    /// No progress bar
    #[arg(long, global = true, help_heading = "Output")]
    pub(super) no_progress: bool,
}

/// How to read a height map that does not say everything itself.
#[derive(Args, Clone, Default)]
pub(super) struct InputOptions {
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = "Input",
        help = format!("Format of the file, where neither its name nor its content says it: {}",
            all_formats()))]
    pub(super) from: Option<MapFormat>,
    /// Metres from a sample to the next; wins over what the file says
    #[arg(long, allow_negative_numbers = true, value_name = "METRES", help_heading = "Input")]
    pub(super) spacing: Option<f64>,
    /// Metres that the lowest and the highest integer of a 16-bit or 8-bit picture stand for, or 0
    /// and 1 of a file of floats from 0 to 1
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true,
        help_heading = "Input")]
    pub(super) range: Option<Vec<f64>>,
    /// Height for samples without a value; without it such samples are an error
    #[arg(long, value_name = "METRES", allow_negative_numbers = true, help_heading = "Input")]
    pub(super) nodata: Option<f32>,
    /// The band of a TIFF or the channel of an EXR that holds the heights, counted from 1; needed
    /// for a TIFF with several
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535),
        help_heading = "Input")]
    pub(super) band: Option<u32>,
    /// Size of a raw file that is not square, as WIDTHxHEIGHT
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Input")]
    pub(super) size: Option<(u32, u32)>,
}

impl InputOptions {
    pub(super) fn read(&self, console: &Console, path: &Path) -> Result<Reading> {
        self.read_land(console, path, false)
    }

    /// The same, where samples without a value may stay so.
    pub(super) fn read_land(
        &self,
        console: &Console,
        path: &Path,
        keep_missing: bool,
    ) -> Result<Reading> {
        let reading = self.quietly(path, keep_missing)?;
        tell(console, path, &reading.warnings);
        console.check()?;
        Ok(reading)
    }

    /// Reads a map, and leaves its warnings to the caller.
    pub(super) fn quietly(&self, path: &Path, keep_missing: bool) -> Result<Reading> {
        let range_m = self.range.as_deref().map(|r| (r[0], r[1]));
        let options = ReadOptions {
            spacing_m: self.spacing,
            range_m,
            size: self.size,
            nodata_fill: self.nodata,
            keep_missing,
            band: self.band,
            ..ReadOptions::default()
        };
        match (is_standard(path), self.from) {
            (false, None) => thalweg::io::read(path, &options),
            (standard, from) => {
                let bytes = if standard { standard_input()? } else { thalweg::io::bytes(path)? };
                let told = "name the format of standard input with --from, such as --from r16";
                let format = from
                    .or_else(|| MapFormat::from_bytes(&bytes))
                    .ok_or_else(|| Error::input(path, told))?;
                thalweg::io::decode(path, &bytes, format, &options)
            }
        }
    }
}

/// The format of a map that is written.
#[derive(Args)]
pub(super) struct OutputFormat {
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = "Output",
        help = format!("Format of the output, where its name does not say it: {}", all_formats()))]
    pub(super) to: Option<MapFormat>,
}

impl OutputFormat {
    pub(super) fn of(&self, path: &Path) -> Result<MapFormat> {
        match self.to {
            Some(format) => Ok(format),
            None if is_standard(path) => Err(Error::param(
                "-: name the format of standard output with --to, such as --to png",
            )),
            None => MapFormat::from_path(path),
        }
    }

    /// Refuses an output that cannot be written, before the work.
    pub(super) fn refuse(&self, path: &Path, console: &Console) -> Result<()> {
        match (is_standard(path), console.options.json) {
            (true, true) => {
                Err(Error::param("--json: standard output takes the map or the object, not both"))
            }
            (true, false) => console.open_output(),
            (false, _) => {
                // A mesh has none.
                let header = self.of(path).ok().and_then(|format| header_path(path, format));
                refuse(
                    &std::iter::once(path.to_path_buf()).chain(header).collect::<Vec<_>>(),
                    console.options.force,
                )
            }
        }
    }
}

/// Reads the name of a program, and lists all in the help.
fn program() -> impl TypedValueParser<Value = Engine> {
    PossibleValuesParser::new(Engine::ALL.map(Engine::name)).try_map(|name| name.parse())
}

/// For which program files are made.
#[derive(Args)]
pub(super) struct EngineFiles {
    /// Files as a program takes them, with a README.txt that has the numbers to type there
    #[arg(long, value_name = "PROGRAM", help_heading = "Output", value_parser = program())]
    pub(super) engine: Option<Engine>,
}

impl EngineFiles {
    /// Refuses, before the work, a size that the program does not take, and a folder that has its
    /// files already.
    pub(super) fn announce(
        &self,
        console: &Console,
        folder: &Path,
        [width, height]: [u32; 2],
    ) -> Result<()> {
        let Some(engine) = self.engine else { return Ok(()) };
        refuse_standard(folder)?;
        engine.check(width, height)?;
        refuse(&[folder.join(README)], console.options.force)
    }
}

/// What the ends of a scale stand for.
#[derive(Args)]
pub(super) struct OutputRange {
    /// Values that the ends of a scale stand for, in metres: 0 and 65535 of files of 16 bits, the
    /// first and the last colour of pictures. The same for several maps, they fit together
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true,
        help_heading = "Output")]
    pub(super) output_range: Option<Vec<f64>>,
}

impl OutputRange {
    pub(super) fn pair(&self) -> Result<Option<(f64, f64)>> {
        match self.output_range.as_deref() {
            Some(&[low, high]) if low.is_finite() && high.is_finite() && low < high => {
                Ok(Some((low, high)))
            }
            Some(given) => {
                let given = given.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
                Err(Error::param(format!(
                    "--output-range {given}: allowed two finite numbers, the lower one first"
                )))
            }
            None => Ok(None),
        }
    }
}

/// How a time-lapse is asked for.
#[derive(Args)]
pub(super) struct TimelapseArguments {
    /// Pictures of the land while it is eroded: the first before, the last after, the others evenly
    /// between
    #[arg(long, value_name = "N", help_heading = "Time-lapse")]
    pub(super) frames: Option<usize>,
    /// Longest side of these pictures; larger maps are averaged down
    #[arg(long, value_name = "PIXELS", default_value_t = 1080,
        value_parser = clap::value_parser!(u32).range(16..=8192), requires = "frames",
        help_heading = "Time-lapse")]
    pub(super) frame_size: u32,
}

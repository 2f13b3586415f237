//! The tables that three of the articles print, measured again, with the articles' figures.
//!
//! `cargo bench --bench articles -- droplets`; `-- --help` lists the options. See
//! `benches/README.md`.

mod tables;

use clap::Parser;

fn main() -> std::process::ExitCode {
    match tables::run(&tables::Arguments::parse()) {
        Ok(report) => {
            print!("{report}");
            std::process::ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}

//! The `thalweg` command.

mod command;

fn main() -> std::process::ExitCode {
    command::main()
}

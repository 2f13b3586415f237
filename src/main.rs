//! The `thalweg` command.

mod command;

fn main() -> std::process::ExitCode {
    quieten_mesa();
    command::main()
}

/// Mesa's layer that picks a device asks Wayland for one and prints an error, twice, where there is
/// no folder for sockets. One that does not exist has none either, and is passed over in silence.
#[cfg(target_os = "linux")]
fn quieten_mesa() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: there is no other thread yet that could read the environment.
        unsafe { std::env::set_var("XDG_RUNTIME_DIR", "/nonexistent") }
    }
}

#[cfg(not(target_os = "linux"))]
fn quieten_mesa() {}

//! The one test binary: what every stage gets for nothing, and what each part promises.

mod classic;
mod command;
mod io;
mod render;

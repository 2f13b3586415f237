//! The C interface of thalweg. `docs/c.md` is its manual and `include/thalweg.h` its header.
//!
//! Each function is a thin layer over one of the library. Handles are boxes, what changes in them
//! lies behind a mutex, and every function catches its panics. So all that C can do wrong is to
//! hand over a pointer that is neither null nor what the header asks for.
#![deny(clippy::undocumented_unsafe_blocks)]

#[doc(hidden)]
pub mod border;
mod job;
mod land;
mod recipe;
mod version;

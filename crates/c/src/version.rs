//! Which edition of the library this is.

use crate::border;
use std::ffi::{CString, c_char};
use std::sync::LazyLock;

static IDENTITY: LazyLock<CString> = LazyLock::new(|| border::c_text(thalweg::tiles::engine()));

/// The version of the library, such as "0.1.0". The text stays.
#[unsafe(no_mangle)]
pub extern "C" fn thalweg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What decides the bytes of a land beside its recipe and its inputs: the version and a digest.
/// Two libraries with equal texts make equal lands. The text stays.
#[unsafe(no_mangle)]
pub extern "C" fn thalweg_identity() -> *const c_char {
    border::or(std::ptr::null(), || Ok(IDENTITY.as_ptr()))
}

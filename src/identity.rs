//! What decides the bytes of a land beside its recipe and its inputs: which edition of the program
//! makes it.
//!
//! The keys of tiles, the digests of recipes, snapshots and the service's store have this identity
//! in them. So what another edition has made is not found, or is refused by name, and no land is
//! put together from the words of two.
//!
//! It is the version and a digest of
//!
//! - the text of all shaders;
//! - `identity.txt`, which stands for what the host does: the plans of the fixed cases of all
//!   stages, the words that these leave, and the files of a run that has every map. The tests work
//!   these digests out, fail where the file has others, and write it anew with `THALWEG_BLESS=1`
//!   (`tests/it/vectors.rs`). So a step of the host cannot change a byte that is tested and leave
//!   the identity as it was.

use std::sync::LazyLock;
pub use thalweg_core::shaders;

/// The digests of what the host does.
pub const HOST: &str = include_str!("identity.txt");

static ENGINE: LazyLock<String> = LazyLock::new(|| of(env!("CARGO_PKG_VERSION"), &shaders(), HOST));

/// The identity of this edition, for people too: the program's version, and a digest.
pub fn engine() -> &'static str {
    &ENGINE
}

/// The identity of an edition.
pub fn of(version: &str, shaders: &str, host: &str) -> String {
    let parts =
        [version, shaders, host].map(|part| blake3::hash(part.as_bytes()).to_hex().to_string());
    format!("{version} {}", &blake3::hash(parts.concat().as_bytes()).to_hex()[..16])
}

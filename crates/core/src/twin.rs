//! Declarations that a kernel and its twin share, written once: Rust items whose WGSL follows.

use glam::{IVec2, UVec2};

/// A type that WGSL has, too.
pub trait Wgsl {
    /// Its name in WGSL.
    const NAME: &'static str;
}

impl Wgsl for i32 {
    const NAME: &'static str = "i32";
}

impl Wgsl for u32 {
    const NAME: &'static str = "u32";
}

/// Sizes and places are words there.
impl Wgsl for usize {
    const NAME: &'static str = "u32";
}

impl Wgsl for IVec2 {
    const NAME: &'static str = "vec2<i32>";
}

impl Wgsl for UVec2 {
    const NAME: &'static str = "vec2<u32>";
}

/// Constants, and `WGSL`, their text for the shader. A value is an expression that both languages
/// read alike: numbers without `_`, operators, and constants that the shader has.
macro_rules! constants {
    ($texts:vis const WGSL: &str; $(
        $(#[$doc:meta])* $vis:vis const $name:ident: $type:ty = $value:expr;
    )*) => {
        $($(#[$doc])* $vis const $name: $type = $value;)*

        /// The WGSL of the constants that the shader shares.
        $texts const WGSL: &str = constcat::concat!($(
            "const ", stringify!($name), ": ", <$type as $crate::twin::Wgsl>::NAME, " = ",
            stringify!($value), ";\n",
        )*);
    };
}
pub(crate) use constants;

/// A struct of uniform data with its text in WGSL, `WGSL`. A block that follows it in the same
/// uniform struct stands after `and`.
macro_rules! uniform {
    (
        $(#[$attribute:meta])* $vis:vis struct $name:ident {
            $($(#[$doc:meta])* $each:vis $member:ident: $type:ty,)*
        } $(and $block:ident: $of:ident)?
    ) => {
        $(#[$attribute])* $vis struct $name { $($(#[$doc])* $each $member: $type,)* }

        impl $name {
            /// The struct in WGSL.
            pub(crate) const WGSL: &'static str = constcat::concat!(
                "struct ", stringify!($name), " {\n",
                $("    ", stringify!($member), ": ", <$type as $crate::twin::Wgsl>::NAME, ",\n",)*
                $("    @align(16) ", stringify!($block), ": ", stringify!($of), ",\n",)?
                "}\n"
            );
        }
    };
}
pub(crate) use uniform;

//! The uniform struct of `layer`.

use crate::twin::uniform;
use encase::ShaderType;

uniform! {
    /// The uniform struct of every pass of this stage.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    pub(in crate::stage) struct Params {
        pub(in crate::stage) width: i32,
        pub(in crate::stage) height: i32,
        pub(in crate::stage) source: u32,
        pub(in crate::stage) combine: u32,
        pub(in crate::stage) octaves: u32,
        pub(in crate::stage) start: i32,
        pub(in crate::stage) span: u32,
        pub(in crate::stage) shift: u32,
        pub(in crate::stage) low: i32,
        pub(in crate::stage) high: i32,
        pub(in crate::stage) thick_low: i32,
        pub(in crate::stage) thick_high: i32,
        pub(in crate::stage) sediment: u32,
        /// Cells of the recipe from one vertex to the next.
        pub(in crate::stage) step: i32,
        /// Weather: where the wind goes, 2⁻¹⁶, and where a pass looks upwind and to both sides of
        /// that, in cells.
        pub(in crate::stage) wind_x: i32,
        pub(in crate::stage) wind_y: i32,
        pub(in crate::stage) up_x: i32,
        pub(in crate::stage) up_y: i32,
        pub(in crate::stage) across_x: i32,
        pub(in crate::stage) across_y: i32,
        /// The weight of what it finds there, 2⁻¹⁶.
        pub(in crate::stage) share: u32,
        pub(in crate::stage) shadow: u32,
        /// Rain for a rise of 1, in parts of the most, 2⁻¹⁶.
        pub(in crate::stage) moisture: u32,
        pub(in crate::stage) background: i32,
        pub(in crate::stage) sea: i32,
    }
}

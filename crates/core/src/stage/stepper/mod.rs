//! What the particle laws share: homes and births, proposals and their limits, and what the ground
//! gains and loses.
//!
//! # Rule
//! A particle lives for `lifetime` steps, and all particles take each step together. A step is
//! three passes.
//!
//! 1. `limit` (gather) grants each particle a share of what it proposed in the step before: all
//!    particles at a vertex get the same. What is granted there is at most the vertex's *room*
//!    (below), less what it carries already, and at most 4 cells. The share of what is taken is
//!    multiplied by the erodibility of the ground: (1 − hardness) · (1 − `root_strength` ·
//!    vegetation) for bedrock, 1 − `root_strength` · vegetation for loose sediment, and a mean of
//!    the two where the sediment is thinner than the amount taken. With a sediment layer, bedrock
//!    is `bedrock` times as erodible. With the grant comes the class of the stream: how often
//!    particles have passed the vertex, on coarser levels and so far on this one.
//! 2. The law's own kernel (scatter): each particle settles what it was granted, moves on the
//!    frozen `height`, and proposes to take from or give to one vertex (`want`).
//! 3. `settle` (gather): a vertex wishes to change by spread(given) − brush(taken), and by the
//!    *carry* that it and its neighbours have. It changes by that as far as it has room, and
//!    carries the rest. The spread gives 7/64 to each neighbour along the axes and 7/128 along the
//!    diagonals, and leaves the rest at the vertex. It is slightly narrower than the binomial
//!    kernel, which cannot undo a ripple of two cells. The brush is nearly a cone of `radius_cells`
//!    (see `brush`). Integer remainders stay at the centre cell. Each vertex passes an eighth of
//!    its carry on to each of its eight neighbours. All of this folds back at the borders.
//!
//! After the last step with rain come 32 without, in which particles lay down what they have left
//! and the carry finds its place.
//!
//! **Room.** In one step a vertex falls by at most `max_step_fraction` times the drop to the lowest
//! of its eight neighbours, and not below `floor_m` or the sea. It rises by at most
//! `max_step_fraction` times the rise to the highest, or to a tenth of a cell above the lowest.
//! Where an open border lets water out, the vertices of the border fall as the land behind them
//! does and never rise. What would raise them leaves the map.
//!
//! **Maximum principle.** Whatever particles, brush and carry do, a vertex changes by no more than
//! its room: so no vertex ends a step lower than the lowest of its neighbourhood, or higher than
//! the highest and than a tenth of a cell above the lowest. The lowest height of a map never falls.
//! The highest rises only where level ground without any higher neighbour fills, by cones of slope
//! 1/10. The last step adds up to 7 units, the remainders of division by 8, once for a run.
//!
//! **No sum wraps.** What is moved at a vertex in a step is at most 4 cells each way, and at most
//! 2048 that droplets or grains leave behind. The carry stays small, because a vertex whose carry
//! exceeds its room is granted nothing more, and the carry spreads by diffusion. That is no proof
//! for wide brushes, so wishes of 4096 cells or more are counted, and a run in which there was one
//! fails.
//!
//! If `smooth` is not 0, the change of height since the first step is smoothed that many times with
//! the binomial kernel after the last step, and the smoothed change replaces the change (the
//! separate map of changes in van der Veen's article).
//!
//! # Shape
//! Homes are blocks of b × b cells on world coordinates, one particle each. A particle starts at a
//! random place in its home, a hash of home and life. The ages of neighbours are spread evenly.
//! Where there is a `rain` map, its value is the chance that the particle is born. Where the rain
//! is no whole number of lives, some of the homes alone live the last one: see [`lives_last`].
//!
//! # Keeps
//! Σ height + Σ carry + Σ load + Σ exported + Σ spilled is constant to the unit after every step.
//! With `wash`, a share of what is taken is exported at once. In the last step what is still in
//! loads and in the carry is booked as lost: on maps without a floor, ordinary settings leave
//! nothing there. So the heights and what is gone add up when the run ends.
//!
//! # Costs
//! A cell and step: 9 words read, 9 written; one more read with hardness or vegetation, one more
//! with sediment. Memory: 40 bytes a cell.

mod bank;
mod brush;
mod limit;
mod params;
mod particle;
mod plan;
mod room;
mod schedule;
mod settle;
mod smooth;
mod stream;
mod travel;

/// The x of a particle that does not exist. Every x is stored with the bits of this flipped, so
/// zeroed memory has no particles.
pub use crate::arith::NOWHERE;
pub use brush::taps;
pub use limit::shares;
pub use limit::{LIMIT, forget_moves};
pub use params::{
    BEDROCK, BORDER, FLOOR_M, HIGH, LAST, LIMIT_PARAM, OPEN, Options, Params, RAIN, ROOTS,
    SEA_LEVEL_M, SMOOTH, TORUS, WALL, WASH, border, check, density, floor_m, lifetime, radius,
    rain, sea_level_m,
};
pub use particle::{
    Home, Spot, age_and_life, arrive, export, export_halves, for_each_home, gradient, granted,
    halves, height_at, lives_last, lose, phase, propose, row_phase, settle_granted, spot, vertex,
    wander, wash_out, wrap,
};
pub use plan::{Rules, plan};
pub use schedule::{TAIL, Walk};
pub use settle::{SETTLE, loose};
pub use stream::{BEGIN, RECALL, Stream, TALLY, class};
pub use travel::{EDGE, Travellers, buffer as particles_of};

use crate::plan::Kernel;
use crate::site::Window;
use crate::twin::constants;

/// What a run took from the ground and did not leave there, height units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gone {
    /// What left the map: with particles, and over its rim.
    pub over_border: i64,
    /// What did not: loads that end with their particles, and what found no place when the run
    /// ended. Negative if more was laid down than taken.
    pub lost: i64,
}

/// What is gone by the books of a run: `exported` has [`EXPORT_WORDS`] for each tile of particles,
/// and `spilled` two words for each vertex of the rim, the number of overruns, and two words for
/// each part of a row. Pairs are the low 12 bits and the rest. `banked` has what was taken out of
/// `exported` in time, as the low and the high word of a number for each tile; nothing if nothing
/// was.
///
/// # Errors
/// The number of overruns, if there were any: nothing that the run made can be trusted then.
pub fn gone(
    window: &Window,
    exported: &[i32],
    spilled: &[i32],
    banked: &[i32],
) -> Result<Gone, i32> {
    let at = overruns_at(window);
    let overruns = spilled.get(at).copied().unwrap_or(0);
    if overruns != 0 {
        return Err(overruns);
    }
    let sum = |pairs: &mut dyn Iterator<Item = [i32; 2]>| {
        pairs.map(|[low, rest]| i64::from(low) + (i64::from(rest) << 12)).sum::<i64>()
    };
    let each = exported.as_chunks::<EXPORT_WORDS>().0;
    let banked = banked
        .as_chunks::<BANKED_WORDS>()
        .0
        .iter()
        .map(|&[low, high]| i64::from(low as u32) + (i64::from(high) << 32));
    let (rim, rests) = (spilled.get(..at).unwrap_or(&[]), spilled.get(at + 1..).unwrap_or(&[]));
    Ok(Gone {
        over_border: banked.sum::<i64>()
            + sum(&mut each
                .iter()
                .map(|&[low, rest, ..]| [low, rest])
                .chain(rim.as_chunks().0.iter().copied())),
        lost: sum(&mut each
            .iter()
            .map(|&[.., low, rest]| [low, rest])
            .chain(rests.as_chunks().0.iter().copied())),
    })
}

/// The word of `spilled` that counts overruns.
fn overruns_at(window: &Window) -> usize {
    4 * (window.width + window.height) as usize
}

constants! {
    pub(crate) const WGSL: &str;

    /// Cells of a row whose carry is booked together at the end of a run, so that no sum of theirs
    /// can wrap.
    const PART: u32 = 1024;
    /// Homes on a side of a tile. Particles are stored by tile, so that neighbours in memory are
    /// neighbours on the map.
    pub const TILE: u32 = 32;
    /// Particles of a tile.
    pub const TILE_DROPS: usize = 1024;
    /// Words of the record of what particles want of a vertex: the sum of what they would take, the
    /// sum of what they would give (2⁻¹⁶ cells, shortened), and how many have passed since the run
    /// began. A particle that adds to them touches one cache line.
    pub const WANT_WORDS: usize = 3;
    /// Words of the record of what was granted at a vertex in this step, in height units: taken,
    /// given.
    pub const MOVED_WORDS: usize = 2;
    /// Largest proposal, 2⁻¹⁶ cells: 4 cells.
    pub const WANT_MAX: i32 = (4 << 16) - 1;
    /// Largest load, height units: 32 cells.
    pub const LOAD_MAX: i32 = 32 << 18;
    /// The share that grants a whole proposal.
    pub const WHOLE: u32 = 8192;
    /// The classes of streams.
    pub const STREAMS: u32 = 16;
    /// Most that a vertex can be asked to gain or lose in one step, 2⁻¹⁶ cells: 4 cells.
    pub const ALLOW_MAX: i32 = (4 << 16) - 1;
}

/// The WGSL twin, which goes before that of a law.
pub(super) const SHADER: &str = constcat::concat!(
    WGSL,
    limit::WGSL,
    params::WGSL,
    room::WGSL,
    Params::WGSL,
    include_str!("../../../shaders/stepper.wgsl")
);

/// Words of what a tile's particles took from the map: over the border and otherwise, each as the
/// low 12 bits and the rest.
pub const EXPORT_WORDS: usize = 4;
/// Words of what a tile's particles took over the border in earlier steps: the low and the high
/// word of a number.
pub const BANKED_WORDS: usize = 2;
/// Bits of a share. A word of `grant` has that of what is taken, that of what is given, and the
/// class of the stream.
pub const SHARE_BITS: u32 = 14;

/// The kernels of a law: its own and all of the stepper's.
pub const fn with(law: &'static Kernel) -> [&'static Kernel; 12] {
    [
        law,
        &SETTLE,
        &LIMIT,
        &stream::RECALL,
        &stream::BEGIN,
        &stream::TALLY,
        &limit::SOFTEN,
        &smooth::REMEMBER,
        &smooth::DIFFER,
        &smooth::SMOOTHEN,
        &smooth::APPLY,
        &bank::BANK,
    ]
}

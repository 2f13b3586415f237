//! How far a step may move a vertex. Everything that the stepper promises about heights follows
//! from here.

use super::Params;
use crate::arith::{HEIGHT_END, mul_q16};
use crate::twin::constants;

constants! {
    pub(crate) const WGSL: &str;

    /// A vertex may rise this far above its lowest neighbour even where none is higher, 2⁻¹⁶ cells:
    /// a tenth of a cell. Without it, sediment on level ground could only advance as a front with a
    /// steep face; with much more, plains get pimples.
    pub const SLACK: i32 = 6553;
    /// Room counts as at most this, 2⁻¹⁶ cells: 4096 cells.
    const ROOM_MAX: i32 = 1 << 28;
    /// What division by 8 leaves behind in the carry, height units. The last step may put it on the
    /// ground without asking.
    const CRUMB: i32 = 7;
    /// The room to rise of a vertex that never does.
    const RIM: i32 = -1;
    /// A wish of this much either way, height units, is an overrun, which ends the run: 4096 cells.
    /// A step adds at most some 2056 cells to the largest carry, so no sum can wrap before one is
    /// seen.
    pub const OVERRUN: i32 = 1 << 30;
}

/// Whether a wish is an overrun.
#[inline(always)]
pub fn overruns(wish: i32) -> bool {
    !(-OVERRUN..OVERRUN).contains(&wish)
}

/// The drop from `high` to `low` in whole 2⁻¹⁶ cells, rounded down.
#[inline(always)]
pub fn drop(high: i32, low: i32) -> i32 {
    // Halved first, since the difference may not fit a word. The upper end is rounded down and the
    // lower one up, so this is never more than the drop.
    (high >> 1).wrapping_sub(low.wrapping_add(1) >> 1).max(0) >> 1
}

/// Vertices of a row that are done together.
pub const LANES: usize = 16;
/// A word of each of them.
pub type Lanes = [i32; LANES];
/// A word of each of them, and of one more on each side.
pub type Wide = [i32; LANES + 2];

/// The words of a row from a column on, where that many are left.
#[inline(always)]
fn wide(row: &[i32], from: usize) -> &Wide {
    row[from..].first_chunk().unwrap_or(&[0; LANES + 2])
}

/// The words of three rows from a column on, where that many are left.
#[inline(always)]
pub fn wides([north, here, south]: [&[i32]; 3], from: usize) -> [&Wide; 3] {
    [wide(north, from), wide(here, from), wide(south, from)]
}

/// The lowest and the highest of the 3 × 3 vertices round the `l`-th.
#[inline(always)]
pub fn extremes([north, here, south]: [&Wide; 3], l: usize) -> [i32; 2] {
    // Written out, since a compiler would not make vectors of the lanes round a loop.
    let (a, b, c) = (
        [north[l], north[l + 1], north[l + 2]],
        [here[l], here[l + 1], here[l + 2]],
        [south[l], south[l + 1], south[l + 2]],
    );
    let lowest = |row: [i32; 3]| row[0].min(row[1]).min(row[2]);
    let highest = |row: [i32; 3]| row[0].max(row[1]).max(row[2]);
    [lowest([lowest(a), lowest(b), lowest(c)]), highest([highest(a), highest(b), highest(c)])]
}

/// How far a vertex may fall and rise in this step, 2⁻¹⁶ cells. `lowest` and `highest` are those of
/// its neighbourhood of 3 × 3 vertices.
///
/// It falls by no more than the drop to `lowest`, and rises to no more than the greater of
/// `highest` and `lowest` + [`SLACK`]. A `rim` does not rise.
#[inline(always)]
pub fn room(p: &Params, height: i32, lowest: i32, highest: i32, rim: bool) -> [i32; 2] {
    let fall = mul_q16(drop(height, lowest.max(p.floor)), p.limit).min(ROOM_MAX);
    let rise = mul_q16(drop(highest, height), p.limit).min(ROOM_MAX);
    // Each drop is rounded down by less than 2.
    let slack =
        SLACK.wrapping_sub(drop(height, lowest)).wrapping_sub(2).min(drop(HEIGHT_END, height));
    [fall, if rim { RIM } else { rise.max(slack) }]
}

/// How far a vertex of loose sediment may fall and rise in this step, 2⁻¹⁶ cells: no deeper than
/// the bedrock, and by no more than a cell.
#[inline(always)]
pub fn room_of_sand(height: i32, loose: i32) -> [i32; 2] {
    [loose >> 2, drop(HEIGHT_END, height).min(65536)]
}

/// By how much of `wish` a vertex changes, in height units. In the last step it takes crumbs, too.
#[inline(always)]
pub fn change<const LAST: bool>(p: &Params, wish: i32, height: i32, [fall, rise]: [i32; 2]) -> i32 {
    if !LAST {
        return wish.min(rise.max(0) << 2).max((fall << 2).wrapping_neg());
    }
    // Crumbs need no room, but they do not go below the floor, nor onto a rim.
    let up = if rise == RIM { 0 } else { (rise << 2).max(CRUMB) };
    let down = (fall << 2).max(CRUMB).min(drop(height, p.floor).min(ROOM_MAX) << 2);
    wish.min(up).max(down.wrapping_neg())
}

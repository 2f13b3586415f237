//! A particle's life: its home, age and birth, its place on the ground, and what it settles,
//! proposes and leaves behind.

use super::{EXPORT_WORDS, MOVED_WORDS, Params, RAIN, SHARE_BITS, TILE, TORUS, WANT_WORDS, WHOLE};
use crate::arith::{SLOPE_MAX, hash, lerp, mix, mul_q16};
use crate::plan::Adder;
use glam::UVec2;

/// The home of a particle in a step, and where in its life the particle is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Home {
    /// Column among the homes of the map.
    pub column: u32,
    /// Row among the homes of the map.
    pub row: u32,
    /// World index by axis, low words.
    pub world: [u32; 2],
    /// Steps since its birth.
    pub age: u32,
    /// Lives before this one.
    pub life: u32,
    /// Whether this step is the last of its life.
    pub dies: bool,
    /// Whether its next life is due in this step.
    pub born: bool,
    /// Whether it lives that life, if it starts on the map and rain falls there.
    pub lives: bool,
}

impl Home {
    /// The home of the particle at place `inner` of a tile. The last tiles have places for homes
    /// that the map does not have.
    #[inline(always)]
    pub fn of(p: &Params, tile: u32, inner: u32) -> Option<Self> {
        let column = tile % p.tiles_wide * TILE + inner % TILE;
        let row = tile / p.tiles_wide * TILE + inner / TILE;
        Self::at(p, [column, row])
    }

    /// The home in this column and row, if the map has it.
    #[inline(always)]
    pub fn at(p: &Params, [column, row]: [u32; 2]) -> Option<Self> {
        if column >= p.homes.x || row >= p.homes.y {
            return None;
        }
        let world = [p.home.x.wrapping_add(column), p.home.y.wrapping_add(row)];
        let [age, life] = age_and_life(p, row_phase(p.key, world[1]), world[0]);
        let dies = age == p.lifetime - 1;
        // In the first step all homes are due, but those whose particle would die at once.
        let born = p.rains == 1 && (age == 0 || p.step == 0) && !dies;
        let lives = life != p.last_life || lives_last(p, world);
        Some(Self { column, row, world, age, life, dies, born, lives })
    }

    /// The hash of the home.
    #[inline(always)]
    pub fn hash(&self, p: &Params) -> u32 {
        hash(p.key.to_array(), self.world[0], self.world[1])
    }
}

/// Homes that are done together: their particles' cache lines fit the nearest cache.
const TOGETHER: usize = 32;

/// Calls `each` with the homes of a tile that have a particle or are due for one, some at a time:
/// their slots, and what they are in this step. `own` has the particles' words, the first words of
/// all particles first; one that does not exist has 0 there.
#[inline(always)]
pub fn for_each_home<const WORDS: usize>(
    p: &Params,
    tile: u32,
    own: &mut [i32; WORDS],
    mut each: impl FnMut(&mut [i32; WORDS], &[(usize, Home)]),
) {
    let [west, north] = [tile % p.tiles_wide * TILE, tile / p.tiles_wide * TILE];
    let mut homes = [(0, Home::default()); TOGETHER];
    let mut count = 0;
    // By rows, since what homes in a row have in common is then found once.
    for row in 0..TILE {
        for column in 0..TILE {
            let slot = (row * TILE + column) as usize;
            // Most of them do not exist any more, and none is born.
            if own[slot] == 0 && p.rains == 0 {
                continue;
            }
            let Some(home) = Home::at(p, [west + column, north + row]) else { continue };
            if own[slot] == 0 && !home.born {
                continue;
            }
            homes[count] = (slot, home);
            count += 1;
            if count == TOGETHER {
                each(own, &homes);
                count = 0;
            }
        }
    }
    if count > 0 {
        each(own, &homes[..count]);
    }
}

/// Whether a home is among those whose particle lives the last life: those that no particle was
/// born at in the first one, as it would have died at once, and a share of the others.
///
/// The numbers of homes follow the plastic number's inverse and its square along the two axes. So
/// those below any bound are spread as evenly as can be, in every window. Which of them have no
/// first life is chance, so the count is off by some tens on a map of a million homes.
#[inline(always)]
pub fn lives_last(p: &Params, world: [u32; 2]) -> bool {
    let number =
        world[0].wrapping_mul(0xc13f_a9a9).wrapping_add(world[1].wrapping_mul(0x91e1_0da5));
    let late = phase(row_phase(p.key, world[1]), world[0], p.lifetime) == p.lifetime - 1;
    late || number.wrapping_add(mix(p.key.x ^ p.last_life)) <= p.last_share
}

/// Age and life in this step of the particle of column `hx`, in a row of homes whose [`row_phase`]
/// is `row`.
#[inline(always)]
pub fn age_and_life(p: &Params, row: u32, hx: u32) -> [u32; 2] {
    // Both terms are below a lifetime, so one subtraction is enough.
    let age = p.step_rest + phase(row, hx, p.lifetime);
    if age >= p.lifetime { [age - p.lifetime, p.step_life + 1] } else { [age, p.step_life] }
}

/// Where a row of homes starts in the common clock; see [`phase`].
#[inline(always)]
pub fn row_phase(key: UVec2, hy: u32) -> u32 {
    mix(hy ^ key.y)
}

/// The age at step 0 of the particle of column `hx`, in 0..lifetime.
///
/// Ages follow the golden ratio along a row, so that the births and deaths of neighbours are spread
/// evenly over time. Of any 2 · lifetime + 5 neighbours at most eight die in the same step
/// (three-distance theorem), which bounds what one vertex can gain at once.
#[inline(always)]
pub fn phase(row: u32, hx: u32, lifetime: u32) -> u32 {
    ((row.wrapping_add(hx.wrapping_mul(0x9e37_79b9)) >> 16) * lifetime) >> 16
}

/// A random place in a home, 2⁻¹⁶ cells, and a random number.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// East.
    pub x: i32,
    /// South.
    pub y: i32,
    /// 16 random bits, to compare with the rain.
    pub draw: u32,
}

/// The place in a home where its particle starts its `life`.
#[inline(always)]
pub fn spot(p: &Params, home: &Home, life: u32) -> Spot {
    let spot = mix(home.hash(p).wrapping_add(life.wrapping_mul(0x9e37_79b9)));
    let corner =
        [p.corner.x + (home.column * p.block) as i32, p.corner.y + (home.row * p.block) as i32];
    // 16 bits times the side of a home are a place in it, in 2⁻¹⁶ cells.
    Spot {
        x: (corner[0] << 16).wrapping_add(((spot & 0xffff) * p.block) as i32),
        y: (corner[1] << 16).wrapping_add(((spot >> 16) * p.block) as i32),
        draw: mix(spot.wrapping_add(0x85eb_ca6b)) >> 16,
    }
}

impl Spot {
    /// Whether it is on the map.
    #[inline(always)]
    pub fn is_on_map(&self, span: [i32; 2]) -> bool {
        (self.x as u32) < span[0] as u32 && (self.y as u32) < span[1] as u32
    }

    /// Whether a particle falls there, for a spot on the map. Without a rain map one always does.
    #[inline(always)]
    pub fn is_rained_on(&self, p: &Params, rain: &[i32]) -> bool {
        p.flags & RAIN == 0
            || (self.draw as i32) < rain[((self.y >> 16) * p.width + (self.x >> 16)) as usize]
    }
}

/// What is granted of a proposal, in height units and not negative. `shares` is the word of its
/// vertex in `grant`.
#[inline(always)]
pub fn granted(shares: i32, want: i32) -> i32 {
    let share = (shares as u32 >> (SHARE_BITS * (want < 0) as u32)) & (2 * WHOLE - 1);
    // A proposal is in 2⁻¹⁶ cells and a share in 2⁻¹³. Heights are in 2⁻¹⁸.
    mul_q16(want.abs() << 2, share << 3)
}

/// Books in `moved` what is granted of a proposal to the vertex `at`, of which no more than `most`
/// is given. Returns the change of the load.
#[inline(always)]
pub fn settle_granted<const ALONE: bool>(
    moved: Adder,
    at: usize,
    shares: i32,
    want: i32,
    most: i32,
) -> i32 {
    let (amount, giving) = (granted(shares, want), want < 0);
    // A proposal to give may have been rounded up, so more can be granted than there is.
    let amount = if giving { amount.min(most) } else { amount };
    moved.add::<ALONE>(at * MOVED_WORDS + giving as usize, amount);
    if giving { -amount } else { amount }
}

/// Adds a proposal, rounded up and shortened, to what is wanted of the vertex `at`.
#[inline(always)]
pub fn propose<const ALONE: bool>(p: &Params, wanted: Adder, at: usize, want: i32) {
    let round_up = (1 << p.want_shift) - 1;
    wanted.add::<ALONE>(
        at * WANT_WORDS + (want < 0) as usize,
        (want.abs() + round_up) >> p.want_shift,
    );
}

/// The part of what a particle has taken that leaves the land at once.
#[inline(always)]
pub fn wash_out(p: &Params, taken: i32) -> i32 {
    mul_q16(taken.max(0), p.wash)
}

/// Counts a load as carried over the border, by the tile of its particle.
#[inline(always)]
pub fn export<const ALONE: bool>(exported: Adder, tile: u32, load: i32) {
    book::<ALONE>(exported, tile as usize * EXPORT_WORDS, load);
}

/// Counts a load as lost on the map, by the tile of its particle.
#[inline(always)]
pub fn lose<const ALONE: bool>(exported: Adder, tile: u32, load: i32) {
    book::<ALONE>(exported, tile as usize * EXPORT_WORDS + 2, load);
}

/// Counts amounts as carried over the border, by the tile of their particles: the sums of their
/// [`halves`].
#[inline(always)]
pub fn export_halves<const ALONE: bool>(exported: Adder, tile: u32, [low, rest]: [i32; 2]) {
    exported.add::<ALONE>(tile as usize * EXPORT_WORDS, low);
    exported.add::<ALONE>(tile as usize * EXPORT_WORDS + 1, rest);
}

/// The low 12 bits of an amount, and the rest.
#[inline(always)]
pub fn halves(amount: i32) -> [i32; 2] {
    [amount & 0xfff, amount >> 12]
}

/// Adds an amount to a sum of two words.
#[inline(always)]
pub(super) fn book<const ALONE: bool>(sums: Adder, at: usize, amount: i32) {
    let [low, rest] = halves(amount);
    sums.add::<ALONE>(at, low);
    sums.add::<ALONE>(at + 1, rest);
}

/// Bilinear gradient of the square with corners h00 h10 / h01 h11 at (fx, fy), 2⁻¹⁶ cells a cell.
#[inline(always)]
pub fn gradient(h: [i32; 4], fx: u32, fy: u32) -> [i32; 2] {
    // In 2⁻¹⁶ cells the difference of two heights fits a word.
    let h = h.map(|h| h >> 2);
    let slope = |a: i32, b: i32| b.wrapping_sub(a).clamp(-SLOPE_MAX, SLOPE_MAX);
    [lerp(slope(h[0], h[1]), slope(h[2], h[3]), fy), lerp(slope(h[0], h[2]), slope(h[1], h[3]), fx)]
}

/// Bilinear height, 2⁻¹⁶ cells.
#[inline(always)]
pub fn height_at(h: [i32; 4], fx: u32, fy: u32) -> i32 {
    let h = h.map(|h| h >> 2);
    lerp(lerp(h[0], h[1], fx), lerp(h[2], h[3], fx), fy)
}

/// A random direction. Each component is a sum of four bytes, which is nearly Gaussian, so no
/// direction is preferred.
#[inline(always)]
pub fn wander(home: u32, step: u32) -> [i32; 2] {
    let x = mix(home ^ step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
    let y = mix(x.wrapping_add(0x9e37_79b9));
    let sum = |r: u32| ((r & 255) + ((r >> 8) & 255) + ((r >> 16) & 255) + (r >> 24)) as i32 - 510;
    let (x, y) = (sum(x), sum(y));
    [if x == 0 && y == 0 { 1 } else { x }, y]
}

/// The number of the vertex nearest to a position.
#[inline(always)]
pub fn vertex(p: &Params, x: i32, y: i32) -> i32 {
    let (vx, vy) = ((x.wrapping_add(0x8000)) >> 16, (y.wrapping_add(0x8000)) >> 16);
    // Only on the torus can it be beyond the last column or row.
    let vx = if vx >= p.width { vx - p.width } else { vx };
    let vy = if vy >= p.height { vy - p.height } else { vy };
    vy.wrapping_mul(p.width).wrapping_add(vx)
}

/// The place on the map that a step leads to; none beyond its borders.
#[inline(always)]
pub fn arrive(p: &Params, x: i32, y: i32) -> Option<[i32; 2]> {
    let span = p.span();
    // A negative number is large without its sign, so one comparison is enough.
    if (x as u32) < span[0] as u32 && (y as u32) < span[1] as u32 {
        Some([x, y])
    } else if p.border == TORUS {
        // The map can be narrower than a step.
        Some([x.rem_euclid(span[0]), y.rem_euclid(span[1])])
    } else {
        None
    }
}

/// A coordinate taken back to the torus, from at most one period off.
#[inline(always)]
pub fn wrap(x: i32, span: i32) -> i32 {
    let x = if x < 0 { x.wrapping_add(span) } else { x };
    if x >= span { x.wrapping_sub(span) } else { x }
}

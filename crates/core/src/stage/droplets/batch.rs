//! Droplets in arrays, and a step of theirs.

use super::{CARRY_MAX, DROP_MAX, DROP_WORDS, LEFT_MAX, LOAD_MASK, Law, SEA_LAY, SPEED_MAX};
use crate::arith::{self, isqrt, mul_q16};
use crate::plan::Adder;
use crate::stage::stepper::{
    HIGH, Home, LAST, LOAD_MAX, MOVED_WORDS, NOWHERE, Params, TILE_DROPS, TORUS, WALL, WANT_MAX,
    WANT_WORDS, class, export, export_halves, gradient, granted, halves, height_at, lose, propose,
    spot, vertex, wander, wash_out, wrap,
};

/// The new heading, 2⁻¹⁶, not yet a unit vector.
#[inline(always)]
fn turn(heading: [i32; 2], gradient: [i32; 2], inertia: u32) -> [i32; 2] {
    let axis = |u: i32, g: i32| {
        // A heading is in 2⁻¹⁴, a gradient in 2⁻¹⁶.
        arith::mul_q16_near(u << 2, inertia).wrapping_sub(arith::mul_q16_near(g, 65536 - inertia))
    };
    [axis(heading[0], gradient[0]), axis(heading[1], gradient[1])]
}

/// The part of a heading along an axis: turned round where it leads off the map, and none on a map
/// too narrow for both.
#[inline(always)]
fn turned_back(x: i32, heading: i32, span: i32) -> i32 {
    let on_map = |heading: i32| (x.wrapping_add(heading << 2) as u32) < span as u32;
    if on_map(heading) {
        heading
    } else if on_map(-heading) {
        -heading
    } else {
        0
    }
}

/// What a droplet proposes (2⁻¹⁶ cells; positive: to take, negative: to give) and its speed after a
/// change of height by `d`. `wet` is −1 where it has come below the sea, else 0.
#[inline(always)]
fn weigh(law: &Law, [d, wet]: [i32; 2], load: i32, speed: i32, carry: i32, lay: i32) -> [i32; 2] {
    // `wet` has all bits or none, so masks take the place of branches.
    let speed = speed >> (wet & 1);
    let lay = lay.max(SEA_LAY & wet);
    let drop = d.wrapping_neg().clamp(0, DROP_MAX);
    let steep = drop.max(law.slope_min);
    // The slope is in 2⁻²⁴ here, the product of water and capacity in 2⁻¹², the speed in 2⁻¹⁰. Less
    // two shifts of 16 bits that is 2⁻¹⁴ cells, and four bits more are height units.
    let capacity =
        (mul_q16(mul_q16(steep << 8, carry as u32), speed as u32) << 2).min(LOAD_MAX >> 2) << 2;
    let room = capacity.wrapping_sub(load);
    // No deeper than the place that it comes to.
    let take = mul_q16(room.max(0), law.erosion).min(drop << 2);
    let over = room.wrapping_neg().max(0);
    // Rounded up in the sea.
    let crumb = if over > 0 { 3 & wet } else { 0 };
    let surplus = mul_q16(over.wrapping_add(crumb), lay as u32).wrapping_add(crumb);
    let fill = load.min(d.clamp(0, DROP_MAX) << 2);
    let give = if (d | wet) >= 0 { fill } else { surplus };
    let take = if d >= 0 { 0 } else { take & !wet };
    // Proposals are in 2⁻¹⁶ cells. What is less than that stays in the load.
    let want = (take >> 2).min(WANT_MAX).wrapping_sub((give >> 2).min(WANT_MAX));
    let fall = d.clamp(-DROP_MAX, DROP_MAX) & !wet;
    // Both terms are in 2⁻²⁰: gravity is in 2⁻⁴. The first is below 2³⁰, the second at most 2²⁸.
    let energy = speed.wrapping_mul(speed).wrapping_sub(fall.wrapping_mul(law.gravity));
    [want, isqrt(energy.clamp(0, SPEED_MAX * SPEED_MAX) as u32) as i32]
}

/// The four heights round each position. On the torus, the last column or row of the square can be
/// across the border.
#[inline(always)]
pub(super) fn corners<const N: usize>(
    p: &Params,
    height: &[i32],
    x: &[i32; N],
    y: &[i32; N],
    corner: &mut [[i32; N]; 4],
) {
    let (w, h) = (p.width, p.height);
    let [c0, c1, c2, c3] = corner;
    if p.border == TORUS {
        for l in 0..N {
            let (x0, y0) = (x[l] >> 16, y[l] >> 16);
            let (x1, y1) = ((x0 + 1) % w, (y0 + 1) % h);
            c0[l] = height[(y0 * w + x0) as usize];
            c1[l] = height[(y0 * w + x1) as usize];
            c2[l] = height[(y1 * w + x0) as usize];
            c3[l] = height[(y1 * w + x1) as usize];
        }
        return;
    }
    let mut at = [0u32; N];
    for l in 0..N {
        at[l] = (y[l] >> 16).wrapping_mul(w).wrapping_add(x[l] >> 16) as u32;
    }
    let w = w as usize;
    for l in 0..N {
        // Off the torus, a position lies before the last column and row, so its square is on the
        // map.
        let near = &height[at[l] as usize..][..w + 2];
        c0[l] = near[0];
        c1[l] = near[1];
        c2[l] = near[w];
        c3[l] = near[w + 1];
    }
}

/// What the droplets of a tile read and write.
pub(super) struct Tile<'a> {
    pub(super) p: &'a Params,
    pub(super) law: &'a Law,
    pub(super) index: u32,
    /// Column and row of its first home among the homes of the map.
    pub(super) origin: [u32; 2],
    pub(super) height: &'a [i32],
    pub(super) grant: &'a [i32],
    pub(super) water: &'a [i32],
    pub(super) rain: &'a [i32],
    pub(super) moved: Adder<'a>,
    pub(super) wanted: Adder<'a>,
    pub(super) exported: Adder<'a>,
}

/// Droplets that take a step together. Each field is an array and each part of the step is a loop,
/// so that arithmetic fills vector registers and the loops that read the map have many accesses in
/// flight.
pub(super) const BATCH: usize = 128;

/// Droplets of a batch for the remainder.
pub(super) const SMALL: usize = 32;

pub(super) struct Batch<const N: usize> {
    pub(super) x: [i32; N],
    pub(super) y: [i32; N],
    ux: [i32; N],
    uy: [i32; N],
    pub(super) load: [i32; N],
    pub(super) speed: [i32; N],
    pub(super) want: [i32; N],
    /// −1 if what it would give fills a pit, else 0.
    fills: [i32; N],
    age: [i32; N],
    /// −1 for a droplet on its way, else 0.
    alive: [i32; N],
    /// −1 for a droplet that has come to its end with a load, else 0.
    spent: [i32; N],
    pub(super) at: [i32; N],
    pub(super) corner: [[i32; N]; 4],
    pub(super) from: [i32; N],
    to_x: [i32; N],
    to_y: [i32; N],
    /// The word of `grant` where it was a step ago.
    shares: [i32; N],
    /// What it takes there and adds to a word of `moved`.
    gain: [i32; N],
    /// The class of the stream where it was a step ago, or where it is born.
    stream: [i32; N],
    /// How many times the least stream it is, 2⁻⁸.
    times: [i32; N],
    pub(super) carry: [i32; N],
    pub(super) lay: [i32; N],
    /// What it wants, as it is summed up.
    asked: [i32; N],
    /// Droplets to be looked at one by one.
    marks: [i32; N],
    /// The words of each droplet in the tile.
    words: [[i32; N]; DROP_WORDS],
}

impl<const N: usize> Batch<N> {
    pub(super) fn new() -> Self {
        let zero = [0; N];
        Self {
            x: zero,
            y: zero,
            ux: zero,
            uy: zero,
            load: zero,
            speed: zero,
            want: zero,
            fills: zero,
            age: zero,
            alive: zero,
            spent: zero,
            at: zero,
            corner: [zero; 4],
            from: zero,
            to_x: zero,
            to_y: zero,
            shares: zero,
            gain: zero,
            stream: zero,
            times: zero,
            carry: zero,
            lay: zero,
            asked: zero,
            marks: zero,
            words: [zero; DROP_WORDS],
        }
    }
}

/// Calls `each` for the lanes whose mark is not 0, which are few.
#[inline(always)]
fn marked<const N: usize>(marks: &[i32; N], mut each: impl FnMut(usize)) {
    const SOME: usize = 8;
    for (i, some) in marks.as_chunks::<SOME>().0.iter().enumerate() {
        if some.iter().fold(0, |any, mark| any | mark) == 0 {
            continue;
        }
        // A loop, since closures of iterators are not compiled for vector units.
        for (l, mark) in some.iter().enumerate() {
            if *mark != 0 {
                each(i * SOME + l);
            }
        }
    }
}

/// A step of the droplets in some slots, which can be adjacent.
#[inline(always)]
pub(super) fn drops_batch<const ALONE: bool, const N: usize>(
    tile: &Tile,
    own: &mut [i32],
    ages: &[i32; TILE_DROPS],
    slots: &[u16],
    in_a_row: bool,
    b: &mut Batch<N>,
) {
    load(tile, own, ages, slots, in_a_row, b);
    unpack(tile, b);
    settle::<ALONE, N>(tile, b);
    end_and_begin::<ALONE, N>(tile, slots, b);
    move_on(tile, slots, b);
    meet_border::<ALONE, N>(tile, b);
    ask::<ALONE, N>(tile, b);
    store(own, slots, in_a_row, b);
}

/// Brings the words and ages of the droplets together. Lanes that are left over have none.
#[inline(always)]
pub(super) fn load<const N: usize>(
    tile: &Tile,
    own: &[i32],
    ages: &[i32; TILE_DROPS],
    slots: &[u16],
    in_a_row: bool,
    b: &mut Batch<N>,
) {
    let &Tile { p, .. } = tile;
    let last_age = p.lifetime as i32 - 1;
    let (live, first) = (slots.len(), slots[0] as usize);
    let Some(words) = own.as_chunks::<TILE_DROPS>().0.first_chunk::<DROP_WORDS>() else { return };
    // No droplet dies or is born in the lanes that are left over.
    b.words.iter_mut().for_each(|lanes| lanes[live..].fill(0));
    b.age[live..].fill(last_age);
    if in_a_row {
        for (lanes, words) in b.words.iter_mut().zip(words) {
            lanes[..live].copy_from_slice(&words[first..first + live]);
        }
        b.age[..live].copy_from_slice(&ages[first..first + live]);
    } else {
        for (l, slot) in (0..N).zip(slots) {
            let slot = *slot as usize % TILE_DROPS;
            for (lanes, words) in b.words.iter_mut().zip(words) {
                lanes[l] = words[slot];
            }
            b.age[l] = ages[slot];
        }
    }
}

/// Unpacks the words, and finds the vertex of each last proposal.
#[inline(always)]
fn unpack<const N: usize>(tile: &Tile, b: &mut Batch<N>) {
    let &Tile { p, .. } = tile;
    let torus = p.border == TORUS;
    let [span_x, span_y] = p.span();
    let [from_xs, from_ys, from_headings, from_loads, from_paces] = &b.words;
    for l in 0..N {
        b.x[l] = from_xs[l] ^ NOWHERE;
        b.y[l] = from_ys[l] & i32::MAX;
        b.spent[l] = from_ys[l] >> 31;
        b.ux[l] = (from_headings[l] << 16) >> 16;
        b.uy[l] = from_headings[l] >> 16;
        b.load[l] = from_loads[l] & LOAD_MASK;
        b.fills[l] = from_paces[l] >> 31;
        b.speed[l] = (from_paces[l] >> 16) & SPEED_MAX;
        b.want[l] = (from_loads[l] >> 24) << 16 | (from_paces[l] & 0xffff);
        // A step goes by the heading to the bit, so this is where the droplet was before it. One
        // that stays where it is has a heading of 0.
        let (x, y) = (b.x[l].wrapping_sub(b.ux[l] << 2), b.y[l].wrapping_sub(b.uy[l] << 2));
        let (x, y) = if torus { (wrap(x, span_x), wrap(y, span_y)) } else { (x, y) };
        b.alive[l] = -((b.x[l] != NOWHERE) as i32);
        b.at[l] = vertex(p, x, y) & b.alive[l];
    }
}

/// Settles what was granted of the last proposal, and learns how large the stream is.
#[inline(always)]
fn settle<const ALONE: bool, const N: usize>(tile: &Tile, b: &mut Batch<N>) {
    let &Tile { p, grant, moved, exported, .. } = tile;
    for l in 0..N {
        b.shares[l] = grant[b.at[l] as usize];
    }
    for l in 0..N {
        b.stream[l] = class(b.shares[l]) as i32 & b.alive[l];
        let gives = -((b.want[l] < 0) as i32);
        let amount = granted(b.shares[l], b.want[l]);
        // A spent droplet's proposal is rounded up, so it can be more than the load.
        let amount = if gives != 0 { amount.min(b.load[l]) } else { amount };
        b.load[l] += if gives != 0 { -amount } else { amount };
        // A gift that fills a pit is spread narrowly. Others are laid down through the brush.
        let narrow = gives & b.fills[l];
        // As a negative amount of what is taken.
        b.gain[l] = if gives & !narrow != 0 { -amount } else { amount };
        b.at[l] = b.at[l] * MOVED_WORDS as i32 - narrow;
    }
    for l in 0..N {
        if b.gain[l] != 0 {
            moved.add::<ALONE>(b.at[l] as usize, b.gain[l]);
        }
    }
    if p.wash != 0 {
        let mut sums = [0; 2];
        for l in 0..N {
            let washed = wash_out(p, if b.want[l] > 0 { b.gain[l] } else { 0 });
            b.load[l] -= washed;
            let [low, rest] = halves(washed);
            (sums[0], sums[1]) = (sums[0] + low, sums[1] + rest);
        }
        export_halves::<ALONE>(exported, tile.index, sums);
    }
}

/// Ends lives and begins others.
#[inline(always)]
fn end_and_begin<const ALONE: bool, const N: usize>(tile: &Tile, slots: &[u16], b: &mut Batch<N>) {
    let &Tile { p, grant, rain, moved, wanted, exported, .. } = tile;
    let [span_x, span_y] = p.span();
    let last_age = p.lifetime as i32 - 1;
    let home = |l: usize| Home::of(p, tile.index, slots[l].into());
    // A droplet that is spent lays down its load where it is, and when the next
    // one is due leaves there what it still has. In the last step there is no time left to lay it
    // down.
    let last = p.flags & LAST != 0;
    for l in 0..N {
        let dies = b.age[l] == last_age;
        b.spent[l] = if dies { b.alive[l] } else { b.spent[l] };
        let born = !dies & (p.rains == 1) & ((b.age[l] == 0) | (p.step == 0));
        b.marks[l] = born as i32 | b.alive[l] & last as i32;
    }
    let most = if last { 0 } else { LEFT_MAX / (2 * p.lifetime as i32 + 5) };
    marked(&b.marks, |l| {
        if b.load[l] > 0 {
            let left = b.load[l].min(most);
            moved.add::<ALONE>(vertex(p, b.x[l], b.y[l]) as usize * MOVED_WORDS, -left);
            lose::<ALONE>(exported, tile.index, b.load[l] - left);
            b.load[l] = 0;
        }
        if let Some(home) = home(l).filter(|home| home.born && home.lives) {
            let spot = spot(p, &home, home.life);
            if spot.is_on_map([span_x, span_y]) && spot.is_rained_on(p, rain) {
                (b.x[l], b.y[l]) = (spot.x, spot.y);
                (b.ux[l], b.uy[l]) = (0, 0);
                b.speed[l] = 1 << 10;
                b.spent[l] = 0;
                b.stream[l] = class(grant[vertex(p, spot.x, spot.y) as usize]) as i32;
            }
        }
    });
    for l in 0..N {
        let empty = b.spent[l] != 0 && b.load[l] == 0;
        b.x[l] = if empty { NOWHERE } else { b.x[l] };
        b.spent[l] &= -(!empty as i32);
    }
    marked(&b.spent, |l| {
        let at = vertex(p, b.x[l], b.y[l]) as usize;
        // Rounded up, so that the last units go, too.
        b.want[l] = -((b.load[l] + 3) >> 2).min(WANT_MAX);
        propose::<ALONE>(p, wanted, at, b.want[l]);
    });
}

/// Turns droplets and moves them by a cell. Those that have left the map are marked.
#[inline(always)]
fn move_on<const N: usize>(tile: &Tile, slots: &[u16], b: &mut Batch<N>) {
    let &Tile { p, law, height, .. } = tile;
    let [span_x, span_y] = p.span();
    let home = |l: usize| Home::of(p, tile.index, slots[l].into());
    for l in 0..N {
        b.alive[l] = -((b.x[l] != NOWHERE) as i32) & !b.spent[l];
        b.x[l] &= b.alive[l];
        b.y[l] &= b.alive[l];
        b.at[l] = vertex(p, b.x[l], b.y[l]);
    }
    corners(p, height, &b.x, &b.y, &mut b.corner);
    for l in 0..N {
        let (fx, fy) = ((b.x[l] & 0xffff) as u32, (b.y[l] & 0xffff) as u32);
        let c = [b.corner[0][l], b.corner[1][l], b.corner[2][l], b.corner[3][l]];
        b.from[l] = height_at(c, fx, fy);
        let t = turn([b.ux[l], b.uy[l]], gradient(c, fx, fy), law.inertia);
        (b.ux[l], b.uy[l]) = (t[0], t[1]);
        // Without a heading and a slope, chance says where it goes.
        b.marks[l] = b.alive[l] & (t[0] | t[1] == 0) as i32;
    }
    marked(&b.marks, |l| {
        if let Some(home) = home(l) {
            let t = wander(home.hash(p), p.step);
            (b.ux[l], b.uy[l]) = (t[0], t[1]);
        }
    });
    for l in 0..N {
        // A lane without a droplet may divide by 0. Floats do not mind, and its result is masked
        // below.
        let u = arith::unit(b.ux[l], b.uy[l]);
        (b.ux[l], b.uy[l]) = (u[0], u[1]);
        b.to_x[l] = b.x[l].wrapping_add(u[0] << 2) & b.alive[l];
        b.to_y[l] = b.y[l].wrapping_add(u[1] << 2) & b.alive[l];
        // As unsigned words negative places are outside, too.
        b.marks[l] =
            (b.to_x[l] as u32 >= span_x as u32) as i32 | (b.to_y[l] as u32 >= span_y as u32) as i32;
    }
}

/// At the border a marked droplet goes round the torus, stops, turns back, or is lost.
#[inline(always)]
fn meet_border<const ALONE: bool, const N: usize>(tile: &Tile, b: &mut Batch<N>) {
    let &Tile { p, wanted, exported, .. } = tile;
    let [span_x, span_y] = p.span();
    marked(&b.marks, |l| {
        match p.border {
            TORUS => (b.to_x[l], b.to_y[l]) = (wrap(b.to_x[l], span_x), wrap(b.to_y[l], span_y)),
            WALL => {
                (b.to_x[l], b.to_y[l]) = (b.x[l], b.y[l]);
                (b.ux[l], b.uy[l]) = (0, 0);
            }
            HIGH => {
                (b.ux[l], b.uy[l]) =
                    (turned_back(b.x[l], b.ux[l], span_x), turned_back(b.y[l], b.uy[l], span_y));
                (b.to_x[l], b.to_y[l]) = (b.x[l] + (b.ux[l] << 2), b.y[l] + (b.uy[l] << 2));
            }
            _ => {
                export::<ALONE>(exported, tile.index, b.load[l]);
                // It has passed the vertex that it leaves the map from.
                wanted.add::<ALONE>(b.at[l] as usize * WANT_WORDS + 2, 1);
                (b.to_x[l], b.to_y[l], b.alive[l]) = (0, 0, 0);
            }
        }
    });
}

/// Proposes what each would take or give where it was, by where it is now.
#[inline(always)]
fn ask<const ALONE: bool, const N: usize>(tile: &Tile, b: &mut Batch<N>) {
    let &Tile { p, law, height, water, wanted, .. } = tile;
    corners(p, height, &b.to_x, &b.to_y, &mut b.corner);
    let round_up = (1 << p.want_shift) - 1;
    // Bilinear heights are in 2⁻¹⁶ cells.
    let sea = p.sea >> 2;
    let (by_age, times) = water.split_at(2 * p.lifetime as usize);
    for l in 0..N {
        b.times[l] = times[b.stream[l] as usize];
        let [carry, lay] = by_age.as_chunks().0[b.age[l] as usize];
        (b.carry[l], b.lay[l]) = (carry, lay);
    }
    for l in 0..N {
        // The first factor is at most 2¹⁶, and the second is below 2¹⁶: a stream is at most 192
        // times the least, in 2⁻⁸.
        let carry =
            ((b.carry[l] as u32).wrapping_mul(b.times[l] as u32) >> 8).min(CARRY_MAX) as i32;
        let c = [b.corner[0][l], b.corner[1][l], b.corner[2][l], b.corner[3][l]];
        let to = height_at(c, (b.to_x[l] & 0xffff) as u32, (b.to_y[l] & 0xffff) as u32);
        let d = to.wrapping_sub(b.from[l]);
        let wet = -((to < sea) as i32);
        let [want, speed] = weigh(law, [d, wet], b.load[l], b.speed[l], carry, b.lay[l]);
        b.want[l] = want & b.alive[l] | b.want[l] & b.spent[l];
        b.asked[l] = (want.abs() + round_up) >> p.want_shift;
        b.fills[l] = -(((d | wet) >= 0) as i32);
        // An empty droplet in the sea is gone.
        b.marks[l] = wet & -((b.load[l] == 0) as i32);
        b.speed[l] = speed;
    }
    for l in 0..N {
        if b.alive[l] != 0 {
            wanted.add_all::<ALONE, 2>(
                b.at[l] as usize * WANT_WORDS,
                [((b.want[l] < 0) as usize, b.asked[l]), (2, 1)],
            );
        }
    }
}

/// Packs the droplets and puts them back into their slots.
#[inline(always)]
fn store<const N: usize>(own: &mut [i32], slots: &[u16], in_a_row: bool, b: &mut Batch<N>) {
    let (live, first) = (slots.len(), slots[0] as usize);
    let [to_xs, to_ys, to_headings, to_loads, to_paces] = &mut b.words;
    for l in 0..N {
        let (alive, spent) = (b.alive[l] & !b.marks[l], b.spent[l]);
        // A spent droplet stays where it is.
        to_xs[l] = if alive != 0 { b.to_x[l] ^ NOWHERE } else { to_xs[l] & spent };
        to_ys[l] = b.to_y[l] & alive | (to_ys[l] | i32::MIN) & spent;
        to_headings[l] = ((b.ux[l] & 0xffff) | (b.uy[l] << 16)) & alive;
        to_loads[l] = (b.load[l] | (b.want[l] >> 16) << 24) & (alive | spent);
        to_paces[l] = ((b.fills[l] << 31) | (b.speed[l] << 16)) & alive
            | (b.want[l] & 0xffff) & (alive | spent);
    }
    let (words, ..) = own.as_chunks_mut::<TILE_DROPS>();
    let Some(words) = words.first_chunk_mut::<DROP_WORDS>() else { return };
    if in_a_row {
        for (lanes, words) in b.words.iter().zip(words) {
            words[first..first + live].copy_from_slice(&lanes[..live]);
        }
    } else {
        for (l, slot) in (0..N).zip(slots) {
            let slot = *slot as usize % TILE_DROPS;
            for (lanes, words) in b.words.iter().zip(words.iter_mut()) {
                words[slot] = lanes[l];
            }
        }
    }
}

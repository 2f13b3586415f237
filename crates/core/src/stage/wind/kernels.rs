//! The kernels, twins of `shaders/wind.wgsl`.

use super::{DROP_WORDS, FACING, LOOK_WORDS, Law, SHELTERED, SLOPE_SEEN};
use crate::arith::{LEDGER_WORDS, div_small, fold, mix, mul_q16};
use crate::plan::{Adder, Call, Kernel};
use crate::stage::stepper::{
    ALLOW_MAX, Home, LAST, MOVED_WORDS, NOWHERE, Params, TILE_DROPS, TORUS, WALL, WANT_MAX,
    WANT_WORDS, arrive, export, for_each_home, forget_moves, loose, lose, propose, settle_granted,
    shares, spot, vertex,
};
use multiversion::multiversion;

pub(super) static BLOW: Kernel = Kernel {
    entry: "blow",
    reads: &["grant", "wind"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: blow,
};

pub(super) static SLIDE: Kernel = Kernel {
    entry: "slide",
    reads: &["height", "ledger"],
    owns: &[("next", 1)],
    adds: &[],
    cpu: slide,
};

pub(super) static SHADE: Kernel = Kernel {
    entry: "shade",
    reads: &["height", "ledger", "lee"],
    owns: &[("wind", 1)],
    adds: &[],
    cpu: shade,
};

pub(super) static LIMIT_SAND: Kernel = Kernel {
    entry: "limit_sand",
    reads: &["height", "carry", "ledger", "vegetation"],
    owns: &[("grant", 1), ("want", WANT_WORDS), ("moved", MOVED_WORDS)],
    adds: &[],
    cpu: limit_sand,
};

/// a · b / 2¹⁶ from the upper bits of a and b, where a · b is below 2³⁹.
#[inline(always)]
fn scaled(a: i32, b: i32) -> i32 {
    ((a >> 4) * (b >> 4)) >> 8
}

/// One hop, 2⁻¹⁶ cells.
#[inline(always)]
pub(super) fn hop(law: &Law, draw: u32) -> [i32; 2] {
    // 3/4 to 5/4 of the length, and a deviation to either side.
    let long = 49152 + ((draw & 0xffff) >> 1) as i32;
    let aside = mul_q16(2 * (draw >> 16) as i32 - 65535, law.gust);
    // Downwind is (east, south), and across it (−south, east).
    [
        scaled(law.east, long) - scaled(law.south, aside),
        scaled(law.south, long) + scaled(law.east, aside),
    ]
}

/// The words of the grains of a tile: the first of each, then the second of each, and so on.
type Words = [i32; TILE_DROPS * DROP_WORDS];

/// What the grains of a tile read and write.
struct Tile<'a> {
    p: &'a Params,
    law: &'a Law,
    /// Its number.
    index: u32,
    grant: &'a [i32],
    wind: &'a [i32],
    moved: Adder<'a>,
    wanted: Adder<'a>,
    exported: Adder<'a>,
}

/// A grain, in the units of the stage's page.
struct Grain {
    /// Its place; x is [`NOWHERE`] if it does not exist.
    x: i32,
    y: i32,
    /// Whether it has come to the end of its life, and lays down its load.
    spent: bool,
    load: i32,
    /// Its last proposal: positive to take, negative to give.
    want: i32,
    /// The vertex of that.
    at: usize,
}

impl Grain {
    #[inline(always)]
    fn read(own: &Words, slot: usize) -> Self {
        let word = |k: usize| own[k * TILE_DROPS + slot];
        Self {
            // So the words of one that does not exist are all 0.
            x: word(0) ^ NOWHERE,
            y: word(1),
            spent: word(2) != 0,
            load: word(3),
            want: word(4),
            at: word(5) as usize,
        }
    }

    #[inline(always)]
    fn write(&self, own: &mut Words, slot: usize) {
        let words =
            [self.x ^ NOWHERE, self.y, self.spent as i32, self.load, self.want, self.at as i32];
        for (k, word) in words.into_iter().enumerate() {
            own[k * TILE_DROPS + slot] = if self.exists() { word } else { 0 };
        }
    }

    #[inline(always)]
    fn exists(&self) -> bool {
        self.x != NOWHERE
    }
}

impl Tile<'_> {
    /// Reads what the grains of some homes will ask for: many cache lines are under way at a time
    /// then, where each addition would wait for its own.
    #[inline(always)]
    fn read_ahead(&self, own: &Words, homes: &[(usize, Home)]) {
        let mut any = 0;
        for &(slot, _) in homes {
            let grain = Grain::read(own, slot);
            if grain.exists() {
                let (last, here) = (grain.at, vertex(self.p, grain.x, grain.y) as usize);
                any |= self.grant[last] | self.moved.at(last * MOVED_WORDS);
                any |= self.wind[here] | self.wanted.at(here * WANT_WORDS);
            }
        }
        // Without a use of the words, a compiler would leave out the reads.
        std::hint::black_box(any);
    }

    /// A step of the grain of a home.
    #[inline(always)]
    fn step<const ALONE: bool>(&self, own: &mut Words, slot: usize, home: &Home) {
        let mut grain = Grain::read(own, slot);
        self.settle::<ALONE>(&mut grain);
        self.end_life::<ALONE>(&mut grain, home);
        let p = self.p;
        let draw = mix(home.hash(p) ^ p.step.wrapping_mul(0x85eb_ca6b).wrapping_add(1));
        self.place(&mut grain, home, draw);
        if grain.exists() {
            self.blow_on::<ALONE>(&mut grain, draw);
        }
        grain.write(own, slot);
    }

    /// Settles what was granted of the last proposal. A grain that has laid down its load is gone
    /// until its next life.
    #[inline(always)]
    fn settle<const ALONE: bool>(&self, grain: &mut Grain) {
        if grain.want != 0 {
            // A proposal to give is rounded up, so it can be more than the load.
            let (shares, most) = (self.grant[grain.at], grain.load);
            grain.load += settle_granted::<ALONE>(self.moved, grain.at, shares, grain.want, most);
            if grain.want < 0 && grain.load == 0 {
                grain.x = NOWHERE;
            }
            grain.want = 0;
        }
    }

    /// A grain that is spent lays down its load where it is, and when the next one is due leaves
    /// there what it still has.
    #[inline(always)]
    fn end_life<const ALONE: bool>(&self, grain: &mut Grain, home: &Home) {
        grain.spent = home.dies || grain.spent && !home.born;
        // In the last step there is no time left for that.
        let last = self.p.flags & LAST != 0;
        if (home.born || last) && grain.load > 0 {
            let left = if last { 0 } else { grain.load.min(self.law.left) };
            self.moved.add::<ALONE>(grain.at * MOVED_WORDS, -left);
            lose::<ALONE>(self.exported, self.index, grain.load - left);
            grain.load = 0;
        }
        if grain.spent && grain.load == 0 {
            grain.x = NOWHERE;
        }
        if home.born && !home.lives {
            grain.x = NOWHERE;
        }
    }

    /// Puts a new grain, or one without a load, at another place in its home.
    #[inline(always)]
    fn place(&self, grain: &mut Grain, home: &Home, draw: u32) {
        if (home.born && home.lives || grain.exists()) && !grain.spent && grain.load == 0 {
            let spot = spot(self.p, home, draw);
            let here = spot.is_on_map(self.p.span());
            (grain.x, grain.y) = if here { (spot.x, spot.y) } else { (NOWHERE, 0) };
        }
    }

    /// Comes to rest or is blown on, as the ground and the wind are where it is.
    #[inline(always)]
    fn blow_on<const ALONE: bool>(&self, grain: &mut Grain, draw: u32) {
        let (p, law) = (self.p, self.law);
        grain.at = vertex(p, grain.x, grain.y) as usize;
        self.wanted.add::<ALONE>(grain.at * WANT_WORDS + 2, 1);
        let wind = self.wind[grain.at];
        // On sheltered ground the word has no speed, and none is used.
        let (sheltered, loose, speed) = (wind == SHELTERED, wind & 1 == 1, wind >> 1);
        // The speed is f in 2⁻¹⁶, so the second factor is 2 − f.
        let chance = scaled(if loose { law.sand } else { law.rock } as i32, 131072 - speed);
        let rests =
            grain.spent || grain.load > 0 && (sheltered || ((mix(draw) >> 16) as i32) < chance);
        if rests {
            grain.want = -((grain.load + 3) >> 2).min(WANT_MAX);
        } else if grain.load == 0 && loose && !sheltered {
            grain.want = scaled(law.grain, speed).min(WANT_MAX);
        }
        if grain.want != 0 {
            propose::<ALONE>(p, self.wanted, grain.at, grain.want);
        }
        if !rests && (grain.load > 0 || grain.want > 0) {
            self.go::<ALONE>(grain, hop(law, mix(draw.wrapping_add(0x9e37_79b9))));
        }
    }

    /// Moves it by a hop.
    #[inline(always)]
    fn go<const ALONE: bool>(&self, grain: &mut Grain, [dx, dy]: [i32; 2]) {
        match arrive(self.p, grain.x.wrapping_add(dx), grain.y.wrapping_add(dy)) {
            Some(place) => [grain.x, grain.y] = place,
            None if self.p.border != WALL && grain.load > 0 => {
                export::<ALONE>(self.exported, self.index, grain.load);
                (grain.load, grain.want, grain.x) = (0, 0, NOWHERE);
            }
            // One without a load stays, since nothing is granted to it yet.
            None => {}
        }
    }
}

fn blow(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    for (own, index) in call.owns[0].as_chunks_mut().0.iter_mut().zip(start..) {
        if call.adds[0].is_alone() {
            blow_tile::<true>(p, law, index, own, call.reads, call.adds);
        } else {
            blow_tile::<false>(p, law, index, own, call.reads, call.adds);
        }
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn blow_tile<const ALONE: bool>(
    p: &Params,
    law: &Law,
    index: u32,
    own: &mut Words,
    reads: &[&[i32]],
    adds: &[Adder],
) {
    let &[grant, wind] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    // Put together here, since of its own parameters a compiler knows that nothing changes them: so
    // it reads what they point to once, not once for each particle.
    let tile = Tile { p, law, index, grant, wind, moved, wanted, exported };
    for_each_home(p, index, own, |own, homes| {
        tile.read_ahead(own, homes);
        for (slot, home) in homes {
            tile.step::<ALONE>(own, *slot, home);
        }
    });
}

/// Rows that `slide` does at a time, so that what slid south from one row is still in cache for the
/// next.
const ROWS: usize = 16;

pub(super) fn slide(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut lines = vec![];
    for (i, own) in call.owns[0].chunks_mut(ROWS * w).enumerate() {
        slide_rows(p, law, first + i * ROWS, own, call.reads, &mut lines);
    }
}

/// What slides from a height `a` to its neighbour `b`, where the ground falls by `across` (2⁻¹⁷,
/// either way) along the edge.
#[inline(always)]
fn flux(law: &Law, [a, b]: [i32; 2], across: i32, loose: [i32; 2]) -> i32 {
    let low = a.min(b);
    // At most half the drop.
    let drop = (a.max(b) >> 1).wrapping_sub(low >> 1).wrapping_sub(low & 1).max(0);
    let d = (drop >> (law.shift & 31)).min(SLOPE_SEEN) as u32;
    let c = (across.wrapping_abs() >> (law.shift & 31)).min(SLOPE_SEEN) as u32;
    let square = d.wrapping_mul(d).wrapping_add(c.wrapping_mul(c));
    // 1 − T² / g² in 2⁻¹⁵. The divisor is rounded down, hence the bound.
    let steep = div_small(square.max(law.repose).wrapping_sub(law.repose), (square >> 15).max(1))
        .min(32768);
    // `drop` is half the difference d of the heights, and 2¹⁵ >> 1 is a quarter in 2⁻¹⁶: d / 8 at
    // most.
    let most = mul_q16(drop, steep.max(law.creep) >> 1);
    if a < b { most.min(loose[1] >> 2).wrapping_neg() } else { most.min(loose[0] >> 2) }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn slide_rows(
    p: &Params,
    law: &Law,
    first: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    lines: &mut Vec<i32>,
) {
    let &[height, ledger] = reads else { return };
    let (w, torus) = (p.width as usize, p.border == TORUS);
    let (wide, count) = (w + 2, own.len() / w);
    // Heights and loose sediment, continued by a cell beyond the borders, and then what slides
    // south and east from a row.
    lines.clear();
    lines.resize(2 * (count + 2) * wide + 3 * wide, 0);
    let (heights, rest) = lines.split_at_mut((count + 2) * wide);
    let (sand, flows) = rest.split_at_mut((count + 2) * wide);
    for k in 0..count + 2 {
        let at = fold(first as i32 + k as i32 - 1, p.height, torus) as usize * w;
        let (h, s) = (&mut heights[k * wide..][..wide], &mut sand[k * wide..][..wide]);
        h[1..=w].copy_from_slice(&height[at..at + w]);
        let records = ledger[at * LEDGER_WORDS..(at + w) * LEDGER_WORDS].chunks_exact(LEDGER_WORDS);
        s[1..=w]
            .iter_mut()
            .zip(&h[1..])
            .zip(records)
            .for_each(|((s, h), record)| *s = loose(*h, record));
        for row in [h, s] {
            // At a wall the ground beyond is as high as at it, so nothing slides over.
            (row[0], row[w + 1]) = if torus { (row[w], row[1]) } else { (row[1], row[w]) };
        }
    }
    let row = |k: usize| (&heights[k * wide..][..wide], &sand[k * wide..][..wide]);
    let (south, flows) = flows.split_at_mut(wide);
    let (north, east) = flows.split_at_mut(wide);
    slide_south(law, row(0), row(1), north);
    for (k, own) in own.chunks_exact_mut(w).enumerate() {
        slide_south(law, row(k + 1), row(k + 2), south);
        slide_east(law, [row(k).0, row(k + 2).0], row(k + 1), east);
        let here = row(k + 1).0;
        for x in 0..w {
            let along = east[x].wrapping_sub(east[x + 1]);
            own[x] = here[x + 1]
                .wrapping_add(along)
                .wrapping_add(north[x + 1])
                .wrapping_sub(south[x + 1]);
        }
        // What leaves this row to the south comes to the next one from the north.
        north.copy_from_slice(south);
    }
}

/// What slides from each cell of a row to the one below. Each row has heights and loose sediment.
#[inline(always)]
fn slide_south(
    law: &Law,
    (h, s): (&[i32], &[i32]),
    (below, s_below): (&[i32], &[i32]),
    south: &mut [i32],
) {
    let n = south.len();
    let (h, s, below, s_below) = (&h[..n], &s[..n], &below[..n], &s_below[..n]);
    for x in 1..n - 1 {
        let across = fall(h[x - 1], h[x + 1]).wrapping_add(fall(below[x - 1], below[x + 1]));
        south[x] = flux(law, [h[x], below[x]], across, [s[x], s_below[x]]);
    }
}

/// What slides from each cell of a row to the next, between the heights of the rows above and
/// below.
#[inline(always)]
fn slide_east(law: &Law, [above, below]: [&[i32]; 2], (h, s): (&[i32], &[i32]), east: &mut [i32]) {
    let n = east.len();
    let (h, s, above, below) = (&h[..n], &s[..n], &above[..n], &below[..n]);
    for x in 0..n - 1 {
        let across = fall(above[x], below[x]).wrapping_add(fall(above[x + 1], below[x + 1]));
        east[x] = flux(law, [h[x], h[x + 1]], across, [s[x], s[x + 1]]);
    }
}

/// How far the ground falls from one side of a cell to the other, in 2⁻¹⁵ cells.
#[inline(always)]
fn fall(a: i32, b: i32) -> i32 {
    (a >> 3).wrapping_sub(b >> 3)
}

pub(super) fn shade(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let w = p.width as usize;
    let first = call.range.start as usize / w;
    let mut upwind = vec![0; w];
    for (i, own) in call.owns[0].chunks_exact_mut(w).enumerate() {
        shade_row(p, law, first + i, own, call.reads, &mut upwind);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn shade_row(
    p: &Params,
    law: &Law,
    y: usize,
    own: &mut [i32],
    reads: &[&[i32]],
    upwind: &mut [i32],
) {
    let &[height, ledger, lee] = reads else { return };
    let (w, torus) = (p.width as usize, p.border == TORUS);
    let (here, records) =
        (&height[y * w..][..w], ledger[y * w * LEDGER_WORDS..].chunks_exact(LEDGER_WORDS));
    let see = |look: &[i32], upwind: &mut [i32]| {
        let at = fold(y as i32 + look[1], p.height, torus) as usize * w;
        // The part of the row that needs no folding.
        let (from, to) =
            ((-look[0]).clamp(0, p.width) as usize, (p.width - look[0]).clamp(0, p.width) as usize);
        for x in (0..from.min(w)).chain(to.max(from)..w) {
            upwind[x] = height[at + fold(x as i32 + look[0], p.width, torus) as usize];
        }
        if from < to {
            let start = (at + from).wrapping_add_signed(look[0] as isize);
            upwind[from..to].copy_from_slice(&height[start..start + to - from]);
        }
    };
    own.fill(0);
    for look in lee.chunks_exact(LOOK_WORDS) {
        see(look, upwind);
        for ((own, up), h) in own.iter_mut().zip(&*upwind).zip(here) {
            // Halves, since the difference of two heights may not fit a word.
            *own |= ((up >> 1).wrapping_sub(h >> 1) > look[2] >> 1) as i32;
        }
    }
    see(&lee[FACING * LOOK_WORDS..][..LOOK_WORDS], upwind);
    for (((own, up), h), record) in own.iter_mut().zip(&*upwind).zip(here).zip(records) {
        // `lift` is divided by the distance, so the rise stands for a slope.
        let rise = (h >> 2).wrapping_sub(up >> 2).clamp(-(1 << 18), 1 << 18);
        let speed = (65536 + scaled(rise, law.lift)).clamp(0, 131072);
        *own = if *own == 1 { SHELTERED } else { speed << 1 | (loose(*h, record) > 0) as i32 };
    }
}

pub(super) fn limit_sand(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let cells = call.range.start as usize..call.range.end as usize;
    let [grant, want, moved] = call.owns else { return };
    let &[height, carry, ledger, vegetation] = call.reads else { return };
    let (records, ..) = ledger.as_chunks();
    let ground = (&height[cells.clone()], &carry[cells.clone()], &records[cells.clone()]);
    let want = want.as_chunks_mut().0;
    if law.hold == 1 {
        grant_sand::<true>(*p, ground, &vegetation[cells.clone()], grant, want);
    } else {
        grant_sand::<false>(*p, ground, &[], grant, want);
    }
    let [.., stirred] = *call.touched else { return };
    forget_moves(moved, stirred, cells);
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn grant_sand<const ROOTS: bool>(
    p: Params,
    (height, carry, records): (&[i32], &[i32], &[[i32; LEDGER_WORDS]]),
    roots: &[i32],
    grant: &mut [i32],
    want: &mut [[i32; WANT_WORDS]],
) {
    let n = grant.len();
    let (height, carry, records, want) = (&height[..n], &carry[..n], &records[..n], &mut want[..n]);
    let roots = &roots[..if ROOTS { n } else { 0 }];
    for i in 0..n {
        // In 2⁻¹⁶ cells.
        let [before, thick, ..] = records[i];
        let mut room = loose(height[i], &[before, thick]) >> 2;
        if ROOTS {
            room = mul_q16(room, (65536 - mul_q16(roots[i].clamp(0, 65536), p.roots)) as u32);
        }
        let due = carry[i].max(0).wrapping_add(3) >> 2;
        // It gains a cell at most, less what it carries already.
        let allow = [room, 65536 - due].map(|allow| allow.clamp(0, ALLOW_MAX) >> 2);
        let [take, give, passed] = want[i];
        grant[i] = shares(&p, allow, [take, give]);
        want[i] = [0, 0, passed];
    }
}

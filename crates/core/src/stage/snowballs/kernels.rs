//! The kernels, twins of `shaders/snowballs.wgsl`.

use super::{DROP_WORDS, Law, STEEPEST};
use crate::arith::{fold, isqrt, lerp, mix, mul_q16};
use crate::plan::{Adder, Call, Kernel};
use crate::stage::stepper::{
    Home, LAST, LOAD_MAX, MOVED_WORDS, NOWHERE, Params, TILE_DROPS, TORUS, WALL, WANT_MAX,
    WANT_WORDS, arrive, export, for_each_home, granted, lose, propose, settle_granted, spot,
    vertex, wash_out,
};
use multiversion::multiversion;

pub(super) static ROLL: Kernel = Kernel {
    entry: "roll",
    reads: &["height", "grant", "rain"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: roll,
};

/// Gradient by central differences at a position, 2⁻¹⁶ cells a cell.
#[inline(always)]
fn feel(p: &Params, height: &[i32], x: i32, y: i32) -> [i32; 2] {
    let torus = p.border == TORUS;
    let (x0, y0) = (x >> 16, y >> 16);
    let (fx, fy) = ((x & 0xffff) as u32, (y & 0xffff) as u32);
    let mut near = [[0i32; 4]; 4];
    // The offset can lead beyond the borders, where the ground is folded.
    let inside = x0 > 0 && y0 > 0 && x0 + 2 < p.width && y0 + 2 < p.height;
    for (j, near) in (-1..).zip(&mut near) {
        let row = &height[(fold(y0 + j, p.height, torus) * p.width) as usize..];
        if inside {
            near.copy_from_slice(&row[x0 as usize - 1..x0 as usize + 3]);
        } else {
            for (i, near) in (-1..).zip(near) {
                *near = row[fold(x0 + i, p.width, torus) as usize];
            }
        }
    }
    let at = |i: usize, j: usize| near[j][i] >> 2;
    // Half the difference over two cells.
    let steep = |a: i32, b: i32| b.wrapping_sub(a).clamp(-STEEPEST << 5, STEEPEST << 5) >> 1;
    let across = |j: usize| lerp(steep(at(0, j), at(2, j)), steep(at(1, j), at(3, j)), fx);
    let along = |i: usize| lerp(steep(at(i, 0), at(i, 2)), steep(at(i, 1), at(i, 3)), fy);
    [lerp(across(1), across(2), fy), lerp(along(1), along(2), fx)]
}

/// 1 − n_y of the normal over a gradient in 2⁻¹² cells a cell, in 2⁻¹⁶.
#[inline(always)]
fn tilt(gx: i32, gy: i32) -> u32 {
    // With r = √(1 + s²), s² / (r · (1 + r)) keeps gentle slopes that 1 − 1 / r would round away.
    // A component is at most 7 · 2¹², so what is under the root has 31 bits. The divisor is 2⁹ or
    // more.
    let square = (gx * gx + gy * gy) as u32;
    let root = isqrt(square + (1 << 24));
    square / ((root * (4096 + root)) >> 16)
}

/// The words of the snowballs of a tile: the first of each, then the second of each, and so on.
type Words = [i32; TILE_DROPS * DROP_WORDS];

/// What the snowballs of a tile read and write.
struct Tile<'a> {
    p: &'a Params,
    law: &'a Law,
    /// Its number.
    index: u32,
    height: &'a [i32],
    grant: &'a [i32],
    rain: &'a [i32],
    moved: Adder<'a>,
    wanted: Adder<'a>,
    exported: Adder<'a>,
}

/// A snowball, in the units of the stage's page.
struct Snowball {
    /// Its place; x is [`NOWHERE`] if it does not exist.
    x: i32,
    y: i32,
    /// Whether it has fallen apart, and stays until it has laid down its load.
    spent: bool,
    v: [i32; 2],
    load: i32,
    /// Its last proposal: positive to take, negative to give.
    want: i32,
    /// The vertex of that.
    at: usize,
}

impl Snowball {
    #[inline(always)]
    fn read(own: &Words, slot: usize) -> Self {
        let word = |k: usize| own[k * TILE_DROPS + slot];
        Self {
            // So the words of one that does not exist are all 0.
            x: word(0) ^ NOWHERE,
            // A place on the map is not negative, so the top bit is free.
            y: word(1) & i32::MAX,
            spent: word(1) < 0,
            // Two numbers of 16 bits: a velocity is at most 15 cells, less than 2¹⁵.
            v: [(word(2) << 16) >> 16, word(2) >> 16],
            load: word(3),
            want: word(4),
            at: word(5) as usize,
        }
    }

    #[inline(always)]
    fn write(&self, own: &mut Words, slot: usize) {
        // A mask in the place of a branch, which would be hard to foresee.
        let there = -(self.exists() as i32);
        let words = [
            self.x ^ NOWHERE,
            self.y | (self.spent as i32) << 31,
            (self.v[0] & 0xffff) | (self.v[1] << 16),
            self.load,
            self.want,
            self.at as i32,
        ];
        for (k, word) in words.into_iter().enumerate() {
            own[k * TILE_DROPS + slot] = word & there;
        }
    }

    #[inline(always)]
    fn exists(&self) -> bool {
        self.x != NOWHERE
    }

    /// One that is spent and has laid down its load is gone.
    #[inline(always)]
    fn vanish_when_empty(&mut self) {
        if self.spent && self.load == 0 {
            (self.x, self.spent) = (NOWHERE, false);
        }
    }
}

impl Tile<'_> {
    /// Reads what the snowballs of some homes will ask for: many cache lines are under way at a
    /// time then, where each addition would wait for its own.
    #[inline(always)]
    fn read_ahead(&self, own: &Words, homes: &[(usize, Home)]) {
        let p = self.p;
        let mut any = 0;
        for &(slot, _) in homes {
            let ball = Snowball::read(own, slot);
            if ball.exists() {
                let (last, asked) = (ball.at, vertex_before(p, &ball));
                let (x, y) = (ball.x >> 16, ball.y >> 16);
                any |= self.grant[last] | self.moved.at(last * MOVED_WORDS);
                // One that ends now need not have been on the map: nothing is read beyond its end.
                any |= self.wanted.at(asked.wrapping_mul(WANT_WORDS));
                for dy in -1..=2 {
                    let y = (y + dy).clamp(0, p.height - 1);
                    any |= self.height[(y * p.width + x) as usize];
                }
            }
        }
        // Without a use of the words, a compiler would leave out the reads.
        std::hint::black_box(any);
    }

    /// A step of the snowball of a home.
    #[inline(always)]
    fn step<const ALONE: bool>(&self, own: &mut Words, slot: usize, home: &Home) {
        let mut ball = Snowball::read(own, slot);
        self.settle::<ALONE>(&mut ball);
        // Deaths and births.
        if ball.exists() && home.dies {
            self.stop::<ALONE>(&mut ball);
        }
        self.leave_behind::<ALONE>(&mut ball, home);
        ball.vanish_when_empty();
        let spot = spot(self.p, home, home.life);
        if home.born
            && home.lives
            && spot.is_on_map(self.p.span())
            && spot.is_rained_on(self.p, self.rain)
        {
            (ball.x, ball.y, ball.v) = (spot.x, spot.y, [0, 0]);
        }
        if ball.exists() && !ball.spent {
            self.roll_on::<ALONE>(&mut ball, home, spot.draw);
        }
        // It can have stopped with nothing to lay down.
        ball.vanish_when_empty();
        if ball.spent {
            self.lay_down::<ALONE>(&mut ball);
        }
        ball.write(own, slot);
    }

    /// Settles what was granted of the last proposal.
    #[inline(always)]
    fn settle<const ALONE: bool>(&self, ball: &mut Snowball) {
        if ball.spent {
            // A load that is left goes through the brush: as a negative sum of what is taken.
            let amount = granted(self.grant[ball.at], ball.want).min(ball.load);
            self.moved.add::<ALONE>(ball.at * MOVED_WORDS, -amount);
            ball.load -= amount;
        } else if ball.want != 0 {
            let shares = self.grant[ball.at];
            let gained = settle_granted::<ALONE>(self.moved, ball.at, shares, ball.want, ball.load);
            let washed = wash_out(self.p, gained);
            if washed != 0 {
                export::<ALONE>(self.exported, self.index, washed);
            }
            ball.load += gained - washed;
        }
        ball.want = 0;
    }

    /// It stops: it falls apart, or is gone with its load.
    #[inline(always)]
    fn stop<const ALONE: bool>(&self, ball: &mut Snowball) {
        if self.law.left >= 0 {
            ball.spent = true;
        } else {
            lose::<ALONE>(self.exported, self.index, ball.load);
            (ball.load, ball.x) = (0, NOWHERE);
        }
    }

    /// A spent one leaves its load behind when the next one is due. In the last step there is no
    /// time left to lay it down.
    #[inline(always)]
    fn leave_behind<const ALONE: bool>(&self, ball: &mut Snowball, home: &Home) {
        let last = self.p.flags & LAST != 0;
        if ball.spent && (home.born || last) && ball.load > 0 {
            let left = if last { 0 } else { ball.load.min(self.law.left) };
            self.moved.add::<ALONE>(vertex(self.p, ball.x, ball.y) as usize * MOVED_WORDS, -left);
            lose::<ALONE>(self.exported, self.index, ball.load - left);
            ball.load = 0;
        }
    }

    /// Feels the slope, proposes a change of the ground where it was before this step, and moves.
    #[inline(always)]
    fn roll_on<const ALONE: bool>(&self, ball: &mut Snowball, home: &Home, draw: u32) {
        let (p, law) = (self.p, self.law);
        let wet = self.height[vertex(p, ball.x, ball.y) as usize] < p.sea;
        ball.at = vertex_before(p, ball);
        self.wanted.add::<ALONE>(ball.at * WANT_WORDS + 2, 1);
        // It follows from home and life, so the offset is the same in all steps of a life.
        let draw = mix(draw.wrapping_add(home.world[0].wrapping_mul(0x9e37_79b9)) ^ home.world[1]);
        let offset = [draw & 0xffff, draw >> 16].map(|r| mul_q16(2 * law.offset, r) - law.offset);
        let g =
            feel(p, self.height, ball.x.wrapping_add(offset[0]), ball.y.wrapping_add(offset[1]))
                .map(|g| g >> 4);
        if wet && ball.load == 0 {
            ball.x = NOWHERE;
        } else if g[0] | g[1] == 0 && !wet {
            self.stop::<ALONE>(ball);
        } else {
            let tilt = tilt(g[0], g[1]);
            ball.want = weigh(law, ball.load, tilt, home.age, wet);
            let pace = |axis: usize| pace(law, ball.v[axis], g[axis], 65536 - tilt, wet);
            ball.v = [pace(0), pace(1)];
            propose::<ALONE>(p, self.wanted, ball.at, ball.want);
            self.go::<ALONE>(ball);
        }
    }

    /// Moves it by its velocity.
    #[inline(always)]
    fn go<const ALONE: bool>(&self, ball: &mut Snowball) {
        let [x, y] = [ball.x.wrapping_add(ball.v[0] << 5), ball.y.wrapping_add(ball.v[1] << 5)];
        match arrive(self.p, x, y) {
            Some(place) => [ball.x, ball.y] = place,
            None if self.p.border == WALL => ball.v = [0, 0],
            None => {
                export::<ALONE>(self.exported, self.index, ball.load);
                ball.x = NOWHERE;
            }
        }
    }

    /// A spent one proposes to give all that it has, rounded up.
    #[inline(always)]
    fn lay_down<const ALONE: bool>(&self, ball: &mut Snowball) {
        ball.v = [0, 0];
        ball.at = vertex(self.p, ball.x, ball.y) as usize;
        // Loads are at most 32 cells, 2²³ units, so the sum fits.
        ball.want = -(ball.load.wrapping_add(3) >> 2).min(WANT_MAX);
        propose::<ALONE>(self.p, self.wanted, ball.at, ball.want);
    }
}

/// The vertex nearest to the place where it was a step ago.
#[inline(always)]
fn vertex_before(p: &Params, ball: &Snowball) -> usize {
    let mut back = [ball.x.wrapping_sub(ball.v[0] << 5), ball.y.wrapping_sub(ball.v[1] << 5)];
    // Elsewhere it was on the map.
    if p.border == TORUS {
        let span = p.span();
        back = [back[0].rem_euclid(span[0]), back[1].rem_euclid(span[1])];
    }
    vertex(p, back[0], back[1]) as usize
}

/// What it proposes on a slope of this [`tilt`], from its load and its age.
#[inline(always)]
fn weigh(law: &Law, load: i32, tilt: u32, age: u32, wet: bool) -> i32 {
    let quick = (age * law.quicken).min(65536);
    // Proposals are in 2⁻¹⁶ cells, loads in height units.
    let room = LOAD_MAX.wrapping_sub(load).max(0) >> 2;
    let take = if wet { 0 } else { mul_q16(mul_q16(law.erosion, tilt), quick).min(room) };
    let give = mul_q16(mul_q16(load >> 2, law.deposition), 65536 - tilt);
    // A quarter of the load, rounded up. Two bits of the shift are for the unit.
    let give = if wet { give.max(load.wrapping_add(15) >> 4) } else { give };
    (take - give).clamp(-WANT_MAX, WANT_MAX)
}

/// Its new velocity along an axis, on a gradient in 2⁻¹² cells a cell. `up` is n_y of the normal in
/// 2⁻¹⁶.
#[inline(always)]
fn pace(law: &Law, v: i32, g: i32, up: u32, wet: bool) -> i32 {
    // −g · n_y is the level component of the normal.
    let gain = mul_q16(mul_q16(-g << 4, up), law.speed as u32);
    let pace = (mul_q16(v, law.friction) + gain).clamp(-law.fastest, law.fastest);
    if wet { pace / 2 } else { pace }
}

fn roll(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    for (own, index) in call.owns[0].as_chunks_mut().0.iter_mut().zip(start..) {
        if call.adds[0].is_alone() {
            roll_tile::<true>(p, law, index, own, call.reads, call.adds);
        } else {
            roll_tile::<false>(p, law, index, own, call.reads, call.adds);
        }
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn roll_tile<const ALONE: bool>(
    p: &Params,
    law: &Law,
    index: u32,
    own: &mut Words,
    reads: &[&[i32]],
    adds: &[Adder],
) {
    let &[height, grant, rain] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    // Put together here, since of its own parameters a compiler knows that nothing changes them: so
    // it reads what they point to once, not once for each particle.
    let tile = Tile { p, law, index, height, grant, rain, moved, wanted, exported };
    for_each_home(p, index, own, |own, homes| {
        tile.read_ahead(own, homes);
        for (slot, home) in homes {
            tile.step::<ALONE>(own, *slot, home);
        }
    });
}

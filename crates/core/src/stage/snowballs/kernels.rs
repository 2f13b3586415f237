//! The kernels, twins of `shaders/snowballs.wgsl`.

use super::{DROP_WORDS, Law, STEEPEST};
use crate::arith::{fold, isqrt, lerp, mix, mul_q16};
use crate::plan::{Adder, Call, Kernel};
use crate::stage::stepper::{
    Home, LAST, LOAD_MAX, MOVED_WORDS, NOWHERE, Params, TILE_DROPS, TORUS, WALL, WANT_MAX,
    WANT_WORDS, export, granted, lose, propose, settle_granted, spot, vertex, wash_out,
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

fn roll(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    for (i, tile) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
        if call.adds[0].is_alone() {
            roll_tile::<true>(p, law, start + i as u32, tile, call.reads, call.adds);
        } else {
            roll_tile::<false>(p, law, start + i as u32, tile, call.reads, call.adds);
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
    tile: u32,
    own: &mut [i32],
    reads: &[&[i32]],
    adds: &[Adder],
) {
    let &[height, grant, rain] = reads else { return };
    let &[moved, wanted, exported] = adds else { return };
    let torus = p.border == TORUS;
    let span = p.span();
    let outside = |x: i32, y: i32| x as u32 >= span[0] as u32 || y as u32 >= span[1] as u32;
    for inner in 0..TILE_DROPS {
        // Most of them do not exist any more, and none is born.
        if own[inner] == 0 && p.rains == 0 {
            continue;
        }
        let Some(home) = Home::of(p, tile, inner as u32) else { continue };
        let word = |k: usize| k * TILE_DROPS + inner;
        let mut x = own[word(0)] ^ NOWHERE;
        if x == NOWHERE && !home.born {
            continue;
        }
        let (mut y, mut spent) = (own[word(1)] & i32::MAX, own[word(1)] < 0);
        let mut v = [(own[word(2)] << 16) >> 16, own[word(2)] >> 16];
        let (mut load, mut want, mut at) = (own[word(3)], own[word(4)], own[word(5)] as usize);
        let spot = spot(p, &home, home.life);

        // Settle what was granted of the last proposal. Then deaths and births.
        if spent {
            // A load that is left goes through the brush: as a negative sum of what is taken.
            let amount = granted(grant[at], want).min(load);
            moved.add::<ALONE>(at * MOVED_WORDS, -amount);
            load -= amount;
        } else if want != 0 {
            let gained = settle_granted::<ALONE>(moved, at, grant[at], want, load);
            let washed = wash_out(p, gained);
            if washed != 0 {
                export::<ALONE>(exported, tile, washed);
            }
            load += gained - washed;
        }
        want = 0;
        if x != NOWHERE && home.dies {
            if law.left >= 0 {
                spent = true;
            } else {
                lose::<ALONE>(exported, tile, load);
                (load, x) = (0, NOWHERE);
            }
        }
        // A spent one leaves its load behind when the next one is due. In the last step there is
        // no time left to lay it down.
        let last = p.flags & LAST != 0;
        if spent && (home.born || last) && load > 0 {
            let left = if last { 0 } else { load.min(law.left) };
            moved.add::<ALONE>(vertex(p, x, y) as usize * MOVED_WORDS, -left);
            lose::<ALONE>(exported, tile, load - left);
            load = 0;
        }
        if spent && load == 0 {
            (x, spent) = (NOWHERE, false);
        }
        if home.born && home.lives && spot.is_on_map(span) && spot.is_rained_on(p, rain) {
            (x, y, v) = (spot.x, spot.y, [0, 0]);
        }

        if x != NOWHERE && !spent {
            let wet = height[vertex(p, x, y) as usize] < p.sea;
            // It changes the ground where it was before this step.
            let back = [x.wrapping_sub(v[0] << 5), y.wrapping_sub(v[1] << 5)];
            let back = if torus {
                [back[0].rem_euclid(span[0]), back[1].rem_euclid(span[1])]
            } else {
                back
            };
            at = vertex(p, back[0], back[1]) as usize;
            wanted.add::<ALONE>(at * WANT_WORDS + 2, 1);
            // It follows from home and life, so the offset is the same in all steps of a life.
            let draw = mix(
                spot.draw.wrapping_add(home.world[0].wrapping_mul(0x9e37_79b9)) ^ home.world[1]
            );
            let offset =
                [draw & 0xffff, draw >> 16].map(|r| mul_q16(2 * law.offset, r) - law.offset);
            let [gx, gy] = feel(p, height, x.wrapping_add(offset[0]), y.wrapping_add(offset[1]))
                .map(|g| g >> 4);
            if wet && load == 0 {
                x = NOWHERE;
            } else if gx | gy == 0 && !wet {
                if law.left >= 0 {
                    spent = true;
                } else {
                    lose::<ALONE>(exported, tile, load);
                    (load, x) = (0, NOWHERE);
                }
            } else {
                let tilt = tilt(gx, gy);
                let up = 65536 - tilt;
                let quick = (home.age * law.quicken).min(65536);
                // Proposals are in 2⁻¹⁶ cells, loads in height units.
                let room = LOAD_MAX.wrapping_sub(load).max(0) >> 2;
                let take =
                    if wet { 0 } else { mul_q16(mul_q16(law.erosion, tilt), quick).min(room) };
                let give = mul_q16(mul_q16(load >> 2, law.deposition), up);
                // A quarter of the load, rounded up. Two bits of the shift are for the unit.
                let give = if wet { give.max(load.wrapping_add(15) >> 4) } else { give };
                want = (take - give).clamp(-WANT_MAX, WANT_MAX);
                let pace = |v: i32, g: i32| {
                    // −g · n_y is the level component of the normal.
                    let gain = mul_q16(mul_q16(-g << 4, up), law.speed as u32);
                    let pace = (mul_q16(v, law.friction) + gain).clamp(-law.fastest, law.fastest);
                    if wet { pace / 2 } else { pace }
                };
                v = [pace(v[0], gx), pace(v[1], gy)];
                propose::<ALONE>(p, wanted, at, want);
                let (nx, ny) = (x.wrapping_add(v[0] << 5), y.wrapping_add(v[1] << 5));
                if !outside(nx, ny) {
                    (x, y) = (nx, ny);
                } else if torus {
                    // The map can be narrower than a step.
                    (x, y) = (nx.rem_euclid(span[0]), ny.rem_euclid(span[1]));
                } else if p.border == WALL {
                    v = [0, 0];
                } else {
                    export::<ALONE>(exported, tile, load);
                    x = NOWHERE;
                }
            }
        }
        if spent && load == 0 {
            (x, spent) = (NOWHERE, false);
        }
        if spent {
            v = [0, 0];
            at = vertex(p, x, y) as usize;
            want = -(load.wrapping_add(3) >> 2).min(WANT_MAX);
            propose::<ALONE>(p, wanted, at, want);
        }
        let there = -((x != NOWHERE) as i32);
        own[word(0)] = (x ^ NOWHERE) & there;
        own[word(1)] = (y | (spent as i32) << 31) & there;
        own[word(2)] = ((v[0] & 0xffff) | (v[1] << 16)) & there;
        own[word(3)] = load & there;
        own[word(4)] = want & there;
        own[word(5)] = at as i32 & there;
    }
}

//! The kernels, twins of `shaders/droplets.wgsl`.

use super::batch::{BATCH, Batch, SMALL, Tile, drops_batch};
use super::{DROP_WORDS, Law};
use crate::plan::{Call, Kernel};
use crate::stage::stepper::{
    MOVED_WORDS, Params, TILE, TILE_DROPS, WANT_WORDS, age_and_life, row_phase,
};
use multiversion::multiversion;
use std::cell::RefCell;

pub(super) static DROPS: Kernel = Kernel {
    entry: "drops",
    reads: &["height", "grant", "water", "rain"],
    owns: &[("drop", DROP_WORDS)],
    adds: &["moved", "want", "exported"],
    cpu: drops,
};

fn drops(call: &mut Call) {
    let (p, law): (&Params, &Law) = (call.params(), call.params());
    let start = call.range.start / TILE_DROPS as u32;
    let (&[height, grant, water, rain], &[moved, wanted, exported]) = (call.reads, call.adds)
    else {
        return;
    };
    WORK.with_borrow_mut(|work| {
        for (i, own) in call.owns[0].chunks_exact_mut(TILE_DROPS * DROP_WORDS).enumerate() {
            let index = start + i as u32;
            let origin = [index % p.tiles_wide * TILE, index / p.tiles_wide * TILE];
            let tile =
                Tile { p, law, index, origin, height, grant, water, rain, moved, wanted, exported };
            read_ahead(&tile);
            if moved.is_alone() {
                drops_tile::<true>(&tile, own, work)
            } else {
                drops_tile::<false>(&tile, own, work)
            }
        }
    });
}

/// A map of fewer cells is in the caches anyway.
const SMALL_MAP: usize = 1 << 16;

/// Words of a cache line.
const LINE: usize = 16;

/// Reads the ground where the droplets of a tile have their homes. Droplets come to it in no order
/// that a processor could foresee, and wait for each line of the cache; here many lines are under
/// way at a time. (Measured at 1024²: 3 to 4 % of a run with a droplet on each cell, 12 % with one
/// for four, 6 % with one for nine, nothing with one for sixteen.)
fn read_ahead(tile: &Tile) {
    let &Tile { p, origin, height, grant, moved, wanted, .. } = tile;
    // Where homes are larger, most of that ground is not asked for. (Measured at 1000² with 5000
    // droplets: without it a run takes 0.57 of the time.)
    if height.len() < SMALL_MAP || p.block > 3 {
        return;
    }
    let within = |from: i32, size: i32, homes: u32| {
        let at = |homes: u32| from.saturating_add((homes * p.block) as i32).clamp(0, size) as usize;
        at(homes)..at(homes + TILE)
    };
    let columns = within(p.corner.x, p.width, origin[0]);
    let mut any = 0;
    for y in within(p.corner.y, p.height, origin[1]) {
        let row = y * p.width as usize;
        for i in (row + columns.start..row + columns.end).step_by(LINE) {
            let (changes, wishes) = (i * MOVED_WORDS, i * WANT_WORDS);
            any |= height[i] | grant[i] | moved.at(changes) | moved.at(changes + LINE);
            any |= wanted.at(wishes) | wanted.at(wishes + LINE) | wanted.at(wishes + 2 * LINE);
        }
    }
    // Without a use of the words, a compiler would leave out the reads.
    std::hint::black_box(any);
}

thread_local! {
    /// A call can be for a single tile, which is too little work to allocate memory for.
    static WORK: RefCell<Box<Work>> =
        RefCell::new(Box::new(Work {
            ages: [0; TILE_DROPS],
            exist: [0; TILE_DROPS],
            slots: [0; TILE_DROPS],
            batch: Batch::new(),
            small: Batch::new(),
        }));
}

/// Scratch memory of [`drops_tile`], reused from call to call.
struct Work {
    /// The ages of the whole tile, whether there is a droplet or one can be born, and the slots of
    /// those to be done.
    ages: [i32; TILE_DROPS],
    exist: [u16; TILE_DROPS],
    slots: [u16; TILE_DROPS],
    batch: Batch<BATCH>,
    small: Batch<SMALL>,
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn drops_tile<const ALONE: bool>(tile: &Tile, own: &mut [i32], work: &mut Work) {
    // Copied, so that a compiler knows that nothing changes it on the way.
    let (p, origin) = (*tile.p, tile.origin);
    let Work { ages, exist, slots, batch, small } = work;
    // The droplets that exist or can be born.
    let high = TILE.min(p.homes[1] - origin[1]) as usize;
    let places = high * TILE as usize;
    let mut count = 0;
    for row in 0..high {
        let row_phase = row_phase(p.key, p.home.y.wrapping_add(origin[1] + row as u32));
        let first = row * TILE as usize;
        let row = first..first + TILE as usize;
        let (ages, exist, xs) = (&mut ages[row.clone()], &mut exist[row.clone()], &own[row]);
        for i in 0..TILE as usize {
            let [age, _] = age_and_life(&p, row_phase, p.home.x.wrapping_add(origin[0] + i as u32));
            ages[i] = age as i32;
            // Places beyond the last home of a row count as well. They have no home, so nothing is
            // born there.
            let born = (p.rains == 1) & ((age == 0) | (p.step == 0));
            exist[i] = ((xs[i] != 0) | born) as u16;
            count += exist[i] as u32;
        }
    }
    // If that is most of the tile, take all: they are adjacent in memory.
    let all = count as usize * 5 > places * 4;
    let mut busy = 0;
    if all {
        busy = places;
        slots[..busy].iter_mut().zip(0..).for_each(|(slot, i)| *slot = i);
    } else if count > 0 {
        for (i, exists) in (0..).zip(&exist[..places]) {
            // Without a branch: the slot is written in any case, and overwritten if it is not
            // needed. The remainder spares a check.
            slots[busy % TILE_DROPS] = i;
            busy += *exists as usize;
        }
    }
    let mut slots = &slots[..busy];
    // What is left in the end are three small batches at most.
    while slots.len() + SMALL > BATCH {
        let (now, rest) = slots.split_at(slots.len().min(BATCH));
        drops_batch::<ALONE, BATCH>(tile, own, ages, now, all, batch);
        slots = rest;
    }
    slots
        .chunks(SMALL)
        .for_each(|now| drops_batch::<ALONE, SMALL>(tile, own, ages, now, all, small));
}

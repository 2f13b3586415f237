//! What becomes of a row of vertices: block by block, passing over those in which nothing happens.

use super::super::params::{LAST, SAND};
use super::super::particle::book;
use super::super::room::{
    Lanes, Wide, change as change_by, extremes, overruns, room, room_of_sand, wides,
};
use super::super::{OPEN, PART, Params, TORUS};
use super::share;
use crate::arith::{LEDGER_WORDS, fold};
use crate::plan::{Adder, Calm};
use std::sync::atomic::Ordering;

/// Vertices of a row that are done together: those that share a byte of [`Calm`].
pub(super) const BLOCK: usize = Calm::CELLS;
/// Bytes of blocks that are looked at together.
const SOME: usize = Calm::ROW;

/// A vertex of the block carries something.
const CARRIES: u8 = 1;
/// A vertex of the block carries so much that it passes some of it on to its neighbours.
const PASSES: u8 = 2;
/// Heights or what is carried changed in the block in the last pass: the buffers differ.
const CHANGED: u8 = 4;
/// Something was moved near the block, left the map from it, or was an overrun.
pub(super) const STIRRED: u8 = 8;
/// Something that was moved reaches beyond the west or the east of the row. Set for the row's first
/// block, whichever it is near.
pub(super) const BEYOND: u8 = 16;
/// The block is done in this pass.
const AWAKE: u8 = Calm::DONE;
/// A vertex in the block or beside it may pass something on.
const BRINGS: u8 = 64;
/// A vertex of the block carried something before the last pass.
const HELD: u8 = 128;
/// What the next pass is to know.
const KNOWN: u8 = CARRIES | PASSES | CHANGED | HELD;

/// What the next pass is to know of the buffer that this one reads.
#[inline(always)]
fn held(flag: u8) -> u8 {
    (flag & CARRIES) * (HELD / CARRIES)
}

/// Whether a vertex in a block of a row or beside it passes something on.
#[inline(always)]
fn passes(row: &[u8], block: usize) -> bool {
    row[block - 1..].first_chunk().is_none_or(|[a, b, c]| (a | b | c) & PASSES != 0)
}

/// Copies the words of a block.
#[inline(always)]
fn copy(to: &mut [i32], from: &[i32]) {
    // Most blocks are whole, and a copy of a fixed size is not a call.
    match (to.first_chunk_mut::<BLOCK>(), from.first_chunk::<BLOCK>()) {
        (Some(to), Some(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// A block, and what is known of it.
struct Block<'a> {
    /// The number of its first vertex, and how many it has.
    vertices: (usize, usize),
    /// Heights and what is carried, there and beside it.
    near: [[&'a Wide; 3]; 2],
    flag: u8,
    /// Whether a vertex of the row north of it, of its own or of that south passes something on.
    brings: [bool; 3],
    /// 1 for vertices of a rim, which do not rise.
    rim: Lanes,
}

/// What a vertex reads of the ground, and where a rim puts what it cannot hold.
pub(super) struct Ground<'a> {
    pub(super) p: &'a Params,
    pub(super) height: &'a [i32],
    pub(super) carry: &'a [i32],
    pub(super) ledger: &'a [i32],
    pub(super) spilled: Adder<'a>,
    pub(super) calm: Option<Calm<'a>>,
}

impl<'a> Ground<'a> {
    /// The rows north of row `y`, at it, and south of it, where each has `each` words.
    #[inline(always)]
    fn rows<T>(&self, words: &'a [T], y: usize, each: usize) -> [&'a [T]; 3] {
        let fold = |dy: i32| fold(y as i32 + dy, self.p.height, self.p.border == TORUS) as usize;
        let (north, south) = (fold(-1), fold(1));
        [&words[north * each..][..each], &words[y * each..][..each], &words[south * each..][..each]]
    }

    /// Changes row `y` by what is wished there and by what is carried there, as far as there is
    /// room. `flags` says which of its blocks are [`STIRRED`], and `near` is scratch memory. A wish
    /// is 0 where its block is not stirred, and afterwards everywhere.
    #[inline(always)]
    pub(super) fn change_row(
        &self,
        y: usize,
        wish: &mut [i32],
        [next, carried]: [&mut [i32]; 2],
        flags: &mut [u8],
        near: &mut Vec<u8>,
    ) {
        let p = self.p;
        let w = p.width as usize;
        let ground = [self.rows(self.height, y, w), self.rows(self.carry, y, w)];
        let at_rim = p.border == OPEN && (y == 0 || y == p.height as usize - 1);
        self.wake(y, flags, near);
        let before = self.calm.map(|calm| self.rows(calm.before, y, flags.len()));
        let busy = u64::from_ne_bytes([CARRIES | PASSES | CHANGED | AWAKE; 8]);
        let count = w.div_ceil(BLOCK);
        let mut blocks = 0..count;
        let wishes = wish.as_chunks_mut().0;
        while let Some(block) = blocks.next() {
            // Most rows have long parts in which nothing happens.
            if let Some(some) = flags[block..].first_chunk::<8>()
                && u64::from_ne_bytes(*some) & busy == 0
            {
                blocks = block + some.len()..count;
                continue;
            }
            let flag = flags[block];
            let from = block * BLOCK;
            let to = (from + BLOCK).min(w);
            let own = [&mut next[from..to], &mut carried[from..to]];
            let known = if flag & AWAKE == 0 {
                if flag & CHANGED != 0 {
                    // At rest again: the other buffers get the same words.
                    for (own, [_, here, _]) in own.into_iter().zip(ground) {
                        copy(own, &here[from..to]);
                    }
                }
                flag & (CARRIES | PASSES) | held(flag)
            } else {
                let is_edge = from == 0 || from + BLOCK >= w || at_rim || p.flags & LAST != 0;
                let wish = &mut wishes[block];
                let happened = if is_edge {
                    self.change_edge(y, from, ground, flag, wish, own)
                } else {
                    let [near, carries] = ground;
                    let near = [wides(near, from - 1), wides(carries, from - 1)];
                    let brings = match before {
                        _ if flag & BRINGS == 0 => [false; 3],
                        None => [true; 3],
                        Some([n, c, s]) => [passes(n, block), passes(c, block), passes(s, block)],
                    };
                    let vertices = (y * w + from, BLOCK);
                    let block = Block { vertices, near, flag, brings, rim: [0; BLOCK] };
                    self.change_block::<false>(block, wish, own)
                };
                *wish = [0; BLOCK];
                happened | flag & (STIRRED | AWAKE) | held(flag)
            };
            if let Some(calm) = self.calm {
                calm.after[y * flags.len() + block].store(known, Ordering::Relaxed);
            }
        }
    }

    /// Says which blocks of a row are to be done, and adds what is known of each to its flags.
    /// A block changes where something is moved; or where it carries something or gets some,
    /// unless all is as it was when that changed nothing.
    #[inline(always)]
    fn wake(&self, y: usize, flags: &mut [u8], near: &mut Vec<u8>) {
        let (n, p) = (flags.len(), self.p);
        // In the last step all that is carried goes, and the room of loose sediment depends on the
        // ledger.
        let Some(calm) = self.calm.filter(|_| p.flags & (LAST | SAND) == 0) else {
            flags.iter_mut().for_each(|flag| *flag |= !(STIRRED | BEYOND));
            return;
        };
        let rows = self.rows(calm.before, y, n).map(|row| row.as_chunks::<SOME>().0);
        // With one more block on each side.
        near.resize(n + 2, 0);
        let near = &mut near[..n + 2];
        for (k, near) in near[1..].as_chunks_mut::<SOME>().0.iter_mut().enumerate() {
            for (x, near) in near.iter_mut().enumerate() {
                *near = rows[0][k][x] | rows[1][k][x] | rows[2][k][x];
            }
        }
        // A row may have bytes that no block has, and those are 0.
        let last = (p.width as usize).div_ceil(BLOCK);
        (near[0], near[last + 1]) = if p.border == TORUS { (near[last], near[1]) } else { (0, 0) };
        for (k, flags) in flags.as_chunks_mut::<SOME>().0.iter_mut().enumerate() {
            let Some(near) = near[k * SOME..].first_chunk::<{ SOME + 2 }>() else { return };
            for x in 0..SOME {
                let around = near[x] | near[x + 1] | near[x + 2];
                let here = rows[1][k][x];
                // Bit by bit, so that it is done for many blocks at once.
                let is = |flags: u8, flag: u8| flags >> flag.trailing_zeros() & 1;
                let loaded = is(around, PASSES) | is(here, CARRIES);
                let stirs = is(around, CHANGED) | is(around, STIRRED);
                let awake = is(flags[x], STIRRED) | loaded & stirs;
                let brings = is(around, PASSES);
                flags[x] |= (here & KNOWN) | (awake * AWAKE) | (brings * BRINGS);
            }
        }
    }

    /// Changes a block that meets the border, or any in the last step. Returns its flags.
    #[inline(always)]
    fn change_edge(
        &self,
        y: usize,
        from: usize,
        ground: [[&[i32]; 3]; 2],
        flag: u8,
        wish: &Lanes,
        [next, carried]: [&mut [i32]; 2],
    ) -> u8 {
        let p = self.p;
        let (w, n) = (p.width as usize, next.len());
        let beyond = |x: i32| fold(x, p.width, p.border == TORUS) as usize;
        let (west, east) = (beyond(from as i32 - 1), beyond((from + n) as i32));
        let mut near = [[[0; BLOCK + 2]; 3]; 2];
        // What is carried is not looked at where none of these is set.
        let layers = if flag & (CARRIES | HELD | BRINGS) == 0 { 1 } else { 2 };
        for (near, row) in near[..layers].iter_mut().flatten().zip(ground.iter().flatten()) {
            copy(&mut near[1..=n], &row[from..from + n]);
            (near[0], near[n + 1]) = (row[west], row[east]);
        }
        let [[a, b, c], [d, e, f]] = &near;
        let near = [[a, b, c], [d, e, f]];
        let mut rim = [0; BLOCK];
        // Loose sediment does not stop at a rim.
        if p.border == OPEN && p.flags & SAND == 0 {
            let is_outer = y == 0 || y == p.height as usize - 1;
            for (x, rim) in (from..).zip(&mut rim[..n]) {
                *rim = (is_outer || x == 0 || x == w - 1) as i32;
            }
        }
        let mut new = [[0; BLOCK]; 2];
        let [own, kept] = &mut new;
        let (vertices, brings) = ((y * w + from, n), [flag & BRINGS != 0; 3]);
        let block = Block { vertices, near, flag, brings, rim };
        let mut flags = if p.flags & LAST != 0 {
            self.change_block::<true>(block, wish, [own, kept])
        } else {
            self.change_block::<false>(block, wish, [own, kept])
        };
        if p.border == OPEN || p.flags & LAST != 0 {
            for (x, carry) in (from..).zip(&mut kept[..n]) {
                if rim[x - from] != 0 && *carry > 0 {
                    self.spill(x, y, *carry);
                    *carry = 0;
                    flags |= STIRRED;
                }
                if p.flags & LAST != 0 && *carry != 0 {
                    self.leave(x, y, *carry);
                    *carry = 0;
                }
            }
        }
        copy(next, &own[..n]);
        copy(carried, &kept[..n]);
        flags
    }

    /// Changes a block. Returns what the next pass is to know of it.
    #[inline(always)]
    fn change_block<const LAST: bool>(
        &self,
        block: Block,
        wish: &Lanes,
        [next, carried]: [&mut [i32]; 2],
    ) -> u8 {
        let Block { vertices: (first, n), near: [heights, carries], flag, brings, rim } = block;
        // Copied, so that a compiler knows that nothing changes it on the way.
        let p = *self.p;
        let (Some(next), Some(carried)) =
            (next.first_chunk_mut::<BLOCK>(), carried.first_chunk_mut::<BLOCK>())
        else {
            return 0;
        };
        let [mut here, mut carry, mut wish]: [Lanes; 3] = [[0; BLOCK], [0; BLOCK], *wish];
        here.copy_from_slice(&heights[1][1..=BLOCK]);
        // Mostly nothing is carried, neither here nor in the other buffer, and then neither is
        // touched.
        let is_empty = flag & (CARRIES | HELD) == 0;
        if !is_empty {
            carry.copy_from_slice(&carries[1][1..=BLOCK]);
        }
        for l in 0..BLOCK {
            wish[l] = wish[l].wrapping_add(carry[l]);
        }
        // Eight shares are passed on, and the ninth is the vertex's own, which is among what is
        // brought. Rows that pass nothing on are not read: mostly they are in no cache.
        if brings[1] {
            for l in 0..BLOCK {
                wish[l] = wish[l].wrapping_sub(share(carry[l]).wrapping_mul(9));
            }
        }
        for (row, brings) in carries.into_iter().zip(brings) {
            if brings {
                for l in 0..BLOCK {
                    let beside = share(row[l]).wrapping_add(share(row[l + 2]));
                    wish[l] = wish[l].wrapping_add(share(row[l + 1])).wrapping_add(beside);
                }
            }
        }
        let mut change: Lanes = [0; BLOCK];
        if p.flags & SAND != 0 {
            let (records, ..) = self.ledger.as_chunks::<LEDGER_WORDS>();
            let records = &records[first..first + n];
            let mut loose: Lanes = [0; BLOCK];
            for ((loose, record), here) in loose.iter_mut().zip(records).zip(here) {
                *loose = super::loose(here, record);
            }
            for l in 0..BLOCK {
                // Loose sediment has a room of its own, whatever its neighbours are.
                let sand = room_of_sand(here[l], loose[l]);
                change[l] = change_by::<LAST>(&p, wish[l], here[l], sand);
            }
        } else {
            for l in 0..BLOCK {
                let [lowest, highest] = extremes(heights, l);
                let room = room(&p, here[l], lowest, highest, rim[l] != 0);
                change[l] = change_by::<LAST>(&p, wish[l], here[l], room);
            }
        }
        let mut rest: Lanes = [0; BLOCK];
        let (mut carries, mut passes, mut changed, mut over) = (0, 0, 0, 0);
        for l in 0..BLOCK {
            next[l] = here[l].wrapping_add(change[l]);
            rest[l] = wish[l].wrapping_sub(change[l]);
            // Lanes beyond the end of a row tell nothing.
            let is_own = -((l < n) as i32);
            carries |= rest[l] & is_own;
            passes |= share(rest[l]) & is_own;
            changed |= (change[l] | (rest[l] ^ carry[l])) & is_own;
            over += overruns(wish[l]) as i32 & is_own;
        }
        if !is_empty || carries != 0 {
            *carried = rest;
        }
        if over > 0 {
            self.count_overruns(over);
        }
        let flag = |any: bool, flag: u8| if any { flag } else { 0 };
        flag(carries != 0, CARRIES)
            | flag(passes != 0, PASSES)
            | flag(changed != 0, CHANGED)
            | flag(over > 0, STIRRED)
    }

    /// What a rim cannot hold leaves the map.
    fn spill(&self, x: usize, y: usize, carry: i32) {
        let (w, h) = (self.p.width as usize, self.p.height as usize);
        let place = match (x, y) {
            (_, 0) => x,
            (_, y) if y == h - 1 => w + x,
            (0, _) => 2 * w + y,
            _ => 2 * w + h + y,
        };
        // Atomic, since another thread can spill into the same block.
        book::<false>(self.spilled, 2 * place, carry);
    }

    /// In the last step, what a vertex still carries is lost.
    fn leave(&self, x: usize, y: usize, carry: i32) {
        let (w, h) = (self.p.width as usize, self.p.height as usize);
        let first = 4 * (w + h) + 1;
        let place = y * w.div_ceil(PART as usize) + x / PART as usize;
        book::<false>(self.spilled, first + 2 * place, carry);
    }

    /// Overruns go behind what the rim spills.
    #[cold]
    fn count_overruns(&self, count: i32) {
        self.spilled.add::<false>(4 * (self.p.width + self.p.height) as usize, count);
    }
}

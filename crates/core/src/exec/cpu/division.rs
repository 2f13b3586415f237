//! How the invocations of a pass are divided among threads.

use super::Order;
use crate::plan::Pass;
use std::borrow::Cow;
use std::ops::Range;

/// Passes with no more invocations than this stay on one thread: gathers, then scatters, which do
/// more work each.
pub(super) const ALONE: [u32; 2] = [4096, 1024];

/// The invocations of a pass in rounds, one after the other. The groups of a round can be done side
/// by side, and a group is ranges that one thread does.
pub(super) struct Division<'a> {
    pub rounds: Cow<'a, [Vec<Vec<Range<u32>>>]>,
    /// Whether no two threads can add to a word at the same time.
    pub alone: bool,
}

impl<'a> Division<'a> {
    /// The division among this many threads. The words do not depend on it: no invocation reads
    /// what another one writes, and sums that wrap are the same in any order.
    pub fn of(pass: &'a Pass, order: Order, threads: usize) -> Self {
        let least = ALONE[!pass.kernel.adds.is_empty() as usize];
        let small = order.portion.is_none() && pass.count() <= least;
        // Rounds are worth it where their groups keep all threads busy.
        let disjoint = pass.disjoint.as_deref().filter(|rounds| {
            !order.atomic
                && !small
                && (threads == 1
                    || rounds.iter().map(Vec::len).sum::<usize>() >= threads * 2 * rounds.len())
        });
        let alone = (threads == 1 || small) && !order.atomic || disjoint.is_some();
        // A single thread is alone, and needs no rounds.
        let rounds = match disjoint {
            Some(rounds) if threads > 1 => Cow::Borrowed(rounds.as_slice()),
            _ => {
                // Several pieces for each thread, so that none waits long for the last.
                let each = (pass.count() / least / threads as u32).clamp(1, 16);
                let pieces = if small { 1 } else { threads as u32 * each };
                let portion = order.portion.unwrap_or(pass.count().div_ceil(pieces));
                Cow::Owned(vec![in_portions(pass, portion)])
            }
        };
        Self { rounds, alone }
    }
}

/// All invocations as groups of one portion each.
fn in_portions(pass: &Pass, portion: u32) -> Vec<Vec<Range<u32>>> {
    // Whole granules, such as rows or tiles. A pass over nothing has no portions.
    let portion = portion.next_multiple_of(pass.granule.max(1)).max(1);
    let starts = pass.range.clone().step_by(portion as usize);
    let from = |start: u32| start..pass.range.end.min(start.saturating_add(portion));
    starts.map(|start| std::iter::once(from(start)).collect()).collect()
}

/// A group of ranges with the words that their invocations own.
pub(super) type Group<'a> = Vec<(Range<u32>, Vec<&'a mut [i32]>)>;

/// Cuts the owned buffers so that each range gets its words.
pub(super) fn portions<'a>(
    round: &[Vec<Range<u32>>],
    owns: &[(&str, usize)],
    slices: &mut [&'a mut [i32]],
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = round.iter().map(|_| vec![]).collect();
    let mut ranges: Vec<(Range<u32>, usize)> = round
        .iter()
        .enumerate()
        .flat_map(|(group, ranges)| ranges.iter().map(move |r| (r.clone(), group)))
        .collect();
    // Buffers are cut from the front, so ranges come in order, whatever group they are of.
    ranges.sort_by_key(|(range, _)| range.start);
    let mut at = 0;
    for (range, group) in ranges {
        let mine = slices
            .iter_mut()
            .zip(owns)
            .map(|(slice, &(_, words))| {
                let rest = std::mem::take(slice);
                let (_, rest) = rest.split_at_mut((range.start - at) as usize * words);
                let (mine, rest) = rest.split_at_mut(range.len() * words);
                *slice = rest;
                mine
            })
            .collect();
        at = range.end;
        groups[group].push((range, mine));
    }
    groups
}

//! Pieces in memory. All that make tiles of one run can share them, so that none is made twice.

use super::Tile;
use crate::error::Result;
use crate::exec::Executor;
use crate::job::piece::{Bases, Piece};
use crate::job::{Cancel, Job};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often one who waits for another's piece looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// Pieces in memory, up to a number of bytes.
pub(super) struct Pieces {
    bytes_max: u64,
    state: Mutex<State>,
    /// A piece is there, or was given up.
    ended: Condvar,
    /// The lands of levels that are given, once they are known.
    bases: Mutex<Option<Arc<Bases>>>,
}

#[derive(Default)]
struct State {
    /// The piece that was used last comes last.
    recent: VecDeque<(Tile, Arc<Piece>)>,
    bytes: u64,
    /// Tiles that somebody makes.
    making: BTreeSet<Tile>,
}

/// A piece that is there, or the right to make it.
pub(super) enum Claim<'a> {
    There(Arc<Piece>),
    Ours(Making<'a>),
}

/// The right to make a piece. Others wait for it until this goes.
pub(super) struct Making<'a> {
    pieces: &'a Pieces,
    tile: Tile,
}

impl Pieces {
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes_max, state: Mutex::default(), ended: Condvar::new(), bases: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The piece of a tile, after somebody else has made it if somebody does, or the right to make
    /// it. A tile is only made from tiles of earlier slabs and coarser levels, so those who wait
    /// for each other never form a circle.
    pub fn claim(&self, tile: Tile, cancel: &Cancel) -> Result<Claim<'_>> {
        let mut state = self.state();
        loop {
            if let Some(at) = state.recent.iter().position(|(recent, _)| *recent == tile)
                && let Some((_, piece)) = state.recent.remove(at)
            {
                state.recent.push_back((tile, piece.clone()));
                return Ok(Claim::There(piece));
            }
            if state.making.insert(tile) {
                return Ok(Claim::Ours(Making { pieces: self, tile }));
            }
            cancel.check()?;
            state = self.ended.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The lands of levels that are given: made by who asks first.
    pub fn bases(&self, job: &Job, executor: &mut dyn Executor) -> Result<Arc<Bases>> {
        let mut bases = self.bases.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bases) = &*bases {
            return Ok(bases.clone());
        }
        // The lock is held meanwhile, so nobody makes them a second time.
        let made = Arc::new(job.bases(executor)?);
        *bases = Some(made.clone());
        Ok(made)
    }
}

impl Making<'_> {
    /// Keeps the piece. The oldest go where there are too many bytes.
    pub fn done(self, piece: Piece) -> Arc<Piece> {
        let piece = Arc::new(piece);
        // As a local it is released before `self`, whose drop takes the lock once more.
        let mut state = self.pieces.state();
        state.bytes += piece.bytes();
        state.recent.push_back((self.tile, piece.clone()));
        // One piece stays, however large it is.
        while state.bytes > self.pieces.bytes_max && state.recent.len() > 1 {
            state.bytes -= state.recent.pop_front().map_or(0, |(_, piece)| piece.bytes());
        }
        piece
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        // Also where the making failed or panicked: one of those who wait then makes it.
        self.pieces.state().making.remove(&self.tile);
        self.pieces.ended.notify_all();
    }
}

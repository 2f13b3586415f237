//! The graph of tiles: which ones a part of a land needs, what each is made from and costs.

use super::{Tile, Tiles, check_window};
use crate::error::Result;
use crate::schedule::padded;
use crate::site::Window;
#[cfg(feature = "io")]
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A tile of a graph, and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Which tile.
    pub tile: Tile,
    /// Its key.
    pub key: String,
    /// The keys of the tiles that it is made from.
    pub inputs: Vec<String>,
    /// Its layer: 0 has the coarsest tiles, and each layer is made from the one before.
    pub layer: u32,
    /// Its cells, on the level's lattice.
    pub window: Window,
    /// Cells that are worked on: its own and those of its halo.
    pub worked_cells: u64,
    /// Passes over cells; [`Tiles::pace`] says how many a device does in a second.
    pub work: f64,
    /// Bytes that it takes in a store, about.
    pub store_bytes: u64,
    /// Bytes of memory that a process that makes it takes at most, about.
    pub memory_bytes: u64,
}

impl Node {
    /// Its file in a store, from the store's folder on: what is there once the tile is made.
    #[cfg(feature = "io")]
    pub fn file(&self) -> String {
        // What is made from others lies under a digest of their words, and its key names that.
        let ending = if self.inputs.is_empty() { "tile" } else { "same" };
        super::store::file(&self.key, ending)
    }

    /// It as an object of JSON, with the names of its fields.
    #[cfg(feature = "io")]
    pub fn describe(&self) -> Value {
        let Tile { level, slab, x, y } = self.tile;
        json!({
            "level": level, "slab": slab, "x": x, "y": y, "key": self.key, "inputs": self.inputs,
            "layer": self.layer, "file": self.file(), "origin": self.window.origin,
            "width": self.window.width, "height": self.window.height,
            "worked_cells": self.worked_cells, "work": self.work,
            "store_bytes": self.store_bytes, "memory_bytes": self.memory_bytes,
        })
    }
}

impl Tiles {
    /// The tiles of a level that all maps of a window need: those that cover it, and more where a
    /// map looks beyond its window.
    ///
    /// # Errors
    /// [`Error::Param`](crate::Error::Param) for a level that the land has not, and for a window
    /// without cells or beyond the land.
    pub fn needed(&self, level: i32, window: &Window) -> Result<Vec<Tile>> {
        self.layout.check_level(level)?;
        check_window(&self.job, level, window)?;
        let (round, bounds) =
            (self.job.recipe().halo_of_maps(level), self.job.schedule().bounds(level));
        Ok(self.over(level, &padded(window, round, bounds.as_ref())?).collect())
    }

    /// The tiles that all maps of a window of a level need, each after those that it is made from:
    /// layer by layer, the coarsest first, and row by row from the north-west.
    ///
    /// # Errors
    /// As [`Tiles::needed`]; [`Error::Limit`](crate::Error::Limit) for stages that reach farther
    /// than numbers do.
    pub fn graph(&mut self, level: i32, window: &Window) -> Result<Vec<Node>> {
        let mut layers: Vec<BTreeSet<Tile>> =
            vec![self.needed(level, window)?.into_iter().collect()];
        loop {
            let mut next = BTreeSet::new();
            for tile in layers.last().into_iter().flatten() {
                next.extend(self.inputs(*tile)?);
            }
            if next.is_empty() {
                break;
            }
            layers.push(next);
        }
        let (schedule, cut) = (self.job.schedule(), self.layout.cut());
        let memory = schedule.cost(cut.clone(), level, window)?;
        let costs = schedule.tile_costs(cut, level);
        let mut graph = vec![];
        // They were found from the last back to the first.
        for (layer, tiles) in (0..).zip(layers.into_iter().rev()) {
            let mut tiles: Vec<Tile> = tiles.into_iter().collect();
            tiles.sort_by_key(|tile| (tile.y, tile.x));
            for tile in tiles {
                let inputs = self.inputs(tile)?;
                let inputs = inputs.into_iter().map(|input| self.key(input));
                let inputs = inputs.collect::<Result<_>>()?;
                let (window, (_, halo)) = (self.window(tile)?, self.near(tile)?);
                let (own, worked) = (window.cells() as f64, halo.cells() as u64);
                let cost = costs.get(&(tile.level, tile.slab));
                graph.push(Node {
                    key: self.key(tile)?,
                    work: cost.map_or(0.0, |cost| cost.work(own, worked as f64)),
                    store_bytes: cost.map_or(0, |cost| cost.bytes(own)),
                    memory_bytes: memory.bytes_on(tile.level),
                    worked_cells: worked,
                    tile,
                    inputs,
                    layer,
                    window,
                });
            }
        }
        Ok(graph)
    }
}

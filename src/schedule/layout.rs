//! How a land is cut into pieces, in space and in time, and from which pieces each is made.

use super::axis::Axis;
use super::{Schedule, Slab, padded, shown};
use crate::error::{Error, Invalid, Result};
use crate::site::Window;
use crate::stage::levels::{coarser, lattice};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A place of a tile: the level, the slab of its time, and how many tiles it lies to the east and
/// to the south of the land's north-west corner, or, where the land has no end, of the world's
/// origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// The level: 0 has the recipe's cells, and each next one is half as fine.
    pub level: i32,
    /// Slabs of the level's time that are left when it is made: 0 for what the level leaves.
    pub slab: u32,
    /// Tiles to the east.
    pub x: i64,
    /// Tiles to the south.
    pub y: i64,
}

/// Sides that tiles may have, in cells.
pub const SIDES: RangeInclusive<u32> = 16..=16384;

/// How the levels of a land are cut into tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// In space.
    pub space: Space,
    /// In time: steps of a stage that a slab has at most. None: a level's time is not cut.
    pub slab: Option<u32>,
}

/// How the levels of a land are cut in space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Squares with about this many cells a side.
    Squares(u32),
    /// A part of a level, and of each coarser level what the part depends on, each cut into as few
    /// pieces as are small enough. Tile 0, 0 is the north-west one.
    Region {
        /// The level.
        level: i32,
        /// The part, on the level's lattice.
        window: Window,
        /// Cells that a piece with its halo has at most, as far as the halo leaves it [`SIDES`]'
        /// least.
        cells: u64,
    },
}

/// A part of a level that is cut evenly.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvenCut {
    pub window: Window,
    /// Pieces along each axis.
    count: [u32; 2],
}

impl EvenCut {
    /// A window of a level in pieces that have at most `cells` cells with their halo in a slab.
    fn of(
        schedule: &Schedule,
        level: i32,
        slab: &Slab,
        window: Window,
        cells: u64,
    ) -> Result<Self> {
        let halo = schedule.halo(level, slab, &window)?;
        let (all, reach) = ([halo.width, halo.height], 2 * schedule.reach_in(level, slab));
        let sides = [window.width, window.height];
        let mut count = [1, 1];
        let own = |axis: usize, count: u32| u64::from(sides[axis].div_ceil(count));
        loop {
            // A piece with its halo is never wider than the window with its halo.
            let wide =
                [0, 1].map(|axis| (own(axis, count[axis]) + reach).min(u64::from(all[axis])));
            let longest = wide[0].max(wide[1]);
            if longest <= u64::from(Window::SIDE_MAX) && wide[0] * wide[1] <= cells {
                break;
            }
            // The longer side of a piece is cut next.
            let axis = usize::from(own(1, count[1]) > own(0, count[0]));
            if own(axis, count[axis] + 1) < u64::from(*SIDES.start()) {
                break;
            }
            count[axis] += 1;
        }
        Ok(Self { window, count })
    }
}

impl From<u32> for Cut {
    fn from(side: u32) -> Self {
        Space::Squares(side).into()
    }
}

impl From<Space> for Cut {
    fn from(space: Space) -> Self {
        Self { space, slab: None }
    }
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match &self.space {
            Space::Squares(side) => write!(f, "tiles of {side} cells")?,
            Space::Region { cells: u64::MAX, .. } => write!(f, "one piece of each level")?,
            Space::Region { cells, .. } => {
                write!(f, "pieces of at most {cells} cells with their halos")?
            }
        }
        self.slab.map_or(Ok(()), |steps| write!(f, " and slabs of {steps} steps"))
    }
}

impl Cut {
    /// A part of a level, and what it depends on, in one piece of each level.
    pub fn in_one_piece(level: i32, window: Window) -> Self {
        Space::Region { level, window, cells: u64::MAX }.into()
    }

    /// The same with a level's time cut into slabs of at most `steps` steps of a stage.
    pub fn in_slabs(self, steps: u32) -> Self {
        Self { slab: Some(steps), ..self }
    }

    /// Cells of a side of its squares; none for a part.
    pub fn side(&self) -> Option<u32> {
        match self.space {
            Space::Squares(side) => Some(side),
            Space::Region { .. } => None,
        }
    }

    /// The slabs of a level, the last first.
    pub(super) fn slabs(&self, schedule: &Schedule, level: i32) -> Vec<Slab> {
        schedule.slabs(level, self.slab.unwrap_or(u32::MAX))
    }

    /// Refuses squares of a side that is not one of [`SIDES`], and slabs without a step.
    pub(super) fn check(&self) -> Result<()> {
        if self.slab == Some(0) {
            let message = "slabs of 0 steps: allowed is 1 or more";
            return Err(Invalid::of("time_chunk", 0, "1 or more").saying(message).into());
        }
        match self.side().filter(|side| !SIDES.contains(side)) {
            None => Ok(()),
            Some(side) => {
                let allowed = format!("{} to {} cells", SIDES.start(), SIDES.end());
                let message = format!("tiles of {side} cells: allowed {allowed}");
                Err(Invalid::of("tile_size", side, allowed).saying(message).into())
            }
        }
    }

    /// Of a part, how each slab of each level is cut; nothing for squares.
    ///
    /// # Errors
    /// [`Error::Limit`] for windows that reach farther than numbers do.
    pub(super) fn parts(&self, schedule: &Schedule) -> Result<BTreeMap<(i32, u32), EvenCut>> {
        let mut parts = BTreeMap::new();
        let Space::Region { level: first, window, cells } = &self.space else { return Ok(parts) };
        let mut needed = *window;
        for level in *first..=*schedule.all_levels().end() {
            // What maps of this level look at, and what the next finer level takes.
            let own = lattice(window, level - first, false);
            needed = both(
                &needed,
                &padded(
                    &own,
                    schedule.recipe().halo_of_maps(level),
                    schedule.bounds(level).as_ref(),
                )?,
            );
            for (left, slab) in (0..).zip(self.slabs(schedule, level)) {
                parts.insert((level, left), EvenCut::of(schedule, level, &slab, needed, *cells)?);
                // The slab before this one has to cover what it reaches.
                needed = schedule.halo(level, &slab, &needed)?;
            }
            needed = coarser(&needed, false);
        }
        Ok(parts)
    }
}

/// The smallest window that holds two.
pub(crate) fn both(a: &Window, b: &Window) -> Window {
    let end = |of: &Window, axis: usize| of.origin[axis] + i64::from([of.width, of.height][axis]);
    let origin = [0, 1].map(|axis| a.origin[axis].min(b.origin[axis]));
    let size = [0, 1].map(|axis| (end(a, axis).max(end(b, axis)) - origin[axis]) as u32);
    Window { origin, width: size[0], height: size[1] }
}

/// The pieces of a land: the places of tiles, and from which other ones each is made.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    cut: Cut,
    /// The levels, the finest first.
    levels: RangeInclusive<i32>,
    /// The land of each level with its margin; none where it has no end.
    bounds: BTreeMap<i32, Option<Window>>,
    /// How each slab of each level is cut, where only a part is.
    parts: BTreeMap<(i32, u32), EvenCut>,
    /// The slabs of each level, the last first.
    slabs: BTreeMap<i32, Vec<Slab>>,
}

impl Layout {
    /// The pieces of a schedule's land.
    ///
    /// # Errors
    /// [`Error::Param`] for a side that tiles cannot have, for a level that the land has not, and
    /// for a land that is not made by parts; [`Error::Limit`] for windows that reach farther than
    /// numbers do.
    pub fn of(schedule: &Schedule, cut: Cut) -> Result<Self> {
        cut.check()?;
        schedule.recipe().check_parts()?;
        let levels = schedule.all_levels();
        let layout = Self {
            bounds: levels.clone().map(|level| (level, schedule.bounds(level))).collect(),
            slabs: levels.clone().map(|level| (level, cut.slabs(schedule, level))).collect(),
            parts: BTreeMap::new(),
            levels,
            cut,
        };
        // The level is looked at before its parts are worked out.
        if let Space::Region { level, .. } = layout.cut.space {
            layout.check_level(level)?;
        }
        Ok(Self { parts: layout.cut.parts(schedule)?, ..layout })
    }

    /// How the land is cut.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// The levels that have pieces, the finest first.
    pub fn levels(&self) -> RangeInclusive<i32> {
        self.levels.clone()
    }

    /// The slabs of a level, the last first.
    pub fn slabs(&self, level: i32) -> &[Slab] {
        self.slabs.get(&level).map_or(&[], |slabs| slabs)
    }

    /// Refuses a level that the land has not.
    ///
    /// # Errors
    /// [`Error::Param`] with the levels that it has.
    pub fn check_level(&self, level: i32) -> Result<()> {
        if self.levels.contains(&level) {
            return Ok(());
        }
        let allowed = format!("{} to {}", self.levels.start(), self.levels.end());
        Err(Invalid::of("level", level, allowed.clone())
            .saying(format!("level {level}: the land has levels {allowed}"))
            .into())
    }

    /// Refuses a window of a level beyond the part that is cut, if only that is.
    ///
    /// # Errors
    /// [`Error::Param`] with the part.
    pub fn check_window(&self, level: i32, window: &Window) -> Result<()> {
        match self.parts.get(&(level, 0)).map(|part| part.window) {
            // A window that adds nothing to the part lies within it.
            Some(part) if both(&part, window) != part => Err(Error::param(format!(
                "{}: the tiles are of the part of {}",
                shown(window),
                shown(&part)
            ))),
            _ => Ok(()),
        }
    }

    /// The cells of a tile, as far as the land goes.
    ///
    /// # Errors
    /// [`Error::Param`] for a level or a slab that the land has not, and for a tile beyond the
    /// land.
    pub fn window(&self, tile: Tile) -> Result<Window> {
        let Tile { level, slab, x, y } = tile;
        self.slab(tile)?;
        // From here on the land has the level and the slab.
        if let Space::Region { level: finest, .. } = self.cut.space
            && level < finest
        {
            return Err(Error::param(format!(
                "level {level}: the tiles are of a part of level {finest}, and of coarser levels"
            )));
        }
        let axes = self.axes(level, slab);
        let cells = [axes[0].cells(x), axes[1].cells(y)];
        if let [Some((left, width)), Some((top, height))] = cells {
            return Ok(Window { origin: [left, top], width, height });
        }
        let part = self.parts.get(&(level, slab)).map(|part| part.window);
        let land = part
            .or(self.bounds[&level])
            .map_or("up to 2^61 cells from the origin".into(), |land| shown(&land));
        let message = format!(
            "tile {x}, {y} of level {level}, in {}, lies beyond the land, {land}",
            self.cut
        );
        Err(Invalid::of("tile", format!("{level} {x} {y}"), land).saying(message).into())
    }

    /// The slab of a tile.
    ///
    /// # Errors
    /// [`Error::Param`] for a level or a slab that the land has not.
    pub fn slab(&self, tile: Tile) -> Result<Slab> {
        self.check_level(tile.level)?;
        let slabs = self.slabs(tile.level);
        slabs.get(tile.slab as usize).copied().ok_or_else(|| {
            let allowed = format!("0 to {}", slabs.len() - 1);
            let message = format!(
                "slab {} of level {}: in {} the level has slabs {allowed}",
                tile.slab, tile.level, self.cut
            );
            Invalid::of("slab", tile.slab, allowed).saying(message).into()
        })
    }

    /// How a slab of a level is cut along each axis.
    pub fn axes(&self, level: i32, slab: u32) -> [Axis; 2] {
        let bounds = self.bounds.get(&level).copied().flatten();
        axes(&self.cut, self.parts.get(&(level, slab)), bounds)
    }

    /// The tiles that cover a window in a slab of a level, row by row from the north-west.
    pub fn over(
        &self,
        level: i32,
        slab: u32,
        window: &Window,
    ) -> impl Iterator<Item = Tile> + use<> {
        let [x, y] = self.axes(level, slab);
        let columns = x.over(window.origin[0], window.width);
        let rows = y.over(window.origin[1], window.height);
        rows.flat_map(move |y| columns.clone().map(move |x| Tile { level, slab, x, y }))
    }

    /// What a tile is made from on the window with its halo: the level and the window that its
    /// inputs are joined in, and these, those of the slab before, or, for the first, of the next
    /// coarser level. None on the coarsest.
    pub fn inputs(&self, tile: Tile, halo: &Window) -> (i32, Window, Vec<Tile>) {
        let Tile { level, slab, .. } = tile;
        // Slabs are numbered from the last, so the one before has the next number.
        if slab as usize + 1 < self.slabs(level).len() {
            return (level, *halo, self.over(level, slab + 1, halo).collect());
        }
        let below = coarser(halo, false);
        let tiles = if level == *self.levels.end() {
            vec![]
        } else {
            self.over(level + 1, 0, &below).collect()
        };
        (level + 1, below, tiles)
    }
}

/// How a level is cut along each axis: its part, if only that is made, or else its land.
pub(super) fn axes(cut: &Cut, part: Option<&EvenCut>, land: Option<Window>) -> [Axis; 2] {
    [0, 1].map(|axis| match (part, cut) {
        (Some(part), _) => Axis::of_count(part.count[axis], &part.window, axis),
        (None, cut) => Axis::of_side(cut.side().unwrap_or(*SIDES.end()), land.as_ref(), axis),
    })
}

//! The steps of making a layout, for animations.

use super::geometry::Rect;
use super::model::Role;

/// A step of making a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What happens.
    pub what: &'static str,
    /// Boxes in grid cells. Later ones cover earlier ones.
    pub boxes: Vec<(Rect, Mark)>,
    /// Lines between the middles of grid cells, drawn over the boxes.
    pub lines: Vec<([i32; 2], [i32; 2], Mark)>,
}

/// What a box or a line of a [`Step`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Not decided yet, or not used.
    Faint,
    /// Changed in this step.
    Now,
    /// Rejected in this step.
    Refused,
    /// A room of this role.
    Role(Role),
    /// A corridor.
    Corridor,
    /// A room of 1 × 1 that fills a gap.
    Cell,
    /// An edge of the triangulation.
    Triangulation,
    /// An edge of the spanning tree.
    Tree,
    /// An edge that was added back after the spanning tree.
    Extra,
}

/// Reports steps to a callback, if there is one. Without one, no step is built.
pub(super) struct Observer<'a>(pub Option<&'a mut dyn FnMut(Step)>);

impl Observer<'_> {
    pub fn step(&mut self, what: &'static str, boxes: impl FnOnce() -> Vec<(Rect, Mark)>) {
        if let Some(report) = &mut self.0 {
            report(Step { what, boxes: boxes(), lines: vec![] });
        }
    }
}

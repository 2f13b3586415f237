//! Reaches: pieces of rivers, as lines.

use super::channel::Channel;

/// A vertex of a river.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vertex {
    /// Where it is, in half cells.
    pub at: [i32; 2],
    /// The surface of the water in metres, rounded as the map `water_level` is.
    pub height_m: f32,
    /// The river there.
    pub channel: Channel,
}

/// A piece of a river, from its source, a confluence or a shore down to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Its number, from 1 in the order of the map by first cells.
    pub id: u32,
    /// The number of the last reach of the river that it belongs to. At a confluence the river with
    /// more water goes on.
    pub river: u32,
    /// The reach that it runs into; none at a mouth.
    pub downstream: Option<u32>,
    /// The number of the lake that it crosses, if it does.
    pub lake: Option<u32>,
    /// Strahler's order.
    pub order: i32,
    /// Where it runs: two vertices or more, and the last is the first of the reach downstream.
    /// Heights never rise.
    pub vertices: Vec<Vertex>,
    /// Metres from its first to its last vertex, before it was simplified.
    pub length_m: f64,
    /// The area that drains through its last cell in m², weighted by the rain as the map
    /// `drainage_area`.
    pub drainage_m2: f64,
    /// The river in its last cell.
    pub channel: Channel,
}

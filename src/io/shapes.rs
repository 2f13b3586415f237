//! Simple meshes that stand for things, until better ones take their place.

use crate::scatter::Shape;
use glam::Vec3;

/// Triangles of one colour: their corners, counter-clockwise seen from outside, in metres, y up.
pub struct Part {
    /// Red, green and blue, linear, 0 to 1.
    pub colour: [f32; 3],
    /// The corners of each triangle.
    pub triangles: Vec<[Vec3; 3]>,
    /// Whether both sides are seen.
    pub is_thin: bool,
}

impl Part {
    /// The triangles of a shape, its foot at the origin.
    pub fn of(shape: Shape) -> Vec<Self> {
        let part = |colour, triangles| Self { colour, triangles, is_thin: false };
        match shape {
            Shape::Tree => vec![
                part([0.11, 0.06, 0.03], cone(6, 0.0, 0.22, 2.2)),
                part([0.02, 0.09, 0.03], [cone(7, 1.2, 2.0, 5.0), cone(7, 3.6, 1.5, 8.0)].concat()),
            ],
            Shape::Bush => vec![part([0.05, 0.13, 0.04], ball([1.0, 0.85, 1.0], 0.65))],
            Shape::Rock => vec![part([0.2, 0.19, 0.18], ball([0.9, 0.7, 0.65], 0.3))],
            Shape::Grass => {
                let blade = |turn: f32| {
                    let along = Vec3::new(libm::cosf(turn), 0.0, libm::sinf(turn)) * 0.25;
                    let up = Vec3::Y * 0.5;
                    [[-along, along, along + up], [-along, along + up, up - along]]
                };
                let third = std::f32::consts::PI / 3.0;
                let triangles = (0..3).flat_map(|n| blade(n as f32 * third)).collect();
                vec![Self { colour: [0.1, 0.2, 0.04], triangles, is_thin: true }]
            }
        }
    }
}

/// A cone of `sides` from a base at height `low` up to `top`.
fn cone(sides: u32, low: f32, radius: f32, top: f32) -> Vec<[Vec3; 3]> {
    let at = |n: u32| {
        let turn = n as f32 / sides as f32 * std::f32::consts::TAU;
        Vec3::new(radius * libm::cosf(turn), low, radius * libm::sinf(turn))
    };
    let (tip, middle) = (Vec3::Y * top, Vec3::Y * low);
    // Seen from above, z is to the south, so growing angles go clockwise.
    let side = |n: u32| [[at(n + 1), at(n), tip], [at(n), at(n + 1), middle]];
    (0..sides).flat_map(side).collect()
}

/// An icosahedron of these radii, whose middle is `up` above the ground.
fn ball(radii: [f32; 3], up: f32) -> Vec<[Vec3; 3]> {
    let g = (1.0 + 5f32.sqrt()) / 2.0;
    let corners = [
        [-1.0, g, 0.0],
        [1.0, g, 0.0],
        [-1.0, -g, 0.0],
        [1.0, -g, 0.0],
        [0.0, -1.0, g],
        [0.0, 1.0, g],
        [0.0, -1.0, -g],
        [0.0, 1.0, -g],
        [g, 0.0, -1.0],
        [g, 0.0, 1.0],
        [-g, 0.0, -1.0],
        [-g, 0.0, 1.0],
    ];
    let faces: [[usize; 3]; 20] = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    let at = |n: usize| Vec3::from(corners[n]).normalize() * Vec3::from(radii) + Vec3::Y * up;
    faces.into_iter().map(|face| face.map(at)).collect()
}

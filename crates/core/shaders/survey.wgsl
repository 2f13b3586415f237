// Twin of src/stage/survey.rs. Goes before the shaders of the stages that use it, and after
// fractal.wgsl.

@group(0) @binding(53) var<storage, read> survey: array<i32>;

fn shares(t: i32) -> vec3<i32> {
    let before = mul_q28(ONE - t, ONE - t) >> 1u;
    let after = mul_q28(t, t) >> 1u;
    return vec3<i32>(before, ONE - before - after, after);
}

fn node_row(square: vec2<i32>, lattice: vec2<i32>, across: vec3<i32>, j: i32) -> i32 {
    let row = clamp(square.y + j, 0, lattice.y - 1) * lattice.x;
    let west = survey[row + clamp(square.x - 1, 0, lattice.x - 1)];
    let middle = survey[row + clamp(square.x, 0, lattice.x - 1)];
    let east = survey[row + clamp(square.x + 1, 0, lattice.x - 1)];
    return mul_q28(west, across.x) + mul_q28(middle, across.y) + mul_q28(east, across.z);
}

fn surveyed(lattice: vec2<i32>, window: vec2<i32>, warped: bool, x: i32, y: i32) -> i32 {
    var at = spot(window, 0u, x, y);
    if warped {
        let middle = 1u + SHIFT_OCTAVES;
        let east = in_squares(0u, shift(window, 1u, middle, x, y));
        let south = in_squares(0u, shift(window, middle, middle + SHIFT_OCTAVES, x, y));
        at = moved(at, vec2<i32>(east, south));
    }
    let across = shares(at.part.x);
    let down = shares(at.part.y);
    return mul_q28(node_row(at.square, lattice, across, -1), down.x)
        + mul_q28(node_row(at.square, lattice, across, 0), down.y)
        + mul_q28(node_row(at.square, lattice, across, 1), down.z);
}

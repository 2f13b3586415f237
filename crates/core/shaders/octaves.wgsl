// Twin of src/stage/octaves.rs. Goes before the shaders of the stages that use it.

@group(0) @binding(50) var<storage, read> octaves: array<i32>;

fn smooth_step(t: u32) -> u32 {
    let square = (t * t) >> 16u;
    return 3u * square - 2u * ((square * t) >> 16u);
}

fn noise(first: u32, count: u32, step: i32, x: i32, y: i32) -> i32 {
    var sum = 0;
    for (var o = first; o < first + count; o += 1u) {
        let at = o * OCTAVE_WORDS;
        let key = vec2<u32>(u32(octaves[at]), u32(octaves[at + 1u]));
        let size = u32(octaves[at + 2u]);
        let gx = u32(x * step + octaves[at + 3u]);
        let gy = u32(y * step + octaves[at + 4u]);
        let cx = u32(octaves[at + 5u]) + gx / size;
        let cy = u32(octaves[at + 6u]) + gy / size;
        let fx = smooth_step(((gx % size) << 16u) / size);
        let fy = smooth_step(((gy % size) << 16u) / size);
        sum += mul_q16(value_noise(key, cx, cy, fx, fy), u32(octaves[at + 7u]));
    }
    return sum;
}

//! The weights of the erosion brush.

/// Cells that the brush reaches to each side of its centre.
pub fn taps(radius: f64) -> i32 {
    2 * ((radius / 2.0 + 0.5).ceil() as i32 - 1)
}

/// The erosion brush, in 2⁻¹⁶ of its sum, rounded down. The centre's word is 0, because the centre
/// gets the rest.
///
/// The brush is a disc of half the radius with a soft rim, convolved with itself. In the plane that
/// is nearly the cone max(0, radius − distance), but its spectrum has no negative part. The
/// spectrum of the cone sampled at cells has one (at radius 2, −0.04 for the ripple of two cells),
/// and eroding a crest would then raise it, in rows along the axes.
pub(super) fn brush(radius: f64) -> Vec<i32> {
    let r = taps(radius) / 2;
    let disc =
        |x: i32, y: i32| (radius / 2.0 + 0.5 - ((x * x + y * y) as f64).sqrt()).clamp(0.0, 1.0);
    let square = |r: i32| (-r..=r).flat_map(move |y| (-r..=r).map(move |x| (x, y)));
    let sum: f64 = square(r).map(|(x, y)| disc(x, y)).sum();
    let spread = |x: i32, y: i32| {
        let inside = |x: i32, y: i32| x.abs() <= r && y.abs() <= r;
        square(r)
            .filter(|&(i, j)| inside(x - i, y - j))
            .map(|(i, j)| disc(i, j) * disc(x - i, y - j))
            .sum::<f64>()
    };
    // Exactly the same in eight directions.
    let octant = |x: i32, y: i32| (x.abs().min(y.abs()), x.abs().max(y.abs()));
    // Each is rounded down, so the rest for the centre is not less than its weight.
    let part =
        |(x, y)| if (x, y) == (0, 0) { 0 } else { (spread(x, y) / (sum * sum) * 65536.0) as i32 };
    square(2 * r).map(|(x, y)| part(octant(x, y))).collect()
}

//! The scattered points of biomes, and those that count for one cell, as a picture.
//!
//! ```sh
//! cargo run --release --example points -- docs/points.png
//! ```

use thalweg::Error;
use thalweg::image::{Rgb, RgbImage};
use thalweg::io::encode_picture;
use thalweg::lattice::{FARTHEST, Lattice};

/// Side of the picture, in cells.
const SIDE: u32 = 512;
const FREQUENCY: f64 = 0.04;
const PADDING: f64 = 32.0;

fn main() -> thalweg::Result<()> {
    let radius = PADDING + FARTHEST / FREQUENCY;
    let centre = f64::from(SIDE / 2);
    let mut picture = RgbImage::from_pixel(SIDE, SIDE, Rgb([255; 3]));
    let mut dot = |[x, y]: [f64; 2], size: f64, colour: [u8; 3]| {
        let range = |at: f64| {
            ((at - size).ceil().max(0.0) as u32)
                ..=((at + size).floor().min(f64::from(SIDE - 1)) as u32)
        };
        for (x, y) in range(y)
            .flat_map(|v| range(x).map(move |u| (u, v)))
            .filter(|(u, v)| (f64::from(*u) - x).hypot(f64::from(*v) - y) <= size)
        {
            picture.put_pixel(x, y, Rgb(colour));
        }
    };
    // The circle, in steps of less than a pixel.
    for turn in (0..1024).map(|n| f64::from(n) * std::f64::consts::TAU / 1024.0) {
        dot([centre + radius * turn.cos(), centre + radius * turn.sin()], 0.8, [200; 3]);
    }
    let (mut all, mut near) = (0, 0);
    for point in Lattice::new(FREQUENCY, 1)?.within([0, 0], [SIDE; 2]) {
        let place = [0, 1].map(|a| point.cell[a] as f64 + f64::from(point.fraction[a]) / 65536.0);
        let counts = (place[0] - centre).hypot(place[1] - centre) < radius;
        dot(place, 3.2, if counts { [200, 30, 30] } else { [60, 60, 60] });
        (all, near) = (all + 1, near + usize::from(counts));
    }
    println!(
        "{all} points in {SIDE} x {SIDE} cells, {near} of them within {radius:.2} cells of the \
         middle"
    );
    match std::env::args().nth(1) {
        Some(path) => {
            std::fs::write(&path, encode_picture(picture)?).map_err(|e| Error::output(&path, e))
        }
        None => Ok(()),
    }
}

//! An island of polygons: the farther from the sea, the higher.
//!
//! # Rule
//! - `points` random points lie in a square of `extent_cells` cells round `centre`. `lloyd` times
//!   each moves to the middle of what is nearer to it than to any other (Lloyd's relaxation), which
//!   makes their polygons even.
//! - Polygons that reach out of the circle that fits into the square are sea. Of the others the
//!   share `water` is, at random, as far as it is joined to that sea: bays and sounds. Inland such
//!   a polygon would be a pit without an outlet.
//! - The height is `relief_m` · d, with d the distance to the nearest sea compared with the largest
//!   there is; in the sea it is −`depth_m` times the distance to the nearest land, compared with a
//!   sixteenth of `extent_cells`, down to −`depth_m`.
//! - Noise is on borders and on heights: it moves places by up to `warp_cells` cells along each
//!   axis, and changes heights by up to the share `rough` either way.
//!
//! All of it is found on a lattice of 257 × 257 nodes over the square, on which distances are
//! exact, and looked up between the nodes ([`super::survey`]). The sea is at 0 m.
//!
//! # Shape
//! The same land in every window and on every level; outside the square it is at −`depth_m`.
//!
//! # Units
//! Distances of nodes are roots of whole numbers; values 2⁻²⁸; places 2⁻²⁸ of the nodes' spacing.
//!
//! # Limits
//! At most 1024 points.
//!
//! # Reach
//! None.
//!
//! # Differs
//! From the article: the nearest point of each node stands for polygons and their triangulation,
//! and distances are measured straight rather than from polygon to polygon, so that heights have no
//! steps.
//!
//! # Source
//! *Fractal terrain: diamond-square*, an article of 2011 on Habr, which tells of it after A. Patel,
//! *Polygonal Map Generation for Games*, 2010; S. Lloyd, *Least squares quantization in PCM*, 1982.
//!
//! # Costs
//! The host works the nodes out once, in about 0.2 s, and keeps them for all levels and tiles. A
//! cell: 9 reads and some 40 hashes. Memory: 4 bytes a cell.

use super::Surface::Flat;
use super::case::case;
use super::combine::{self, COMBINE, MASK, ONE_M, SHARE};
use super::fractal::{ONE, Octaves, add_octave};
use super::survey::{self, Memory, Surveyed};
use super::{Case, Stage};
use crate::arith::{self, hash, mul_q28};
use crate::params::{Param, Settings};
use crate::plan::{Buffer, Call, Kernel, Pass, Plan, Uniform};
use crate::site::Site;
use crate::twin::{constants, uniform};
use encase::ShaderType;
use multiversion::multiversion;
use std::sync::Arc;

constants! {
    const WGSL: &str;

    /// Nodes of a side.
    const NODES: i32 = 257;
    /// The octave of the first noise on heights: after the survey's and those of the warp.
    const ROUGH_FROM: u32 = 7;
}

/// The stage.
pub static STAGE: Stage = Stage {
    name: "voronoi_island",
    about: "An island of polygons: the farther from the sea, the higher.",
    is_generator: true,
    params: PARAMS,
    shader: constcat::concat!(
        super::fractal::SHADER,
        survey::SHADER,
        WGSL,
        Params::WGSL,
        include_str!("../../shaders/voronoi_island.wgsl")
    ),
    kernels: &[&RISE],
    check,
    plan,
    cases,
    ..Stage::PLAIN
};

const PARAMS: &[Param] = &[
    Param::integer(
        "centre_x",
        "cells",
        [-(1 << 60), 1 << 60, 256],
        "World coordinate of the middle of the square, to the east.",
    ),
    Param::integer(
        "centre_y",
        "cells",
        [-(1 << 60), 1 << 60, 256],
        "World coordinate of the middle of the square, to the south.",
    ),
    Param::integer("extent_cells", "cells", [16, 1 << 24, 512], "Side of the square."),
    Param::integer("points", "", [4, 1024, 300], "Number of points, each with its polygon."),
    Param::integer(
        "lloyd",
        "",
        [0, 16, 3],
        "How often points move to the middle of their polygons.",
    ),
    Param::number(
        "water",
        "",
        [0.0, 1.0, 0.15],
        "Share of the polygons that become sea, besides those round the island, where they are \
         joined to that.",
    ),
    Param::number(
        "warp_cells",
        "cells",
        [0.0, 1000.0, 24.0],
        "How far noise moves borders along each axis, at most.",
    ),
    Param::number("rough", "", [0.0, 1.0, 0.5], "By what share noise raises and lowers heights."),
    Param::number(
        "relief_m",
        "m",
        [0.0, 1e6, 800.0],
        "Height above the sea of what is farthest from it, without noise.",
    ),
    Param::number("depth_m", "m", [0.0, 1e6, 100.0], "Depth of the sea away from land."),
    COMBINE,
    MASK,
    SHARE,
    ONE_M,
];

fn check(s: &Settings, site: &Site) -> crate::Result<()> {
    let highest = s.number("relief_m") * (1.0 + s.number("rough"));
    combine::check_heights(site, &[("relief_m", highest), ("depth_m", s.number("depth_m"))])
}

uniform! {
    /// The uniform struct of the pass.
    #[derive(Clone, Copy, Debug, Default, ShaderType)]
    struct Params {
        width: i32,
        height: i32,
        warped: u32,
        octaves: u32,
        rough: i32,
        sea: i32,
        relief: i32,
        depth: i32,
    }
}

static RISE: Kernel = Kernel {
    entry: "rise",
    reads: &["waves", "places", "survey"],
    owns: &[("height", 1)],
    adds: &[],
    cpu: rise,
};

static KNOWN: Memory<String, Vec<i32>> = Memory::empty();

/// Cells from node to node.
fn spacing(s: &Settings) -> f64 {
    s.integer("extent_cells") as f64 / f64::from(NODES - 1)
}

fn plan(s: &Settings, site: &Site) -> Plan {
    let window = &site.window;
    let extent = s.integer("extent_cells");
    let corner = ["centre_x", "centre_y"].map(|name| s.integer(name) - extent / 2);
    let feature = extent as f64 / 12.0;
    // The warp's octaves are there even if it is 0, so that those of heights have their numbers.
    let mut tables = survey::tables(
        site,
        corner,
        spacing(s),
        s.number("warp_cells").max(f64::MIN_POSITIVE),
        feature,
    );
    let count = (1..=6).take_while(|n| feature / f64::from(1 << (n - 1)) >= 1.0).count();
    tables.add(&Octaves { count, feature, lacunarity: 2.0, gain: 0.5 }, 0.0, 3, site);
    let params = Params {
        width: window.width as i32,
        height: window.height as i32,
        warped: (s.number("warp_cells") > 0.0) as u32,
        octaves: count as u32,
        rough: (s.number("rough") * f64::from(ONE)).round() as i32,
        sea: site.height_of(0.0),
        relief: site.units(s.number("relief_m")),
        depth: site.units(s.number("depth_m")),
    };
    let height = Buffer::cells("height", window, 1).kept().unset();
    let survey = Buffer::long_table("survey", (NODES * NODES) as usize, site, || {
        nodes(s, site.world.seed).to_vec()
    });
    let buffers = vec![
        height,
        Buffer::table("waves", tables.waves),
        Buffer::table("places", tables.places),
        survey,
    ];
    let plan = Plan::new(
        STAGE.shader,
        *window,
        buffers,
        vec![Pass::over(&RISE, Uniform::of(params), window)],
    );
    combine::onto_ground(plan, s, site)
}

/// The heights of the nodes, 2⁻²⁸ of the relief, and below 0 of the depth.
pub fn nodes(s: &Settings, seed: u64) -> Arc<Vec<i32>> {
    let [points, lloyd] = ["points", "lloyd"].map(|name| s.integer(name));
    let water = (s.number("water") * 65536.0).round() as u32;
    KNOWN.get(format!("{seed} {points} {lloyd} {water}"), || {
        let polygons = polygons(points as u32, lloyd, seed);
        let sea = seas(&polygons, points as usize, water, seed);
        let wet = joined(polygons.iter().map(|polygon| sea[*polygon]).collect());
        let dry: Vec<bool> = wet.iter().map(|wet| !wet).collect();
        let (to_sea, to_land) = (distances(&wet), distances(&dry));
        let farthest = to_sea.iter().copied().filter(|d| *d < FAR).max().unwrap_or(1).max(1);
        let root = |squared: i64| (squared as f64).sqrt() - 0.5;
        let shelf = f64::from(NODES - 1) / 16.0;
        let value = |i: usize| match wet[i] {
            false => root(to_sea[i]) / root(farthest).max(1.0),
            true => -root(to_land[i].min(FAR)) / shelf,
        };
        (0..wet.len())
            .map(|i| (value(i).clamp(-1.0, 1.0) * f64::from(ONE)).round() as i32)
            .collect()
    })
}

/// The polygon of each node, row by row.
pub fn polygons(points: u32, lloyd: i64, seed: u64) -> Vec<usize> {
    const PART: i64 = 256;
    let key = arith::key(seed, 30);
    let side = i64::from(NODES - 1) * PART;
    let place = |n: u32, axis: u32| (i64::from(hash(key, n, axis)) * side) >> 32;
    let mut places: Vec<[i64; 2]> = (0..points).map(|n| [place(n, 0), place(n, 1)]).collect();
    let count = (NODES * NODES) as usize;
    let at = |i: usize| [i as i64 % i64::from(NODES) * PART, i as i64 / i64::from(NODES) * PART];
    let mut nearest = vec![0; count];
    for round in 0..=lloyd {
        for (i, nearest) in nearest.iter_mut().enumerate() {
            let [x, y] = at(i);
            let away = |[px, py]: [i64; 2]| (px - x) * (px - x) + (py - y) * (py - y);
            let mut best = i64::MAX;
            for (n, place) in places.iter().enumerate() {
                let d = away(*place);
                if d < best {
                    (best, *nearest) = (d, n);
                }
            }
        }
        if round == lloyd {
            break;
        }
        let mut sums = vec![[0i64; 3]; places.len()];
        for (i, n) in nearest.iter().enumerate() {
            let [x, y] = at(i);
            sums[*n] = [sums[*n][0] + x, sums[*n][1] + y, sums[*n][2] + 1];
        }
        for (place, [x, y, count]) in places.iter_mut().zip(sums).filter(|(_, sum)| sum[2] > 0) {
            *place = [x / count, y / count];
        }
    }
    nearest
}

/// Which polygons are sea: those that reach out of the circle, and a share of the others.
fn seas(polygons: &[usize], points: usize, water: u32, seed: u64) -> Vec<bool> {
    let key = arith::key(seed, 31);
    let mut sea: Vec<bool> = (0..points).map(|n| hash(key, n as u32, 0) >> 16 < water).collect();
    let side = NODES as usize;
    for (i, polygon) in polygons.iter().enumerate() {
        // Twice the distance from the middle, in nodes.
        let [x, y] = [i % side, i / side].map(|n| 2 * n as i64 - (side as i64 - 1));
        if x * x + y * y >= (side as i64 - 1).pow(2) {
            sea[*polygon] = true;
        }
    }
    sea
}

/// The wet nodes that others join to one on the rim, which is sea.
pub fn joined(wet: Vec<bool>) -> Vec<bool> {
    let side = NODES as usize;
    let mut sea = vec![false; wet.len()];
    let rim = (0..side).flat_map(|k| [k, k * side, wet.len() - 1 - k, k * side + side - 1]);
    let mut next: Vec<usize> = rim.filter(|i| wet[*i]).collect();
    while let Some(i) = next.pop() {
        if std::mem::replace(&mut sea[i], true) {
            continue;
        }
        let (x, y) = (i % side, i / side);
        let beside = [
            (x > 0, i.wrapping_sub(1)),
            (x + 1 < side, i + 1),
            (y > 0, i.wrapping_sub(side)),
            (y + 1 < side, i + side),
        ];
        next.extend(
            beside.into_iter().filter(|(there, i)| *there && wet[*i] && !sea[*i]).map(|(_, i)| i),
        );
    }
    sea
}

/// Beyond the farthest squared distance.
const FAR: i64 = 4 * (NODES as i64) * (NODES as i64);

/// The squared distance of each node to the nearest that is `marked`.
pub fn distances(marked: &[bool]) -> Vec<i64> {
    let side = NODES as usize;
    // Down each column, then along each row.
    let mut down = vec![FAR; marked.len()];
    for x in 0..side {
        for y in 0..side {
            let near = (0..side)
                .filter(|v| marked[v * side + x])
                .map(|v| (v as i64 - y as i64).pow(2))
                .min();
            down[y * side + x] = near.unwrap_or(FAR);
        }
    }
    let mut out = vec![FAR; marked.len()];
    for (y, row) in out.chunks_exact_mut(side).enumerate() {
        let down = &down[y * side..][..side];
        for (x, out) in row.iter_mut().enumerate() {
            let near = down.iter().enumerate().map(|(u, d)| d + (u as i64 - x as i64).pow(2)).min();
            *out = near.unwrap_or(FAR).min(FAR);
        }
    }
    out
}

fn rise(call: &mut Call) {
    let p: &Params = call.params();
    let &[waves, places, survey] = call.reads else { return };
    let first = call.range.start as i32 / p.width;
    let (mut noise, mut by) = (vec![], Default::default());
    for (j, own) in call.owns[0].chunks_exact_mut(p.width as usize).enumerate() {
        rise_row(p, [waves, places], survey, first + j as i32, own, &mut noise, &mut by);
    }
}

#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn rise_row(
    p: &Params,
    tables: [&[i32]; 2],
    survey: &[i32],
    y: i32,
    own: &mut [i32],
    noise: &mut Vec<i32>,
    by: &mut [Vec<i32>; 2],
) {
    let window = [p.width, p.height];
    Surveyed { survey, lattice: [NODES, NODES], tables, warped: p.warped == 1 }
        .row(window, y, own, by);
    noise.clear();
    noise.resize(own.len(), 0);
    for n in 0..p.octaves as usize {
        add_octave(tables, window, ROUGH_FROM as usize + n, y, noise, |noise| noise);
    }
    for (own, noise) in own.iter_mut().zip(noise) {
        let value = *own;
        *own = p.sea.wrapping_add(if value < 0 {
            -mul_q28(p.depth, -value)
        } else {
            let height = mul_q28(p.relief, value);
            let rough = mul_q28(height, p.rough);
            height.wrapping_sub(rough).wrapping_add(mul_q28(rough, (*noise).clamp(0, ONE)) << 1)
        });
    }
}

fn cases() -> Vec<Case> {
    let small = |case: Case| {
        case.with("centre_x", 32)
            .with("centre_y", 30)
            .with("extent_cells", 60)
            .with("points", 40)
            .with("warp_cells", 4.0)
    };
    vec![
        small(case("default", Flat, [-3, -4], [70, 67])),
        small(case("plain", Flat, [10, 5], [41, 33]))
            .with("warp_cells", 0.0)
            .with("rough", 0.0)
            .with("lloyd", 0)
            .with("water", 0.5),
        case("far", Flat, [(1 << 60) - 70, -(1 << 60)], [50, 43])
            .with("centre_x", 1i64 << 60)
            .with("centre_y", -(1i64 << 60))
            .with("extent_cells", 1 << 20)
            .with("warp_cells", 1000.0),
    ]
}

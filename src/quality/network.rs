//! Rivers: their orders, their profiles, how long they are and how they meet.

use super::drainage::{Drainage, way};
use super::{line, quantile};
use rayon::prelude::*;
use serde::Serialize;

/// Rivers begin where a thousandth of the land drains through a cell, and at least this many cells.
const CHANNEL_CELLS: u32 = 200;
/// The slope of a river is measured over this many cells downstream, since heights are often
/// rounded to metres.
const STEPS_DOWN: usize = 8;
/// The direction from which a river comes to a junction is that of its cell this many cells above
/// the first.
const STEPS_UP: usize = 10;
/// A slope below this is that of a filled depression.
const SLOPE_MIN: f64 = 1e-5;
/// Bounds between the classes of area of the slope–area relation, and the most cells with which a
/// class is left out.
const SLOPE_AREA: (usize, usize) = (12, 20);
/// The same of Hack's law, and the smallest area, in cells.
const HACK: (usize, usize, f64) = (14, 10, 100.0);
/// Classes of area needed for a fit.
const CLASSES_MIN: usize = 4;
/// The fewest river cells of a catchment whose profiles count for θ by χ.
const PROFILE_CELLS: usize = 50;
/// Steps in which θ by χ is searched between 0 and 1.
const CHI_STEPS: usize = 200;

/// Rivers of one Strahler order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Order {
    /// How many there are.
    pub streams: u32,
    /// Their mean length down to the junction, cells.
    pub mean_length: f64,
    /// The mean area that drains through their last cells, cells.
    pub mean_area: f64,
}

/// A network of rivers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// A cell belongs to a river if at least this many cells drain through it.
    pub channel_cells: u32,
    /// Rivers by Strahler order, beginning with the first order.
    pub orders: Vec<Order>,
    /// R_B: the number of rivers of an order over that of the next order, by the line through the
    /// logarithms of the numbers of all orders. `None` if there are fewer than three orders; so are
    /// the other two ratios.
    pub bifurcation_ratio: Option<f64>,
    /// R_L: the mean length of the rivers of an order over that of the order below, in the same
    /// way.
    pub length_ratio: Option<f64>,
    /// R_A: the mean area of the rivers of an order over that of the order below, in the same way.
    pub area_ratio: Option<f64>,
    /// θ of slope ~ area⁻ᶿ along rivers. Slopes are those over the next 8 cells downstream, above
    /// 10⁻⁵; the line goes through the mean logarithms of area and the logarithms of the median
    /// slopes of up to 11 classes of area with more than 20 cells, which are equally wide in the
    /// logarithm. `None` if there are fewer than four.
    pub concavity: Option<f64>,
    /// θ by χ: that at which χ, the sum of length · area⁻ᶿ from the outlet up, explains most of the
    /// heights of rivers. Each catchment with 50 river cells or more has its own line; what they
    /// leave is summed. `None` if there is no such catchment, or if θ is not between 0 and 1.
    pub chi_concavity: Option<f64>,
    /// The h of Hack's law, length ~ areaʰ: length is that of the longest way of water to a cell.
    /// The line goes through the mean logarithms of up to 13 classes of area from 100 cells on with
    /// more than 10 cells. `None` if there are fewer than four.
    pub hack: Option<f64>,
    /// The number of places where two rivers meet of which both are more than 10 cells long.
    pub junctions: usize,
    /// The median angle between them, in degrees: between the directions to the cells 11 cells
    /// upstream along either, always into the larger tributary. `None` if there are no junctions.
    pub junction_angle: Option<f64>,
}

/// From how many cells on rivers begin on a land of `cells` cells.
pub fn channel_cells(cells: usize) -> u32 {
    CHANNEL_CELLS.max((cells / 1000) as u32)
}

/// The rivers of a land on a map `width` cells wide: cells through which at least `threshold` cells
/// drain.
pub fn network(drained: &Drainage, width: usize, threshold: u32) -> Network {
    let orders = orders(drained, width, threshold);
    let numbered = |of: &dyn Fn(&Order) -> f64| {
        let points: Vec<(f64, f64)> =
            orders.iter().enumerate().map(|(k, order)| (k as f64, of(order).ln())).collect();
        (orders.len() >= 3).then(|| line(&points)).filter(|ratio| ratio.is_finite())
    };
    let ratios =
        [numbered(&|o| o.streams.into()), numbered(&|o| o.mean_length), numbered(&|o| o.mean_area)];
    let mut angles = junctions(drained, width, threshold);
    angles.sort_by(f64::total_cmp);
    Network {
        channel_cells: threshold,
        bifurcation_ratio: ratios[0].map(|slope| (-slope).exp()),
        length_ratio: ratios[1].map(f64::exp),
        area_ratio: ratios[2].map(f64::exp),
        orders,
        concavity: concavity(drained, width, threshold),
        chi_concavity: chi_concavity(drained, width, threshold),
        hack: hack(drained, width),
        junctions: angles.len(),
        junction_angle: (!angles.is_empty()).then(|| quantile(&angles, 0.5)),
    }
}

/// Whether water leaves the land at a cell.
fn is_outlet(drained: &Drainage, cell: usize) -> bool {
    drained.receiver[cell] as usize == cell
}

/// The rivers of each Strahler order.
fn orders(drained: &Drainage, width: usize, threshold: u32) -> Vec<Order> {
    let cells = drained.area.len();
    // The order of each cell, the highest order that joins there, and the number of rivers of that
    // order.
    let (mut order, mut joins) = (vec![0u8; cells], vec![(0u8, 0u8); cells]);
    let rivers = || {
        drained.upstream.iter().rev().map(|&i| i as usize).filter(|&i| drained.area[i] >= threshold)
    };
    for i in rivers() {
        let (highest, count) = joins[i];
        // One of the highest order keeps it, and two or more make the next.
        order[i] = if count == 1 { highest } else { highest + 1 };
        let join = &mut joins[drained.receiver[i] as usize];
        if !is_outlet(drained, i) {
            match order[i].cmp(&join.0) {
                std::cmp::Ordering::Greater => *join = (order[i], 1),
                std::cmp::Ordering::Equal => join.1 += 1,
                std::cmp::Ordering::Less => {}
            }
        }
    }
    let mut found: Vec<Order> = vec![];
    for i in rivers() {
        let (mine, to) = (usize::from(order[i]), drained.receiver[i] as usize);
        found.resize(found.len().max(mine), Order::default());
        let of = &mut found[mine - 1];
        of.mean_length += way(width, i, to);
        // A river ends where water leaves the land, or where one of a higher order begins.
        if to == i || order[to] != order[i] {
            of.streams += 1;
            of.mean_area += f64::from(drained.area[i]);
        }
    }
    for of in &mut found {
        let streams = f64::from(of.streams.max(1));
        (of.mean_length, of.mean_area) = (of.mean_length / streams, of.mean_area / streams);
    }
    found
}

/// Bounds between `low` and `high`, equally far apart in the logarithm.
fn bounds(low: f64, high: f64, count: usize) -> Vec<f64> {
    let part = |k: usize| (low.ln() + (high / low).ln() * k as f64 / (count - 1) as f64).exp();
    // The ends exactly, since areas are whole numbers.
    (0..count)
        .map(|k| {
            if k == 0 {
                low
            } else if k + 1 == count {
                high
            } else {
                part(k)
            }
        })
        .collect()
}

/// For each class between two bounds that has more than `least` points: their mean logarithm of
/// area, and `of` their values.
fn classes(
    points: &[(f64, f64)],
    bounds: &[f64],
    least: usize,
    of: impl Fn(Vec<f64>) -> f64,
) -> Option<Vec<(f64, f64)>> {
    let mut classes: Vec<(f64, Vec<f64>)> = vec![(0.0, vec![]); bounds.len() - 1];
    for &(area, value) in points {
        // The class of an area begins at the last bound that is not above it.
        let class = bounds.partition_point(|bound| *bound <= area);
        if let Some((sum, values)) = class.checked_sub(1).and_then(|class| classes.get_mut(class)) {
            *sum += area.ln();
            values.push(value);
        }
    }
    let classes = classes.into_iter().filter(|(_, values)| values.len() > least);
    let found: Vec<(f64, f64)> =
        classes.map(|(sum, values)| (sum / values.len() as f64, of(values))).collect();
    (found.len() >= CLASSES_MIN).then_some(found)
}

fn concavity(drained: &Drainage, width: usize, threshold: u32) -> Option<f64> {
    let area = |i: usize| f64::from(drained.area[i]);
    let rivers: Vec<usize> = (0..drained.area.len())
        .filter(|&i| drained.area[i] >= threshold && !is_outlet(drained, i))
        .collect();
    let most = rivers.iter().map(|&i| area(i)).fold(0.0, f64::max);
    let slope = |i: usize| {
        let (mut at, mut length) = (i, 0.0);
        // An outlet is its own receiver, so there the way grows no longer.
        for _ in 0..STEPS_DOWN {
            let to = drained.receiver[at] as usize;
            length += way(width, at, to);
            at = to;
        }
        (drained.filled[i] - drained.filled[at]) / length
    };
    let points: Vec<(f64, f64)> =
        rivers.iter().map(|&i| (area(i), slope(i))).filter(|point| point.1 > SLOPE_MIN).collect();
    let (count, least) = SLOPE_AREA;
    let median = |mut slopes: Vec<f64>| {
        slopes.sort_by(f64::total_cmp);
        quantile(&slopes, 0.5).ln()
    };
    Some(-line(&classes(&points, &bounds(threshold.into(), most + 1.0, count), least, median)?))
}

/// The sum over catchments of what their lines of height against χ leave, squared.
fn left(catchments: &[Vec<(usize, f64, f64, f64)>], theta: f64) -> f64 {
    let of = |catchment: &Vec<(usize, f64, f64, f64)>| {
        let mut chi = vec![0.0; catchment.len()];
        // Receivers come first. The outlet is its own, at a distance of 0, so its χ is 0.
        for (i, &(to, length, area, _)) in catchment.iter().enumerate() {
            chi[i] = chi[to] + length * area.powf(-theta);
        }
        let n = chi.len() as f64;
        let (mean_chi, mean) =
            (chi.iter().sum::<f64>() / n, catchment.iter().map(|c| c.3).sum::<f64>() / n);
        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
            chi.iter().zip(catchment).map(|(x, c)| f(x - mean_chi, c.3 - mean)).sum()
        };
        let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
        yy - xy * xy / xx
    };
    catchments.iter().map(of).sum()
}

fn chi_concavity(drained: &Drainage, width: usize, threshold: u32) -> Option<f64> {
    // The river cells of each outlet from it up: the place of the receiver, the way there, area and
    // height.
    let mut catchments: Vec<Vec<(usize, f64, f64, f64)>> = vec![];
    let mut place = vec![(u32::MAX, 0u32); drained.area.len()];
    for i in drained.upstream.iter().map(|&i| i as usize).filter(|&i| drained.area[i] >= threshold)
    {
        let to = drained.receiver[i] as usize;
        if to == i {
            place[i] = (catchments.len() as u32, 0);
            catchments.push(vec![]);
        }
        let (catchment, at) = place[to];
        let of = &mut catchments[catchment as usize];
        place[i] = (catchment, of.len() as u32);
        of.push((at as usize, way(width, i, to), f64::from(drained.area[i]), drained.filled[i]));
    }
    catchments.retain(|catchment| catchment.len() >= PROFILE_CELLS);
    if catchments.is_empty() {
        return None;
    }
    let left: Vec<f64> = (0..=CHI_STEPS)
        .into_par_iter()
        .map(|k| left(&catchments, k as f64 / CHI_STEPS as f64))
        .collect();
    let best = (0..=CHI_STEPS).min_by(|&a, &b| left[a].total_cmp(&left[b]))?;
    (best > 0 && best < CHI_STEPS).then_some(best as f64 / CHI_STEPS as f64)
}

fn hack(drained: &Drainage, width: usize) -> Option<f64> {
    let mut length = vec![0.0f64; drained.area.len()];
    for &i in drained.upstream.iter().rev() {
        let (i, to) = (i as usize, drained.receiver[i as usize] as usize);
        if to != i {
            length[to] = length[to].max(length[i] + way(width, i, to));
        }
    }
    let inside = || (0..length.len()).filter(|&i| !is_outlet(drained, i));
    let most = inside().map(|i| f64::from(drained.area[i])).fold(0.0, f64::max);
    let (count, least, from) = HACK;
    if most <= from {
        return None;
    }
    let points: Vec<(f64, f64)> = inside()
        .map(|i| (f64::from(drained.area[i]), length[i].ln()))
        .filter(|point| point.0 >= from)
        .collect();
    Some(line(&classes(&points, &bounds(from, most, count), least, |logs| {
        logs.iter().sum::<f64>() / logs.len() as f64
    })?))
}

/// The angles at which rivers meet, in degrees.
fn junctions(drained: &Drainage, width: usize, threshold: u32) -> Vec<f64> {
    let is_river = |i: usize| drained.area[i] >= threshold;
    // Of each river cell how many others drain to it, and the two of them with the lowest numbers.
    let mut from = vec![(0u8, [u32::MAX; 2]); drained.area.len()];
    // The larger tributary, and of equal ones the first.
    let mut main = vec![u32::MAX; drained.area.len()];
    for i in (0..drained.area.len()).filter(|&i| is_river(i) && !is_outlet(drained, i)) {
        let to = drained.receiver[i] as usize;
        let (count, cells) = &mut from[to];
        if let Some(cell) = cells.get_mut(usize::from(*count)) {
            *cell = i as u32;
        }
        *count += 1;
        if main[to] == u32::MAX || drained.area[i] > drained.area[main[to] as usize] {
            main[to] = i as u32;
        }
    }
    let above = |mut cell: u32| {
        for _ in 0..STEPS_UP {
            cell = main[cell as usize];
            if cell == u32::MAX {
                return None;
            }
        }
        Some(cell as usize)
    };
    let angle = |(junction, (count, cells)): (usize, &(u8, [u32; 2]))| {
        if *count != 2 {
            return None;
        }
        let arm = |cell: usize| {
            let along =
                |of: fn(usize, usize) -> usize| of(cell, width) as f64 - of(junction, width) as f64;
            (along(|a, w| a % w), along(|a, w| a / w))
        };
        let ((ax, ay), (bx, by)) = (arm(above(cells[0])?), arm(above(cells[1])?));
        let cosine =
            (ax * bx + ay * by) / ((ax * ax + ay * ay).sqrt() * (bx * bx + by * by).sqrt());
        Some(cosine.clamp(-1.0, 1.0).acos().to_degrees())
    };
    from.iter().enumerate().filter_map(angle).collect()
}

//! Water as lines, polygons and points, from the same cells as the maps.
//!
//! Places are half cells from the middle of the north-west cell, to the east and to the south:
//! middles of cells are even, corners odd.

use super::channel::Channel;
use super::directions::{OUT, SEA, SINK, opposite};
use super::outline::{Polygon, outlines};
use super::reach::{Reach, Vertex};
use super::simplify::simplify;
use super::{RAIN, Settings, Water};

/// A lake, or the sea.
#[derive(Clone, Debug, PartialEq)]
pub struct Lake {
    /// Its number: from 1 for lakes, 0 for the sea.
    pub id: u32,
    /// The surface in metres.
    pub level_m: f32,
    /// The greatest depth in metres.
    pub depth_m: f64,
    /// Its area in m².
    pub area_m2: f64,
    /// Its water in m³.
    pub volume_m3: f64,
    /// Where its water leaves, in half cells; none for the sea, and for a lake whose water dries
    /// up.
    pub outlet: Option<[i32; 2]>,
    /// The reach that leaves it, if it is a river.
    pub reach: Option<u32>,
    /// Its outlines.
    pub polygons: Vec<Polygon>,
}

/// All that drains to one mouth.
#[derive(Clone, Debug, PartialEq)]
pub struct Basin {
    /// Its number in the map `basin`.
    pub id: u32,
    /// Its mouth, the last cell of the land, in half cells.
    pub mouth: [i32; 2],
    /// Whether it ends in the sea.
    pub to_sea: bool,
    /// Whether its water dries up in a depression; else, if it does not end in the sea, it ends at
    /// the border.
    pub is_closed: bool,
    /// Its area in m².
    pub area_m2: f64,
    /// The same weighted by the rain.
    pub drainage_m2: f64,
    /// The reach that ends there, if it is a river.
    pub reach: Option<u32>,
    /// Its outlines.
    pub polygons: Vec<Polygon>,
}

/// What a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointKind {
    /// Where a river begins on dry land.
    Spring,
    /// The last cell of a river, at the sea, at the border, or in or at a lake without an outlet.
    Mouth,
    /// The last cell of a river whose water dries up in a depression that holds none.
    Sink,
    /// The upper edge of a waterfall.
    Waterfall,
    /// Where the water of a lake leaves it.
    Outlet,
}

impl PointKind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spring => "spring",
            Self::Mouth => "mouth",
            Self::Sink => "sink",
            Self::Waterfall => "waterfall",
            Self::Outlet => "outlet",
        }
    }
}

/// A place on a river or a lake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// What it is.
    pub kind: PointKind,
    /// Where, in half cells.
    pub at: [i32; 2],
    /// The surface of the water in metres.
    pub height_m: f32,
    /// The reach that begins at a spring, ends at a mouth or a sink, has a waterfall, or leaves an
    /// outlet as a river.
    pub reach: Option<u32>,
    /// The lake of an outlet.
    pub lake: Option<u32>,
    /// How far a waterfall falls, in metres.
    pub fall_m: Option<f64>,
    /// The river there.
    pub channel: Channel,
}

/// The water of a land as lines, polygons and points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// Pieces of rivers.
    pub reaches: Vec<Reach>,
    /// The sea if there is one, and the lakes.
    pub lakes: Vec<Lake>,
    /// The basins, by their numbers.
    pub basins: Vec<Basin>,
    /// Springs, mouths, waterfalls and outlets, in this order.
    pub points: Vec<Point>,
}

impl Water {
    /// The middle of a cell in half cells.
    fn middle(&self, cell: usize) -> [i32; 2] {
        [(cell % self.size.width) as i32 * 2, (cell / self.size.width) as i32 * 2]
    }

    /// The surface in a cell in metres, as the map has it.
    fn level_m(&self, cell: usize) -> f32 {
        self.scale.height_m(f64::from(self.surface[cell])) as f32
    }

    /// The river in a cell.
    pub fn channel(&self, cell: usize) -> Channel {
        Channel::of(
            self.settings.law,
            self.discharge(cell),
            self.settings.width_m,
            self.settings.depth_m,
        )
    }

    /// The water as lines, polygons and points.
    pub fn vectors(&self) -> Vectors {
        let mut lake_of = vec![0u32; self.ground.len()];
        for (lake, id) in self.lakes.iter().zip(1..) {
            lake.cells.iter().for_each(|&cell| lake_of[cell as usize] = id);
        }
        let (mut reaches, points, reach_of) = self.reaches(&lake_of);
        let lakes = self.lake_polygons(&lake_of, &reach_of);
        let basins = self.basin_polygons(&reach_of);
        let mut points = points;
        for lake in &lakes {
            if let Some(at) = lake.outlet {
                let cell = at[1] as usize / 2 * self.size.width + at[0] as usize / 2;
                points.push(Point {
                    kind: PointKind::Outlet,
                    at,
                    height_m: self.level_m(cell),
                    reach: lake.reach,
                    lake: Some(lake.id),
                    fall_m: None,
                    channel: self.channel(cell),
                });
            }
        }
        let Settings { simplify_m, simplify_height_m, .. } = self.settings;
        if simplify_m > 0.0 {
            let half_cells = simplify_m / self.scale.spacing_m * 2.0;
            simplify(&mut reaches, half_cells, simplify_height_m.unwrap_or(simplify_m / 10.0));
        }
        Vectors { reaches, lakes, basins, points }
    }

    /// The reaches, their springs, mouths and waterfalls, and for each cell the reach that it
    /// belongs to, 0 for none.
    fn reaches(&self, lake_of: &[u32]) -> (Vec<Reach>, Vec<Point>, Vec<u32>) {
        let (size, directions) = (self.size, &self.directions);
        let orders = self.stream_order();
        let order = &orders;
        let heads = self.heads(order, lake_of);
        let mut reach_of = vec![0u32; order.len()];
        // All heads are numbered first, so that each reach ends where the next one begins.
        for (&head, id) in heads.iter().zip(1..) {
            reach_of[head] = id;
        }
        let (mut springs, mut mouths, mut falls) = (vec![], vec![], vec![]);
        let mut reaches: Vec<Reach> = Vec::with_capacity(heads.len());
        for (&head, id) in heads.iter().zip(1u32..) {
            let (cells, end, downstream) = self.trace(head, id, order, &mut reach_of);
            let last_cell = cells[cells.len() - 1];
            let next = downstream.or(size.target(last_cell, directions[last_cell]));
            let vertices = self.line(&cells, end, downstream, next);
            let (first, last) = (vertices[0], vertices[cells.len() - 1]);
            let length_m = vertices.windows(2).map(|pair| self.length(pair)).sum();
            let lake = Some(lake_of[head]).filter(|lake| *lake > 0);
            let point = |kind, vertex: Vertex, fall_m| Point {
                kind,
                at: vertex.at,
                height_m: vertex.height_m,
                reach: Some(id),
                lake: None,
                fall_m,
                channel: vertex.channel,
            };
            if lake.is_none() && self.inflows(head, order).next().is_none() {
                springs.push(point(PointKind::Spring, first, None));
            }
            if downstream.is_none() {
                // Water that comes to a lake has a mouth there, even if all of it dries up.
                let dries =
                    next.is_some_and(|next| self.directions[next] == SINK && !self.is_wet(next));
                mouths.push(point(
                    if dries { PointKind::Sink } else { PointKind::Mouth },
                    last,
                    None,
                ));
            }
            let steps = vertices.windows(2).map(|pair| (pair[0], self.length(pair), fall(pair)));
            falls.extend(
                waterfalls(steps, self.settings.waterfall_slope)
                    .into_iter()
                    .map(|(top, fall_m)| point(PointKind::Waterfall, top, Some(fall_m))),
            );
            let drainage_m2 = self.drainage_m2(last_cell);
            let downstream = downstream.map(|cell| reach_of[cell]);
            let (order, channel) = (order[head], last.channel);
            reaches.push(Reach {
                id,
                river: id,
                downstream,
                lake,
                order,
                vertices,
                length_m,
                drainage_m2,
                channel,
            });
        }
        name_rivers(&mut reaches);
        springs.extend(mouths);
        springs.extend(falls);
        (reaches, springs, reach_of)
    }

    /// The cells of rivers that flow into a cell.
    fn inflows(&self, cell: usize, order: &[i32]) -> impl Iterator<Item = usize> {
        let above = self.size.around(cell);
        above.filter(|&(d, n)| self.directions[n] == opposite(d) && order[n] > 0).map(|(_, n)| n)
    }

    /// Where reaches begin: at a source, at a confluence, and at the shore of a lake.
    fn heads(&self, order: &[i32], lake_of: &[u32]) -> Vec<usize> {
        let begins = |&cell: &usize| {
            let mut above = self.inflows(cell, order);
            order[cell] > 0
                && match (above.next(), above.next()) {
                    (Some(one), None) => lake_of[one] != lake_of[cell],
                    _ => true,
                }
        };
        (0..order.len()).filter(begins).collect()
    }

    /// The cells of a reach from its head down, where its line ends, and the cell of the reach that
    /// goes on there. Enters `id` for these cells.
    fn trace(
        &self,
        head: usize,
        id: u32,
        order: &[i32],
        reach_of: &mut [u32],
    ) -> (Vec<usize>, [i32; 2], Option<usize>) {
        let size = self.size;
        let mut cells = vec![head];
        loop {
            let at = cells[cells.len() - 1];
            match size.target(at, self.directions[at]) {
                None => return (cells, beyond(size.width, size.height, self.middle(at)), None),
                // The sea, or a lake from which nothing goes on.
                Some(to) if order[to] == 0 => return (cells, self.middle(to), None),
                Some(to) if reach_of[to] != 0 => return (cells, self.middle(to), Some(to)),
                Some(to) => {
                    reach_of[to] = id;
                    cells.push(to);
                }
            }
        }
    }

    /// The vertices of a reach, through its cells and to its end. `downstream` is the cell of the
    /// reach that goes on there, `next` the cell that its water comes to.
    fn line(
        &self,
        cells: &[usize],
        end: [i32; 2],
        downstream: Option<usize>,
        next: Option<usize>,
    ) -> Vec<Vertex> {
        let vertex = |cell: usize| Vertex {
            at: self.middle(cell),
            height_m: self.level_m(cell),
            channel: self.channel(cell),
        };
        let mut vertices: Vec<Vertex> = cells.iter().map(|&cell| vertex(cell)).collect();
        let last = vertices[vertices.len() - 1];
        // Where a rim is breached to a sea that stands higher, the line stays low.
        let height_m = next.map_or(last.height_m, |next| self.level_m(next).min(last.height_m));
        let channel = downstream.map_or(last.channel, |cell| self.channel(cell));
        vertices.push(Vertex { at: end, height_m, channel });
        vertices
    }

    /// Metres from one vertex to the next.
    fn length(&self, pair: &[Vertex]) -> f64 {
        let [x, y] = [0, 1].map(|axis| f64::from(pair[0].at[axis] - pair[1].at[axis]) / 2.0);
        let [width, height] = self.cell(pair);
        let (x, y) = (x * width, y * height);
        (x * x + y * y).sqrt() * self.scale.spacing_m
    }

    /// Width and height of a cell between two places, in cells.
    fn cell(&self, pair: &[Vertex]) -> [f64; 2] {
        // The mean of two places in half cells. One beyond the northern border counts as row 0.
        let row = (pair[0].at[1].max(0) + pair[1].at[1].max(0)) / 4;
        self.place.metric.as_ref().map_or([1.0; 2], |metric| metric.cell(row as usize))
    }

    /// The area that drains through a cell in m², weighted by the rain.
    pub(super) fn drainage_m2(&self, cell: usize) -> f64 {
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        self.rain(cell) as f64 / RAIN as f64 * cell_m2
    }

    /// Whether the water of a cell goes to one outside the land.
    fn leaves(&self, cell: usize) -> bool {
        self.size.target(cell, self.directions[cell]).is_some_and(|to| self.place.is_missing(to))
    }

    /// The lakes and the sea with their outlines.
    fn lake_polygons(&self, lake_of: &[u32], reach_of: &[u32]) -> Vec<Lake> {
        let (count, size) = (self.lakes.len(), self.size);
        let sea: Vec<u32> = (0..self.ground.len() as u32)
            .filter(|&cell| {
                self.directions[cell as usize] == SEA && !self.place.is_missing(cell as usize)
            })
            .collect();
        let mut labels: Vec<i32> = lake_of.iter().map(|&id| id as i32).collect();
        sea.iter().for_each(|&cell| labels[cell as usize] = count as i32 + 1);
        let mut polygons = outlines(size, &labels, count + 1).into_iter();
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        let deep = |words: i64| words as f64 / f64::from(crate::arith::CELL) * self.scale.spacing_m;
        let floor = self.bed.as_ref().unwrap_or(&self.ground);
        let lake = |id: u32, cells: &[u32], outlet: Option<usize>, polygons| {
            let depth = |&cell: &u32| {
                i64::from(self.surface[cell as usize]) - i64::from(floor[cell as usize])
            };
            Lake {
                id,
                level_m: self.level_m(cells[0] as usize),
                depth_m: deep(cells.iter().map(depth).max().unwrap_or(0)),
                area_m2: self.place.area(cells, size) * cell_m2,
                volume_m3: match &self.place.metric {
                    None => deep(cells.iter().map(depth).sum()) * cell_m2,
                    Some(_) => {
                        cells
                            .iter()
                            .map(|cell| deep(depth(cell)) * self.place.area(&[*cell], size))
                            .sum::<f64>()
                            * cell_m2
                    }
                },
                outlet: outlet.map(|cell| self.middle(cell)),
                reach: outlet.map(|cell| reach_of[cell]).filter(|reach| *reach > 0),
                polygons,
            }
        };
        let with_outlets = self.lakes.iter().zip(1..).zip(&mut polygons);
        let mut lakes: Vec<Lake> = with_outlets
            .map(|((full, id), polygons)| {
                lake(id, &full.cells, full.outlet.map(|cell| cell as usize), polygons)
            })
            .collect();
        // The sea has the last label, and comes first in the list.
        if !sea.is_empty() {
            lakes.insert(0, lake(0, &sea, None, polygons.next().unwrap_or_default()));
        }
        lakes
    }

    /// The basins with their outlines.
    fn basin_polygons(&self, reach_of: &[u32]) -> Vec<Basin> {
        let mouths = self.mouths();
        let basins = self.basins();
        // Where rows differ, the areas of the cells of each basin.
        let areas = self.place.metric.as_ref().map(|metric| {
            let mut areas = vec![0.0; mouths.len()];
            for (cell, basin) in basins.iter().enumerate().filter(|(_, basin)| **basin > 0) {
                areas[*basin as usize - 1] += metric.area(cell / self.size.width);
            }
            areas
        });
        let polygons = outlines(self.size, &basins, mouths.len());
        let cell_m2 = self.scale.spacing_m * self.scale.spacing_m;
        let basin = |((mouth, id), polygons): ((usize, u32), Vec<Polygon>)| Basin {
            id,
            mouth: self.middle(mouth),
            to_sea: ![OUT, SINK].contains(&self.directions[mouth]) && !self.leaves(mouth),
            is_closed: self.directions[mouth] == SINK,
            area_m2: areas
                .as_ref()
                .map_or(f64::from(self.cells[mouth]), |areas| areas[id as usize - 1])
                * cell_m2,
            drainage_m2: self.drainage_m2(mouth),
            reach: Some(reach_of[mouth]).filter(|reach| *reach > 0),
            polygons,
        };
        mouths.into_iter().zip(1..).zip(polygons).map(basin).collect()
    }
}

/// The place on the edge of the map next to the middle of a cell on its border.
fn beyond(width: usize, height: usize, [x, y]: [i32; 2]) -> [i32; 2] {
    let (east, south) = (width as i32 * 2 - 2, height as i32 * 2 - 2);
    match () {
        () if x == 0 => [-1, y],
        () if x == east => [x + 1, y],
        () if y == 0 => [x, -1],
        () if y == south => [x, y + 1],
        () => [x, y],
    }
}

/// Says of each reach which river it belongs to.
fn name_rivers(reaches: &mut [Reach]) {
    let mut above: Vec<Vec<u32>> = vec![vec![]; reaches.len()];
    for reach in reaches.iter() {
        if let Some(down) = reach.downstream {
            above[down as usize - 1].push(reach.id);
        }
    }
    let mut next: Vec<u32> =
        reaches.iter().filter(|reach| reach.downstream.is_none()).map(|reach| reach.id).collect();
    while let Some(id) = next.pop() {
        let river = reaches[id as usize - 1].river;
        let water = |id: &&u32| reaches[**id as usize - 1].drainage_m2;
        // Of equal ones the first on the map.
        let main = above[id as usize - 1]
            .iter()
            .min_by(|a, b| water(b).total_cmp(&water(a)).then(a.cmp(b)))
            .copied();
        if let Some(main) = main {
            reaches[main as usize - 1].river = river;
        }
        next.extend(&above[id as usize - 1]);
    }
}

/// Metres from one vertex down to the next.
fn fall(pair: &[Vertex]) -> f64 {
    f64::from(pair[0].height_m) - f64::from(pair[1].height_m)
}

/// Waterfalls along a line: where they begin, and how far they fall. Each of the `steps` has its
/// upper vertex, its length and its fall in metres. Steep steps that follow each other are one.
fn waterfalls(
    steps: impl Iterator<Item = (Vertex, f64, f64)>,
    waterfall_slope: f64,
) -> Vec<(Vertex, f64)> {
    let (mut found, mut top) = (vec![], None::<(Vertex, f64)>);
    for (vertex, length, fall) in steps {
        if fall > 0.0 && fall >= waterfall_slope * length {
            top = Some(top.map_or((vertex, fall), |(vertex, sum)| (vertex, sum + fall)));
        } else {
            found.extend(top.take());
        }
    }
    found.extend(top);
    found
}

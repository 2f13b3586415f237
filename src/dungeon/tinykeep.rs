//! Layouts after *TinyKeep*: many rooms are pushed apart, corridors join the large ones along a
//! spanning tree and a few more edges, and the small rooms that corridors cross become hallways.
//!
//! **Rule.** Rooms appear at random in an ellipse. A side is a least length plus the absolute value
//! of a normally distributed number, so small rooms are more likely than large ones. Rooms are
//! snapped to tiles and separated. Those with both sides over 1.25 times the mean are *main rooms*.
//! The graph consists of the minimum spanning tree of the Delaunay triangulation of their centres,
//! and of a share of the edges left out. Each edge becomes a straight or bent corridor three tiles
//! wide. Rooms that a corridor crosses become *hallways*, and cells of 1 × 1 fill what is left of
//! it. Other rooms are not used; they are only listed.
//!
//! **Separation.** Rooms steer away from each other: in each round, a room goes a short way in the
//! direction that leads out of those that it overlaps. The way is shorter the larger the room is,
//! as if its body had more mass. So large rooms are not pushed out of the crowd, and lie among the
//! small ones. Places are whole multiples of a small part of a tile, so snapping to tiles makes no
//! new overlap. After `CALM` rounds the whole layout also grows a little in each round.
//!
//! **Separation ends.** Should rooms still overlap after `ROUNDS_MAX` rounds, they are placed one
//! after another, the innermost first, and stay where they are. A room that overlaps a placed one
//! moves outwards by one tile or more at a time, on the ray from the middle through its place. All
//! placed rooms lie within some distance of the middle, and beyond that distance nothing can
//! overlap.
//!
//! **Corridors have space.** Main rooms stay five tiles or more from each other, and one or more
//! from other rooms. So around each main room, at a distance of three tiles, there is a ring that
//! comes no nearer than three tiles to any other main room. A corridor that meets a third main room
//! follows the ring of that room. Hence there is always a wall between a corridor and a room that
//! it does not enter, and every main room has doors only to the corridors of its own edges.
//!
//! Source: Phi Dinh, *Procedural Dungeon Generation Algorithm Explained*, 2013, and A. Adonaac,
//! *Procedural Dungeon Generation Algorithm*, 2015.

mod halls;
mod scatter;

use super::geometry::Rect;
use super::model::{Door, Dungeon, Edge, Grid, Role, Room, Spawn, Tally, Thing, UnusedRoom};
use super::random::{Purpose, Random};
use super::steps::{Mark, Observer, Step};
use super::tiles::{Tile, Tiles};
use super::{Generator, GeneratorKind, locks};
use crate::error::{Error, Result};
use halls::{Clearances, halls_and_doors, pieces, turns, widened};
use petgraph::algo::{dijkstra, min_spanning_tree};
use petgraph::data::Element;
use petgraph::graph::{NodeIndex, UnGraph};
use scatter::{Body, gaps, scatter_rooms, separate};
pub use scatter::{point_in_ellipse, roundm};
use serde::{Deserialize, Serialize};
use spade::{DelaunayTriangulation, Point2, Triangulation as _};

/// The most rooms.
pub const ROOMS_MAX: u32 = 4000;
/// The fewest main rooms: start, boss, treasure and shop.
pub const MAINS_MIN: u32 = 4;
/// The most tiles of a layout.
pub const TILES_MAX: u64 = 1 << 24;
/// How many times the sizes of all rooms are drawn before the generator gives up.
pub const TRIES_MAX: u32 = 64;
/// The shortest side of a room, in tiles.
pub const SIDE_MIN: i32 = 3;
/// The shortest side of a main room, in tiles: a door three tiles wide and two corners.
pub const MAIN_MIN: i32 = 5;

/// The centre line of a corridor stays more than this many tiles away from main rooms that it does
/// not join.
const CLEARANCE: i32 = 2;
/// The distance of the layout from the border of the grid, in tiles.
const MARGIN: i32 = CLEARANCE + 4;
/// The rounds of separation before the layout begins to grow.
const CALM: u32 = 512;
/// The most rounds of separation. Layouts of 4000 rooms take some 800.
const ROUNDS_MAX: u32 = 2048;
/// Once the layout grows, a room moves outwards in each round by its distance from the middle
/// divided by this.
const GROWTH: i64 = 1024;
/// The parts of a tile in which places are counted during separation.
const FINE: i32 = 1 << 16;
/// How far a room of the mean area goes in a round, as a share of its side.
const PACE: f64 = 0.025;
/// Rounds of separation from one step of an animation to the next.
const FRAME: u32 = 16;
/// √(2/π): the mean of the absolute value of a normally distributed number with deviation 1.
const FOLDED_MEAN: f64 = 0.797_884_560_802_865_4;

/// The settings of a TinyKeep layout. Lengths are in the pixels of the article and are rounded to
/// tiles of [`Settings::tile_px`] pixels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The number of rooms before separation, [`MAINS_MIN`] to [`ROOMS_MAX`].
    pub room_count: u32,
    /// The side of a tile in pixels, 1 to 64.
    pub tile_px: u32,
    /// Width and height of the ellipse in which rooms appear, 1 pixel to 4096 tiles each. `None`
    /// means an ellipse sized to fit the rooms; with equal means it is a circle.
    pub ellipse_px: Option<[f64; 2]>,
    /// The mean width and height of rooms, 3 to 64 tiles.
    pub mean_px: [f64; 2],
    /// The standard deviation of the normal distribution from which width and height are drawn. A
    /// smaller one gives more uniform rooms and corridors. The least side is the mean minus 0.8
    /// deviations, and must be 3 tiles or more.
    pub deviation_px: f64,
    /// The largest ratio of the longer side of a room to the shorter one, 1.5 to 10. No room is a
    /// square.
    pub ratio_max: f64,
    /// In main rooms both sides are longer than this factor times their mean, 0 to 4.
    pub main_factor: f64,
    /// In main rooms both sides are longer than this width and height. Replaces `main_factor`.
    pub main_px: Option<[f64; 2]>,
    /// The share of the edges outside the spanning tree that is added back, 0 to 1. Dinh uses 0.15,
    /// Adonaac 0.08 to 0.1.
    pub loops: f64,
    /// How many rooms to lock, 0 to [`super::locks::LOCKS_MAX`]. A small layout may have fewer that
    /// can be locked.
    pub locks: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            room_count: 150,
            tile_px: 4,
            ellipse_px: None,
            mean_px: [24.0, 24.0],
            deviation_px: 15.0,
            ratio_max: 1.6,
            main_factor: 1.25,
            main_px: None,
            loops: 0.15,
            locks: 2,
        }
    }
}

impl Settings {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Param`] if a setting is out of range; the message names the range. [`Error::Limit`]
    /// if the layout would be too large.
    pub fn check(&self) -> Result<()> {
        let within = |name: &str, value: f64, min: f64, max: f64, unit: &str| {
            if (min..=max).contains(&value) {
                Ok(())
            } else {
                Err(Error::param(format!("{name} = {value}: allowed {min} to {max}{unit}")))
            }
        };
        if !(MAINS_MIN..=ROOMS_MAX).contains(&self.room_count) {
            return Err(Error::param(format!(
                "room_count = {}: allowed {MAINS_MIN} to {ROOMS_MAX}; the article uses 150",
                self.room_count
            )));
        }
        within("tile_px", self.tile_px.into(), 1.0, 64.0, "")?;
        let tile = f64::from(self.tile_px);
        for (name, mean) in
            [("mean_px (width)", self.mean_px[0]), ("mean_px (height)", self.mean_px[1])]
        {
            within(
                name,
                mean,
                f64::from(SIDE_MIN) * tile,
                64.0 * tile,
                " pixels, which are 3 to 64 tiles",
            )?;
            // The least side is the mean less the mean of what is added to it.
            let most = (mean - f64::from(SIDE_MIN) * tile) / FOLDED_MEAN;
            if !(0.0..=most).contains(&self.deviation_px) {
                return Err(Error::param(format!(
                    "deviation_px = {}: allowed 0 to {:.1} with a mean of {mean} pixels, so that \
                     the least side is {SIDE_MIN} tiles",
                    self.deviation_px,
                    (most * 10.0).floor() / 10.0
                )));
            }
        }
        if let Some([width, height]) = self.ellipse_px {
            within("ellipse_px (width)", width, 1.0, 4096.0 * tile, " pixels")?;
            within(
                "ellipse_px (height)",
                height,
                1.0,
                4096.0 * tile,
                " pixels; the article's flat ellipse has 20",
            )?;
        }
        within("ratio_max", self.ratio_max, 1.5, 10.0, "")?;
        within("main_factor", self.main_factor, 0.0, 4.0, "")?;
        if let Some([width, height]) = self.main_px {
            within("main_px (width)", width, 0.0, 256.0 * tile, " pixels")?;
            within("main_px (height)", height, 0.0, 256.0 * tile, " pixels")?;
        }
        within("loops", self.loops, 0.0, 1.0, "")?;
        let [w, h] = self.mean_px.map(|mean| mean / tile + 5.0);
        let [across, down] = self.ellipse().map(|side| side / tile + 64.0);
        let tiles = (across * down).max(2.0 * w * h * f64::from(self.room_count));
        if tiles > TILES_MAX as f64 {
            return Err(Error::limit(format!(
                "the layout would have about {tiles:.0} tiles: allowed at most {TILES_MAX}; use \
                 fewer or smaller rooms, or a smaller ellipse"
            )));
        }
        locks::check(self.locks)
    }

    /// The ellipse in which rooms appear. By default it has a little less area than the rooms
    /// together; separation needs the rest.
    fn ellipse(&self) -> [f64; 2] {
        self.ellipse_px
            .unwrap_or(self.mean_px.map(|mean| mean * libm::sqrt(f64::from(self.room_count))))
    }
}

/// The edges of the graph between main rooms, and whether each was added back after the spanning
/// tree.
fn graph(
    mains: &[Rect],
    settings: &Settings,
    random: &mut Random,
    observer: &mut Observer,
    boxes: &[(Rect, Mark)],
    corner: [i32; 2],
) -> Vec<(usize, usize, bool)> {
    let mut triangulation = DelaunayTriangulation::<Point2<f64>>::new();
    for room in mains {
        // Twice the centres, which are whole numbers.
        let at =
            Point2::new(f64::from(2 * room.x + room.width), f64::from(2 * room.y + room.height));
        // Cannot fail: centres are finite.
        let _ = triangulation.insert(at);
    }
    let ends = |e: spade::handles::UndirectedEdgeHandle<_, _, _, _>| {
        // spade numbers vertices as they come, and no two rooms that lie apart have one centre.
        let [a, b] = e.vertices().map(|v| v.fix().index());
        (a.min(b), a.max(b))
    };
    let mut edges: Vec<(usize, usize)> = triangulation.undirected_edges().map(ends).collect();
    // In an order that does not depend on the library.
    edges.sort_unstable();
    let squared = |a: usize, b: usize| {
        let d = |a: i32, b: i32| i64::from(a - b).pow(2);
        let (a, b) = (mains[a], mains[b]);
        d(2 * a.x + a.width, 2 * b.x + b.width) + d(2 * a.y + a.height, 2 * b.y + b.height)
    };
    // The index of the edge breaks ties between equal lengths, so the tree is unique.
    let weighted =
        edges.iter().zip(0u32..).map(|(&(a, b), i)| (a as u32, b as u32, (squared(a, b), i)));
    let all = UnGraph::<(), (i64, u32)>::from_edges(weighted);
    let mut tree = vec![false; edges.len()];
    for element in min_spanning_tree(&all) {
        if let Element::Edge { weight: (_, i), .. } = element {
            tree[i as usize] = true;
        }
    }
    let mut left: Vec<usize> = (0..edges.len()).filter(|&i| !tree[i]).collect();
    random.shuffle(&mut left);
    let back = (settings.loops * left.len() as f64 + 0.5).floor() as usize;
    left.truncate(back);
    let chosen: Vec<_> = (0..edges.len())
        .filter(|i| tree[*i] || left.contains(i))
        .map(|i| (edges[i].0, edges[i].1, !tree[i]))
        .collect();
    if let Some(report) = &mut observer.0 {
        let at = |room: usize| {
            [mains[room].centre()[0] + corner[0], mains[room].centre()[1] + corner[1]]
        };
        let line = |a: usize, b: usize, mark| (at(a), at(b), mark);
        let mut lines: Vec<_> =
            edges.iter().map(|&(a, b)| line(a, b, Mark::Triangulation)).collect();
        report(Step { what: "triangulation", boxes: boxes.to_vec(), lines: lines.clone() });
        lines.extend(
            chosen.iter().filter(|(.., back)| !back).map(|&(a, b, _)| line(a, b, Mark::Tree)),
        );
        report(Step { what: "spanning tree", boxes: boxes.to_vec(), lines: lines.clone() });
        lines.extend(
            chosen.iter().filter(|(.., back)| *back).map(|&(a, b, _)| line(a, b, Mark::Extra)),
        );
        report(Step { what: "edges added back", boxes: boxes.to_vec(), lines });
    }
    chosen
}

pub(super) fn make(
    settings: &Settings,
    seed: u64,
    report: Option<&mut dyn FnMut(Step)>,
) -> Result<Dungeon> {
    settings.check()?;
    let floor = Generator::TinyKeep(settings.clone()).floor_seed(seed);
    let random = &mut Random::new(floor, Purpose::Layout);
    // Steps are reported at the end, when the position of the north-west corner is known.
    let mut steps = vec![];
    let mut collect = |step| steps.push(step);
    let mut observer = Observer(if report.is_some() { Some(&mut collect) } else { None });
    let mut tally = Tally::default();
    let mut bodies = scatter_rooms(settings, random, &mut tally)?;
    observer.step("rooms appear", || bodies.iter().map(|b| (b.rect, Mark::Faint)).collect());
    separate(&mut bodies, &mut observer);
    // Main rooms come first, hallways after them.
    bodies.sort_by_key(|body| !body.main);
    let shown: Vec<(Rect, Mark)> = match observer.0 {
        Some(_) => bodies.iter().map(shown).collect(),
        None => vec![],
    };

    let ([left, top], [width, height]) = bounds(&bodies)?;
    observer.step("cells of 1 x 1 fill the gaps", || {
        let rooms = bodies.iter().map(|b| (b.rect, Mark::Faint));
        rooms.chain(gaps(&bodies).into_iter().map(|cell| (cell, Mark::Cell))).collect()
    });
    observer.step("main rooms", || shown.clone());
    bodies.iter_mut().for_each(|body| body.rect = body.rect.moved([-left, -top]));
    let mains: Vec<Rect> = bodies.iter().filter(|b| b.main).map(|b| b.rect).collect();
    let edges = graph(&mains, settings, random, &mut observer, &shown, [left, top]);
    let clearances = Clearances::new(&mains, width, height);
    let mut routes: Vec<Vec<[i32; 2]>> =
        edges.iter().map(|&(a, b, _)| clearances.route(a, b, random)).collect();
    for n in 1..=routes.len() {
        observer.step("corridors", || {
            let corridors = routes[..n]
                .iter()
                .flatten()
                .map(|c| (widened(c).moved([left, top]), Mark::Corridor));
            corridors
                .chain(shown.iter().filter(|(_, mark)| *mark != Mark::Faint).copied())
                .collect()
        });
    }
    // Main rooms come first, then hallways, then the rooms that are not used.
    let pieces = pieces(&routes);
    let crossed = |body: &Body| body.main || pieces.iter().any(|piece| piece.overlaps(&body.rect));
    // A stable sort, so the numbers of main rooms in the edges stay right.
    bodies.sort_by_cached_key(|body| !crossed(body));
    let used = bodies.iter().filter(|body| crossed(body)).count();
    let marked = |body: &Body| {
        (
            body.rect.moved([left, top]),
            Mark::Role(if body.main { Role::Normal } else { Role::Hallway }),
        )
    };
    observer.step("rooms on corridors become hallways", || {
        let corridors =
            routes.iter().flatten().map(|c| (widened(c).moved([left, top]), Mark::Corridor));
        corridors.chain(bodies[..used].iter().map(marked)).collect()
    });
    observer.step("cells of 1 x 1 fill the corridors", || {
        let cells: std::collections::BTreeSet<[i32; 2]> =
            routes.iter().flatten().flat_map(|c| widened(c).cells()).collect();
        let rest = cells
            .into_iter()
            .filter(|cell| bodies[..used].iter().all(|body| !body.rect.contains(*cell)));
        let cell =
            |[x, y]: [i32; 2]| (Rect { x: x + left, y: y + top, width: 1, height: 1 }, Mark::Cell);
        bodies[..used].iter().map(marked).chain(rest.map(cell)).collect()
    });
    let [x, y] = crop(&mut bodies, &mut routes, &pieces, used);
    if let Some(report) = report {
        // Steps have the places from before the layout was moved, to the grid and to what is used.
        tell(report, steps, [-left - x, -top - y]);
    }
    Ok(build(settings, seed, floor, bodies.split_at(used), &edges, &routes, tally))
}

/// How a room is shown before it is known which are hallways.
fn shown(body: &Body) -> (Rect, Mark) {
    (body.rect, if body.main { Mark::Role(Role::Normal) } else { Mark::Faint })
}

/// The corner, and the width and height, of what holds all rooms and a margin.
fn bounds(bodies: &[Body]) -> Result<([i32; 2], [i32; 2])> {
    let low =
        |get: fn(&Rect) -> i32| bodies.iter().map(|b| get(&b.rect)).min().unwrap_or(0) - MARGIN;
    let [left, top] = [low(|r| r.x), low(|r| r.y)];
    let high =
        |get: fn(&Rect) -> i32| bodies.iter().map(|b| get(&b.rect)).max().unwrap_or(0) + MARGIN;
    let [width, height] = [high(|r| r.x + r.width) - left, high(|r| r.y + r.height) - top];
    if width as u64 * height as u64 > TILES_MAX {
        return Err(Error::limit(format!(
            "the layout has {width} x {height} tiles: allowed at most {TILES_MAX}; use fewer or \
             smaller rooms, or a smaller ellipse"
        )));
    }
    Ok(([left, top], [width, height]))
}

/// Reports steps, moved to where the dungeon is.
fn tell(report: &mut dyn FnMut(Step), steps: Vec<Step>, shift: [i32; 2]) {
    for Step { what, boxes, lines } in steps {
        let boxes = boxes.into_iter().map(|(r, mark)| (r.moved(shift), mark)).collect();
        let place = |[x, y]: [i32; 2]| [x + shift[0], y + shift[1]];
        let lines = lines.into_iter().map(|(a, b, mark)| (place(a), place(b), mark)).collect();
        report(Step { what, boxes, lines });
    }
}

/// Moves everything so that one tile of wall fits around what is used. Returns where the new
/// north-west corner was.
fn crop(
    bodies: &mut [Body],
    routes: &mut [Vec<[i32; 2]>],
    pieces: &[Rect],
    used: usize,
) -> [i32; 2] {
    let all = bodies[..used].iter().map(|b| b.rect).chain(pieces.iter().copied());
    let Some(all) = all.reduce(Rect::hull) else { return [0, 0] };
    let corner = [all.x - 1, all.y - 1];
    bodies.iter_mut().for_each(|body| body.rect = body.rect.moved([-corner[0], -corner[1]]));
    routes.iter_mut().flatten().for_each(|[x, y]| (*x, *y) = (*x - corner[0], *y - corner[1]));
    corner
}

/// Makes a dungeon of the rooms that are used and the centre lines of corridors.
fn build(
    settings: &Settings,
    seed: u64,
    floor: u64,
    (bodies, unused): (&[Body], &[Body]),
    edges: &[(usize, usize, bool)],
    routes: &[Vec<[i32; 2]>],
    tally: Tally,
) -> Dungeon {
    let all = bodies
        .iter()
        .map(|b| b.rect)
        .chain(routes.iter().flatten().map(widened))
        .reduce(Rect::hull)
        .unwrap_or_default();
    let [width, height] = [all.x + all.width + 1, all.y + all.height + 1];
    let mut owner = vec![Grid::EMPTY; (width * height) as usize];
    let index = |[x, y]: [i32; 2]| (y * width + x) as usize;
    for cell in routes.iter().flatten().flat_map(|cell| widened(cell).cells()) {
        owner[index(cell)] = Grid::CORRIDOR;
    }
    // Rooms come last, since where a corridor crosses one the cells are the room's.
    for (body, id) in bodies.iter().zip(0..) {
        body.rect.cells().for_each(|cell| owner[index(cell)] = id);
    }

    let room = |(id, &Body { rect, main }): (usize, &Body)| {
        let role = if main { Role::Normal } else { Role::Hallway };
        let (shape, cells, furniture) = (None, vec![], vec![]);
        Room {
            id: id as u32,
            role,
            rect,
            tiles: rect,
            distance: None,
            shape,
            cells,
            furniture,
            hall: None,
        }
    };
    let mut dungeon = Dungeon {
        kind: GeneratorKind::TinyKeep,
        seed,
        settings: Generator::TinyKeep(settings.clone()),
        chapter: None,
        labyrinth: false,
        rooms: bodies.iter().enumerate().map(room).collect(),
        unused: (bodies.len() as u32..)
            .zip(unused)
            .map(|(id, body)| UnusedRoom { id, rect: body.rect })
            .collect(),
        edges: vec![],
        grid: Grid {
            width: width as u32,
            height: height as u32,
            rows: owner.chunks(width as usize).map(|row| row.to_vec()).collect(),
        },
        doors: vec![],
        keys: vec![],
        critical_path: vec![],
        spawns: vec![],
        tiles: Tiles::new(width as u32, height as u32),
        tally,
    };
    halls_and_doors(&mut dungeon);
    let edge = |(edge, route): (&(usize, usize, bool), &Vec<[i32; 2]>)| {
        edge_of(&dungeon.doors, *edge, route)
    };
    dungeon.edges = edges.iter().zip(routes).map(edge).collect();
    tiles(&mut dungeon);
    let content = &mut Random::new(floor, Purpose::Content);
    roles(&mut dungeon, content);
    populate(&mut dungeon, content);
    locks::measure(&mut dungeon);
    locks::place(&mut dungeon, settings.locks, &mut Random::new(floor, Purpose::Keys));
    dungeon
}

/// An edge between two rooms, with the doors at the ends of its corridor.
fn edge_of(doors: &[Door], (a, b, extra): (usize, usize, bool), route: &[[i32; 2]]) -> Edge {
    let door = |room: usize, at: [i32; 2]| {
        let found = doors
            .iter()
            .find(|door| door.from == room as u32 && door.tiles().any(|tile| tile == at));
        found.map(|door| door.id)
    };
    Edge {
        a: a as u32,
        b: b as u32,
        length: route.len() as u32,
        extra,
        doors: [door(a, route[0]), door(b, route[route.len() - 1])].into_iter().flatten().collect(),
        path: turns(route),
    }
}

/// Fills in the tiles: floor, doors, and walls around all floor.
fn tiles(dungeon: &mut Dungeon) {
    let (width, height) = (dungeon.grid.width as i32, dungeon.grid.height as i32);
    for (y, row) in dungeon.grid.rows.iter().enumerate() {
        for (x, cell) in row.iter().enumerate() {
            let tile = match *cell {
                Grid::EMPTY => continue,
                Grid::CORRIDOR => Tile::Corridor,
                _ => Tile::Floor,
            };
            dungeon.tiles.data[y * width as usize + x] = tile;
        }
    }
    // No floor lies at the border, where the last tile is a wall.
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            if matches!(dungeon.tiles.at([x, y]), Tile::Void | Tile::Wall) {
                continue;
            }
            for (dx, dy) in [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)] {
                if dungeon.tiles.at([x + dx, y + dy]) == Tile::Void {
                    dungeon.tiles.set([x + dx, y + dy], Tile::Wall);
                }
            }
        }
    }
    for place in dungeon.doors.iter().flat_map(Door::tiles) {
        dungeon.tiles.set(place, Tile::Door);
    }
}

/// Makes the two ends of a long path start and boss. Two of the other rooms become a treasure room
/// and a shop: random dead ends, and if there are too few, the rooms that are farthest from the
/// start.
fn roles(dungeon: &mut Dungeon, random: &mut Random) {
    let graph = UnGraph::<(), u32>::from_edges(
        dungeon.edges.iter().map(|edge| (edge.a, edge.b, edge.length)),
    );
    // The main rooms other than `from`, the farthest first. All can be reached.
    let farthest = |from: u32| {
        let far = dijkstra(&graph, NodeIndex::new(from as usize), None, |e| *e.weight());
        let mut rooms: Vec<(std::cmp::Reverse<u32>, u32)> = far
            .into_iter()
            .map(|(node, far)| (std::cmp::Reverse(far), node.index() as u32))
            .filter(|(_, id)| *id != from)
            .collect();
        rooms.sort_unstable();
        rooms.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    // In a tree these two would be the ends of its longest path.
    let start = farthest(0)[0];
    let mut others = farthest(start);
    let boss = others.remove(0);
    let dead_end =
        |id: &u32| dungeon.edges.iter().filter(|e| e.a == *id || e.b == *id).count() == 1;
    let (mut special, rest): (Vec<u32>, Vec<u32>) = others.into_iter().partition(dead_end);
    random.shuffle(&mut special);
    special.extend(rest);
    let special = special.into_iter().zip([Role::Treasure, Role::Shop]);
    for (id, role) in special.chain([(start, Role::Start), (boss, Role::Boss)]) {
        dungeon.rooms[id as usize].role = role;
    }
}

/// Fills rooms according to their roles.
fn populate(dungeon: &mut Dungeon, random: &mut Random) {
    for id in 0..dungeon.rooms.len() {
        let room = &dungeon.rooms[id];
        let [x, y] = room.rect.centre();
        let at = |thing, dx| Spawn { thing, room: id as u32, x: x + dx, y, variant: 0 };
        let (things, enemies) = match room.role {
            Role::Start => (vec![at(Thing::Player, 0)], 0),
            Role::Boss => (vec![at(Thing::Boss, 0)], 0),
            Role::Treasure => (vec![at(Thing::Item, 0)], 0),
            Role::Shop => (vec![at(Thing::Ware, -1), at(Thing::Ware, 0), at(Thing::Ware, 1)], 0),
            Role::Normal => (vec![], (room.rect.width * room.rect.height / 24).clamp(1, 8)),
            _ => (vec![], 0),
        };
        dungeon.spawns.extend(things);
        for _ in 0..enemies {
            let [x, y] = locks::free_tile(dungeon, id as u32, random);
            let variant = random.chance(1, 10) as u32;
            dungeon.spawns.push(Spawn { thing: Thing::Enemy, room: id as u32, x, y, variant });
        }
    }
}

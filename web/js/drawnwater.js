// Lakes and rivers that are being drawn: the ground as the stroke makes it, roughly, until the
// service has made it exactly. Paths are in metres from the corner of the window.

/** The box of a path in cells, `far` metres wider, within the grid. */
function boxOf(path, far, { width, height, step }) {
  const ends = (k, count) => [
    Math.max(0, Math.floor((Math.min(...path.map((p) => p[k])) - far) / step)),
    Math.min(count - 1, Math.ceil((Math.max(...path.map((p) => p[k])) + far) / step)),
  ];
  const [[x0, x1], [y0, y1]] = [ends(0, width), ends(1, height)];
  return [x0, y0, x1, y1];
}

/** How far a place is from the nearest side of a path, that side's number, and the share of it. */
function nearest(path, closed, x, y) {
  let best = [Infinity, 0, 0];
  for (let i = 0; i < path.length - (closed ? 0 : 1); i++) {
    const [ax, ay] = path[i],
      [bx, by] = path[(i + 1) % path.length],
      l2 = (bx - ax) ** 2 + (by - ay) ** 2,
      t = l2 ? Math.min(Math.max(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / l2, 0), 1) : 0,
      far = Math.hypot(x - ax - (bx - ax) * t, y - ay - (by - ay) * t);
    if (far < best[0]) best = [far, i, t];
  }
  return best;
}

/** Whether a place lies within an outline. */
function isInside(path, x, y) {
  let inside = false;
  for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
    const [ax, ay] = path[i],
      [bx, by] = path[j];
    if (ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay)) inside = !inside;
  }
  return inside;
}

/** The corners of a round lake, without its bays. */
const round = ([x, y], radius) =>
  Array.from({ length: 24 }, (_, i) => {
    const turn = (i / 24) * 2 * Math.PI;
    return [x + radius * Math.cos(turn), y + radius * Math.sin(turn)];
  });

/** Draws a lake or a river from `before` into `values`; answers the box that it reaches, or null. */
export function drawWater(values, before, grid, stroke, path) {
  const isLake = stroke.tool === 'lake';
  if (isLake && path.length === 1 && stroke.radius_m) path = round(path[0], stroke.radius_m);
  if (path.length < (isLake ? 3 : 2)) return null;
  const box = boxOf(path, 0, grid),
    long = Math.max(box[2] - box[0], box[3] - box[1]) * grid.step,
    bed = isLake ? 0 : Math.max((stroke.width_m ?? 10) / 2, grid.step * 0.75),
    valley = stroke.radius_m ?? 5 * (stroke.width_m ?? 10),
    far = isLake ? (stroke.shore_m ?? long / 8) : Math.max(valley, bed),
    [x0, y0, x1, y1] = boxOf(path, far, grid);
  const heights = stroke.height_m,
    deepest = isLake ? long / 4 : 0,
    depth = stroke.depth_m ?? 10;
  for (let j = y0; j <= y1; j++)
    for (let i = x0; i <= x1; i++) {
      const k = j * grid.width + i,
        [x, y] = [i * grid.step, j * grid.step],
        [away, side, t] = nearest(path, isLake, x, y),
        h = before[k];
      if (isLake && isInside(path, x, y)) {
        const rest = 1 - Math.min(away / deepest, 1);
        values[k] = stroke.level_m - depth * (1 - rest * rest);
        continue;
      }
      if (away >= far) continue;
      const u = away / far,
        way = heights?.length === 2 ? (side + t) / (path.length - 1) : 0,
        goal = isLake
          ? stroke.level_m
          : heights.length === 2
            ? heights[0] + (heights[1] - heights[0]) * way
            : heights[side] + (heights[side + 1] - heights[side]) * t;
      values[k] = away <= bed ? goal : h + (goal - h) * (1 - u) ** 2 * (isLake ? 1 + 2 * u : 1);
    }
  return x1 < x0 || y1 < y0 ? null : [x0, y0, x1, y1];
}

/** Cells in the order of their numbers: a heap of [number, cell]. */
class Queue {
  #all = [];
  push(number, cell) {
    const all = this.#all;
    let i = all.push([number, cell]) - 1;
    while (i && all[i][0] < all[(i - 1) >> 1][0]) {
      const up = (i - 1) >> 1;
      [all[i], all[up]] = [all[up], all[i]];
      i = up;
    }
  }
  pop() {
    const all = this.#all,
      top = all[0],
      last = all.pop();
    if (!all.length) return top;
    all[0] = last;
    for (let i = 0; ;) {
      let low = i;
      for (const k of [2 * i + 1, 2 * i + 2])
        if (k < all.length && all[k][0] < all[low][0]) low = k;
      if (low === i) return top;
      [all[i], all[low]] = [all[low], all[i]];
      i = low;
    }
  }
  get length() {
    return this.#all.length;
  }
}

/**
 * The way of a lake's water out of the map, or to ground under the sea, over the lowest ground: the
 * course of a river from its shore, and heights that do not rise.
 */
export function wayOut(ground, grid, outline, level, sea = -Infinity) {
  const { width, height, step } = grid,
    from = new Int32Array(width * height).fill(-2),
    queue = new Queue();
  const [x0, y0, x1, y1] = boxOf(outline, step, grid);
  for (let y = y0; y <= y1; y++)
    for (let x = x0; x <= x1; x++)
      if (isInside(outline, x * step, y * step)) {
        from[y * width + x] = -1;
        queue.push(level, y * width + x);
      }
  while (queue.length) {
    const [high, cell] = queue.pop(),
      x = cell % width,
      y = (cell - x) / width;
    if (!x || !y || x === width - 1 || y === height - 1 || ground[cell] < sea) {
      const cells = [];
      for (let at = cell; at >= 0; at = from[at]) cells.push(at);
      cells.reverse();
      const shore = cells.findLastIndex((at) => from[at] === -1);
      let low = level;
      return cells.slice(Math.max(shore, 0)).map((at) => {
        low = Math.min(low, ground[at]);
        return [(at % width) * step, Math.floor(at / width) * step, low];
      });
    }
    for (const [dx, dy] of [
      [1, 0],
      [-1, 0],
      [0, 1],
      [0, -1],
      [1, 1],
      [1, -1],
      [-1, 1],
      [-1, -1],
    ]) {
      const next = cell + dy * width + dx;
      if (from[next] !== -2) continue;
      from[next] = cell;
      // The least rise decides, and of equal ones the shorter way.
      queue.push(Math.max(high + step * 1e-4 * Math.hypot(dx, dy), ground[next]), next);
    }
  }
  return [];
}

// Heights as arrays: levels laid on one another, and what a brush does. The rule of the brush is
// that of the stage `strokes`; here it
// is in floats and only for the eye, until the service answers with the exact land.

import { drawWater } from './drawnwater.js';
import { noiseOf } from './noise.js';

/**
 * Which samples of the land a level has: where its first one lies in the window, in metres, and how
 * far they are apart.
 */
export function frameOf(record, recipe) {
  const scale = 2 ** record.level,
    spacing = recipe.spacing_m ?? 1,
    origin = recipe.origin ?? [0, 0];
  const first = record.origin ?? origin.map((v) => Math.floor(v / scale));
  const at = first.map((v, i) => v * scale - origin[i]);
  return {
    level: record.level,
    width: record.width,
    height: record.height,
    spacing_m: record.spacing_m ?? spacing * scale,
    x_m: at[0] * spacing,
    y_m: at[1] * spacing,
    digest: record.digest ?? null,
    final: !!record.final,
    data: record.data ?? {},
  };
}

const cubic = (t) => {
  const t2 = t * t,
    t3 = t2 * t;
  return [
    (-t3 + 2 * t2 - t) / 2,
    (3 * t3 - 5 * t2 + 2) / 2,
    (-3 * t3 + 4 * t2 + t) / 2,
    (t3 - t2) / 2,
  ];
};

/** The taps of one axis: for each of `n` places the first of four samples and their weights. */
function taps(n, step, start, spacing, count) {
  const first = new Int32Array(n * 4),
    weights = new Float32Array(n * 4);
  for (let i = 0; i < n; i++) {
    const p = Math.min(Math.max((i * step - start) / spacing, 0), count - 1);
    const k = Math.min(Math.floor(p), Math.max(count - 2, 0));
    const w = cubic(p - k);
    for (let j = 0; j < 4; j++) {
      first[i * 4 + j] = Math.min(Math.max(k + j - 1, 0), count - 1);
      weights[i * 4 + j] = w[j];
    }
  }
  return [first, weights];
}

/**
 * The samples of a level on a grid of `width` × `height` places, `step` metres apart from the
 * window's north-west corner on.
 * Smooth between samples, and exactly the samples where the two grids agree.
 */
export function resample(frame, source, width, height, step) {
  if (
    frame.width === width &&
    frame.height === height &&
    Math.abs(frame.spacing_m - step) < 1e-9 &&
    frame.x_m === 0 &&
    frame.y_m === 0
  )
    return source.slice();
  const [xs, xw] = taps(width, step, frame.x_m, frame.spacing_m, frame.width);
  const [ys, yw] = taps(height, step, frame.y_m, frame.spacing_m, frame.height);
  const rows = new Float32Array(width * frame.height);
  for (let y = 0; y < frame.height; y++) {
    const from = y * frame.width,
      to = y * width;
    for (let x = 0; x < width; x++) {
      const k = x * 4;
      rows[to + x] =
        source[from + xs[k]] * xw[k] +
        source[from + xs[k + 1]] * xw[k + 1] +
        source[from + xs[k + 2]] * xw[k + 2] +
        source[from + xs[k + 3]] * xw[k + 3];
    }
  }
  const out = new Float32Array(width * height);
  for (let y = 0; y < height; y++) {
    const k = y * 4,
      a = ys[k] * width,
      b = ys[k + 1] * width,
      c = ys[k + 2] * width,
      d = ys[k + 3] * width;
    const p = yw[k],
      q = yw[k + 1],
      r = yw[k + 2],
      s = yw[k + 3],
      to = y * width;
    for (let x = 0; x < width; x++)
      out[to + x] = rows[a + x] * p + rows[b + x] * q + rows[c + x] * r + rows[d + x] * s;
  }
  return out;
}

/**
 * The land with the broad shape of a coarse level and its own detail: so valleys grow under the
 * brush, and no detail is lost from sight
 * while finer levels are on their way. `since` is what the ground has gained since the level was
 * asked for.
 */
export function reshape(shown, grid, frame, since) {
  const at = (map, i, j) => {
    const x = Math.min(Math.max((frame.x_m + i * frame.spacing_m) / grid.step, 0), grid.width - 1);
    const y = Math.min(Math.max((frame.y_m + j * frame.spacing_m) / grid.step, 0), grid.height - 1);
    const k = Math.min(Math.floor(x), grid.width - 2),
      l = Math.min(Math.floor(y), grid.height - 2),
      fx = x - k,
      fy = y - l,
      m = l * grid.width + k;
    return (
      (map[m] * (1 - fx) + map[m + 1] * fx) * (1 - fy) +
      (map[m + grid.width] * (1 - fx) + map[m + grid.width + 1] * fx) * fy
    );
  };
  const heights = frame.data.height,
    change = new Float32Array(heights.length);
  for (let j = 0, n = 0; j < frame.height; j++)
    for (let i = 0; i < frame.width; i++, n++)
      change[n] = heights[n] + (since ? at(since, i, j) : 0) - at(shown, i, j);
  const up = resample(frame, change, grid.width, grid.height, grid.step);
  for (let i = 0; i < up.length; i++) up[i] += shown[i];
  return up;
}

/** The weight of a brush at a distance, both squared and in radii. */
export function weightAt(d2, falloff) {
  const core = (1 - falloff) ** 2;
  if (d2 >= 1) return 0;
  const q = core >= 1 ? 0 : Math.min(Math.max((d2 - core) / (1 - core), 0), 1);
  return (1 - q) ** 2;
}

/** The mean of the ground around, over about a quarter of the radius. */
function softened(values, width, height, radius) {
  let from = values;
  for (let apart = 1; apart <= Math.max(1, radius / 4); apart *= 2) {
    const to = new Float32Array(from.length);
    for (let y = 0; y < height; y++) {
      const up = Math.max(y - apart, 0) * width,
        at = y * width,
        down = Math.min(y + apart, height - 1) * width;
      for (let x = 0; x < width; x++) {
        const l = Math.max(x - apart, 0),
          r = Math.min(x + apart, width - 1);
        to[at + x] =
          (from[up + l] +
            from[up + r] +
            from[down + l] +
            from[down + r] +
            2 * (from[up + x] + from[down + x] + from[at + l] + from[at + r]) +
            4 * from[at + x]) /
          16;
      }
    }
    from = to;
  }
  return from;
}

/**
 * A stroke being drawn on values: it can grow, and changes what it touches. Its path is in metres
 * from the corner of the window.
 */
export class LiveStroke {
  constructor(values, grid, stroke) {
    this.before = values.slice();
    this.values = values;
    this.grid = grid;
    this.stroke = stroke;
    this.best = new Float32Array(values.length);
    this.share = stroke.tool === 'ramp' ? new Float32Array(values.length) : null;
    this.box = [grid.width, grid.height, -1, -1];
    this.soft = null;
    this.noise = null;
    this.last = null;
    this.length = 0;
  }

  /** Draws on to a point; answers the rectangle that changed, or null. */
  to(x, y, pressure = 1) {
    // The height of a ramp is that of a piece of its path, and a point alone is none yet.
    if (this.share && !this.last) {
      this.last = [x, y, pressure];
      return null;
    }
    const { grid, stroke } = this,
      r = stroke.radius_m,
      falloff = stroke.falloff ?? 1;
    if (stroke.tool === 'stamp') return this.stamp(x, y, pressure);
    const [ax, ay, ap] = this.last ?? [x, y, pressure],
      bx = x,
      by = y;
    const long = Math.hypot(bx - ax, by - ay),
      l2 = long * long;
    const x0 = Math.max(0, Math.floor((Math.min(ax, bx) - r) / grid.step)),
      x1 = Math.min(grid.width - 1, Math.ceil((Math.max(ax, bx) + r) / grid.step));
    const y0 = Math.max(0, Math.floor((Math.min(ay, by) - r) / grid.step)),
      y1 = Math.min(grid.height - 1, Math.ceil((Math.max(ay, by) + r) / grid.step));
    for (let j = y0; j <= y1; j++)
      for (let i = x0; i <= x1; i++) {
        const px = i * grid.step - ax,
          py = j * grid.step - ay;
        const t = l2 > 0 ? Math.min(Math.max((px * (bx - ax) + py * (by - ay)) / l2, 0), 1) : 0;
        const ex = px - (bx - ax) * t,
          ey = py - (by - ay) * t;
        const w = weightAt((ex * ex + ey * ey) / (r * r), falloff) * (ap + (pressure - ap) * t),
          k = j * grid.width + i;
        if (w > this.best[k]) {
          this.best[k] = w;
          if (this.share) this.share[k] = this.length + long * t;
        }
      }
    this.length += long;
    this.last = [x, y, pressure];
    this.box = [
      Math.min(this.box[0], x0),
      Math.min(this.box[1], y0),
      Math.max(this.box[2], x1),
      Math.max(this.box[3], y1),
    ];
    if (x1 < x0 || y1 < y0) return null;
    const box = this.share ? this.box : [x0, y0, x1, y1];
    this.paint(box);
    return box;
  }

  /** Puts the picture at a point. */
  stamp(x, y, pressure) {
    const { values, grid, stroke } = this,
      layer = !!stroke.layer;
    let picture = pictures.get(pictureKey(stroke.file));
    if (!picture) return null;
    // As the service does it: with more than √2 samples to a cell the picture is halved, so that
    // none is passed over.
    let sample = (2 * stroke.radius_m) / (Math.max(picture.width, picture.height) - 1);
    while (grid.step > sample * Math.SQRT2 && Math.min(picture.width, picture.height) > 2) {
      picture = picture.coarser ??= halved(picture);
      sample *= 2;
    }
    const amount = (layer ? stroke.amount : stroke.amount_m) ?? 0,
      onto = layer ? stroke.value : stroke.height_m,
      strength = stroke.strength ?? 1,
      falloff = stroke.falloff ?? 1,
      turn = ((stroke.turn_deg ?? 0) * Math.PI) / 180,
      [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const { width, height, data } = picture,
      half = [((width - 1) / 2) * sample, ((height - 1) / 2) * sample],
      far = Math.hypot(...half);
    const x0 = Math.max(0, Math.floor((x - far) / grid.step)),
      x1 = Math.min(grid.width - 1, Math.ceil((x + far) / grid.step)),
      y0 = Math.max(0, Math.floor((y - far) / grid.step)),
      y1 = Math.min(grid.height - 1, Math.ceil((y + far) / grid.step));
    for (let j = y0; j <= y1; j++)
      for (let i = x0; i <= x1; i++) {
        const dx = i * grid.step - x,
          dy = j * grid.step - y,
          u = (dx * cos + dy * sin) / half[0],
          v = (dy * cos - dx * sin) / half[1];
        if (Math.abs(u) > 1 || Math.abs(v) > 1) continue;
        const w = pressure * weightAt(u * u, falloff) * weightAt(v * v, falloff),
          px = ((u + 1) / 2) * (width - 1),
          py = ((v + 1) / 2) * (height - 1),
          c = Math.min(Math.floor(px), width - 2),
          r = Math.min(Math.floor(py), height - 2),
          at = r * width + c,
          line = (k) => data[k] + (data[k + 1] - data[k]) * (px - c),
          s = line(at) + (line(at + width) - line(at)) * (py - r),
          k = j * grid.width + i;
        const h = values[k],
          made =
            onto === undefined ? h + w * amount * s : h + (onto + amount * s - h) * w * strength;
        values[k] = layer ? Math.min(Math.max(made, 0), 1) : made;
      }
    return x1 < x0 || y1 < y0 ? null : [x0, y0, x1, y1];
  }

  paint([x0, y0, x1, y1]) {
    const { before, values, grid, stroke, best } = this,
      layer = !!stroke.layer;
    const amount = (layer ? stroke.amount : stroke.amount_m) ?? 0,
      strength = stroke.strength ?? 1,
      goal = layer ? stroke.value : stroke.height_m;
    const [left, top] = grid.origin,
      cells = Math.round(grid.step / grid.cell);
    if (stroke.tool === 'noise')
      this.noise ??= noiseOf(stroke.seed ?? 1, stroke.feature_m / grid.cell);
    if (stroke.tool === 'smooth')
      this.soft ??= softened(before, grid.width, grid.height, stroke.radius_m / grid.step);
    for (let j = y0; j <= y1; j++)
      for (let i = x0; i <= x1; i++) {
        const k = j * grid.width + i,
          w = best[k];
        if (!w) continue;
        const h = before[k];
        let v = h;
        if (stroke.tool === 'raise') v = h + amount * w;
        else if (stroke.tool === 'lower') v = h - amount * w;
        else if (stroke.tool === 'flatten') v = h + (goal - h) * strength * w;
        else if (stroke.tool === 'ramp') {
          const t = this.length ? this.share[k] / this.length : 0;
          v = h + (goal[0] + (goal[1] - goal[0]) * t - h) * strength * w;
        } else if (stroke.tool === 'smooth') v = h + (this.soft[k] - h) * strength * w;
        else if (stroke.tool === 'noise')
          v = h + w * amount * (2 * this.noise(left + i * cells, top + j * cells) - 1);
        values[k] = layer ? Math.min(Math.max(v, 0), 1) : v;
      }
  }
}

/**
 * A picture with samples twice as far apart, means of those around, with its middle where it was.
 */
function halved({ width, height, data }) {
  const taps = (count) =>
    Array.from({ length: Math.ceil((count - 1) / 2) + 1 }, (_, at) => {
      const [first, weights] = count % 2 ? [-1, [2, 4, 2]] : [-2, [1, 3, 3, 1]];
      return weights.map((w, n) => [Math.min(Math.max(2 * at + first + n, 0), count - 1), w / 8]);
    });
  const [columns, rows] = [taps(width), taps(height)];
  const mean = (taps, of) => taps.reduce((sum, [at, w]) => sum + w * of(at), 0);
  const values = rows.flatMap((lines) =>
    columns.map((line) => mean(lines, (y) => mean(line, (x) => data[y * width + x]))),
  );
  return { width: columns.length, height: rows.length, data: Float32Array.from(values) };
}

/**
 * The pictures that stamps have, by the keys of their files: shares from 0, at the lowest sample,
 * to 1.
 */
export const pictures = new Map();
export const pictureKey = (file) => JSON.stringify(file);
export function keepPicture(file, { width, height, data }) {
  let low = Infinity,
    high = -Infinity;
  for (const v of data) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  pictures.set(pictureKey(file), {
    width,
    height,
    data: data.map((v) => (high > low ? (v - low) / (high - low) : 0)),
  });
}

/** Whether a stroke makes a lake or a river. */
export const holdsWater = (stroke) => stroke.tool === 'lake' || stroke.tool === 'river';

/** Draws whole strokes on values. */
export function drawStrokes(values, grid, strokes) {
  const offset = grid.origin.map((v) => v * grid.cell);
  for (const stroke of strokes) {
    if (holdsWater(stroke)) {
      const path = stroke.at_m.map(([x, y]) => [x - offset[0], y - offset[1]]);
      drawWater(values, values.slice(), grid, stroke, path);
      continue;
    }
    if (stroke.radius_m < grid.step) continue;
    const live = new LiveStroke(values, grid, stroke);
    const path =
      stroke.at_m.length === 1 && stroke.tool !== 'stamp'
        ? [stroke.at_m[0], stroke.at_m[0]]
        : stroke.at_m;
    for (const [x, y, pressure] of path) live.to(x - offset[0], y - offset[1], pressure ?? 1);
  }
  return values;
}

/**
 * The path with the points left out that are nearer to the line of the others than `within` metres
 * (Douglas and Peucker).
 */
export function simplified(path, within) {
  if (path.length < 3) return path;
  const keep = new Uint8Array(path.length),
    work = [[0, path.length - 1]];
  keep[0] = keep[path.length - 1] = 1;
  while (work.length) {
    const [a, b] = work.pop(),
      [ax, ay] = path[a],
      [bx, by] = path[b],
      l2 = (bx - ax) ** 2 + (by - ay) ** 2;
    let far = within,
      at = -1;
    for (let i = a + 1; i < b; i++) {
      const [x, y, p = 1] = path[i];
      const t = l2
        ? Math.min(Math.max(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / l2, 0), 1)
        : 0;
      const d =
        Math.hypot(x - ax - (bx - ax) * t, y - ay - (by - ay) * t) +
        Math.abs(p - ((path[a][2] ?? 1) + ((path[b][2] ?? 1) - (path[a][2] ?? 1)) * t)) *
          within *
          10;
      if (d > far) {
        far = d;
        at = i;
      }
    }
    if (at >= 0) {
      keep[at] = 1;
      work.push([a, at], [at, b]);
    }
  }
  return path.filter((_, i) => keep[i]);
}

/**
 * The maps of a level as the four channels that the view colours by: flow on a curve of ranks,
 * erosion and deposition as parts of what is much
 * for this land.
 */
export function fieldTexture(frame, mask) {
  const { width, height, data } = frame,
    n = width * height,
    out = new Uint8Array(n * 4);
  const rank = (values, share) => {
    const some = [];
    for (let i = 0, step = Math.max(1, Math.floor(n / 20000)); i < n; i += step)
      some.push(values[i]);
    some.sort((a, b) => a - b);
    return some[Math.min(some.length - 1, Math.floor(some.length * share))] ?? 0;
  };
  const scales = {};
  if (data.flow) {
    const low = Math.log1p(rank(data.flow, 0.5)),
      high = Math.max(Math.log1p(rank(data.flow, 0.997)), low + 1e-6);
    scales.flow = [Math.expm1(low), Math.expm1(high)];
    for (let i = 0; i < n; i++)
      out[i * 4] = 255 * Math.min(Math.max((Math.log1p(data.flow[i]) - low) / (high - low), 0), 1);
  }
  if (data.erosion && data.deposition) {
    const much = Math.max(rank(data.erosion, 0.97), rank(data.deposition, 0.97), 1e-6);
    scales.moved = much;
    for (let i = 0; i < n; i++) {
      out[i * 4 + 1] = 255 * Math.min(data.erosion[i] / much, 1);
      out[i * 4 + 2] = 255 * Math.min(data.deposition[i] / much, 1);
    }
  }
  if (mask) for (let i = 0; i < n; i++) out[i * 4 + 3] = 255 * mask[i];
  return {
    rgba: out,
    scales,
    has: { hasFlow: data.flow ? 1 : 0, hasMoved: data.erosion && data.deposition ? 1 : 0 },
  };
}

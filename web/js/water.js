// Water of a level by its exact maps: lakes as level sheets, rivers as ribbons of their width.

/** The height of land without a lake, in metres: below all land. */
const DRY = -1e9;
/** A picture of rivers has this many pixels a side at most, and this many a cell. */
const SIDE = 2048,
  PIXELS = 12;
/**
 * Most rivers are too narrow to be seen on a whole land. So the narrowest is drawn as wide as this
 * share of the land's side, wider ones a little wider, and the widest as wide as they are.
 */
const BROOK = 1 / 650,
  GROWTH = 0.33;

/** Steps of the codes of `flow_direction`, to the east and the south. */
const STEPS = new Map(
  [
    [1, 0],
    [1, 1],
    [0, 1],
    [-1, 1],
    [-1, 0],
    [-1, -1],
    [0, -1],
    [1, -1],
  ].map((step, i) => [1 << i, step]),
);

export const hasWater = ({ data }) =>
  !!(data.water_depth && data.river_width && data.flow_direction);

/**
 * For each place of a grid the level of its lake in metres. The cells round a lake have it, too:
 * the shore is where the ground comes through.
 */
export function lakesOn(frame, grid, sea) {
  const { width, height, data } = frame,
    levels = new Float32Array(width * height).fill(DRY);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      if (!(data.water_depth[i] > 0)) continue;
      const level = data.height[i] + data.water_depth[i];
      if (sea !== null && level <= sea + 0.01) continue;
      for (let v = Math.max(y - 1, 0); v <= Math.min(y + 1, height - 1); v++)
        for (let u = Math.max(x - 1, 0); u <= Math.min(x + 1, width - 1); u++) {
          const at = v * width + u;
          if (at === i || !(data.water_depth[at] > 0)) levels[at] = Math.max(levels[at], level);
        }
    }
  const out = new Float32Array(grid.width * grid.height);
  const near = (i, first, count) =>
    Math.min(Math.max(Math.round((i * grid.step - first) / frame.spacing_m), 0), count - 1);
  for (let j = 0, n = 0; j < grid.height; j++) {
    const row = near(j, frame.y_m, height) * width;
    for (let i = 0; i < grid.width; i++, n++) out[n] = levels[row + near(i, frame.x_m, width)];
  }
  return out;
}

/**
 * The rivers of a level as a picture that covers the grid: red is the ribbon, green and blue are
 * the direction of its flow, 128 for 0.
 */
export function riversOn(frame, grid) {
  const { width, height, data } = frame;
  const cells = Math.max(grid.width, grid.height) - 1,
    pixel = Math.min(SIDE / cells, (PIXELS * grid.step) / frame.spacing_m);
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(Math.round((grid.width - 1) * pixel), 1);
  canvas.height = Math.max(Math.round((grid.height - 1) * pixel), 1);
  const ink = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  ink.fillStyle = 'rgb(0,128,128)';
  ink.fillRect(0, 0, canvas.width, canvas.height);
  ink.lineCap = 'round';
  const each = (pixel * frame.spacing_m) / grid.step,
    left = (frame.x_m / grid.step) * pixel,
    top = (frame.y_m / grid.step) * pixel;
  const place = (i) => [left + (i % width) * each, top + Math.floor(i / width) * each];
  const middle = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  const isRiver = (i) => data.river_width[i] > 0;
  const target = (i) => {
    const step = STEPS.get(data.flow_direction[i]);
    return step ? i + step[1] * width + step[0] : -1;
  };
  const least = data.river_width.reduce((a, w) => (w > 0 ? Math.min(a, w) : a), Infinity);
  // Rivers that come to a cell, so that each bends through it in one sweep.
  const into = new Map();
  for (let i = 0; i < width * height; i++) {
    if (!isRiver(i) || target(i) < 0) continue;
    const to = target(i);
    into.set(to, [...(into.get(to) ?? []), i]);
  }
  // The narrow ones first: a main stream lies over the mouths of its brooks.
  const strokes = new Map();
  for (let i = 0; i < width * height; i++) {
    // In beds that are carved there is depth, too, and ribbons in lakes lie under their sheets.
    if (!isRiver(i)) continue;
    const step = STEPS.get(data.flow_direction[i]),
      at = place(i),
      to = target(i);
    const end = to < 0 ? at : isRiver(to) ? middle(at, place(to)) : place(to);
    const wide = Math.max(
      (data.river_width[i] / frame.spacing_m) * each,
      Math.max(BROOK * cells * pixel, 1) * (data.river_width[i] / least) ** GROWTH,
    );
    // Widths by steps of a fifth, so that few strokes draw all.
    const key = `${Math.round(Math.log(wide) * 5)} ${step ?? '0,0'}`;
    if (!strokes.has(key))
      strokes.set(key, {
        wide: Math.exp(Math.round(Math.log(wide) * 5) / 5),
        step,
        path: new Path2D(),
      });
    const { path } = strokes.get(key);
    const from = into.get(i) ?? [];
    for (const start of from.length ? from.map((up) => middle(place(up), at)) : [at]) {
      path.moveTo(...start);
      path.quadraticCurveTo(...at, ...end);
    }
  }
  for (const { wide, step, path } of [...strokes.values()].sort((a, b) => a.wide - b.wide)) {
    const [x, y] = (step ?? [0, 0]).map((way) => 128 + Math.round(127 * way));
    ink.strokeStyle = `rgb(255,${x},${y})`;
    ink.lineWidth = wide;
    ink.stroke(path);
  }
  return ink.getImageData(0, 0, canvas.width, canvas.height);
}

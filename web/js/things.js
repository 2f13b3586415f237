// Trees and rocks where a run has set them, as the view draws them.

/** Most things that are drawn, by a card and by software. Of more, some are left out. */
const MOST = [200_000, 20_000];
/** The largest table that is fetched for it. */
export const TABLE_BYTES = 32 << 20;

const round = (sides, low, radius, top) => {
  const at = (n) => {
    const turn = (n / sides) * 2 * Math.PI;
    return [radius * Math.cos(turn), low, radius * Math.sin(turn)];
  };
  return Array.from({ length: sides }, (_, n) => [at(n + 1), at(n), [0, top, 0]]).flat();
};

/** Eight faces about a middle that is `up` above the ground. */
const lump = (across, tall, deep, up) => {
  const out = [];
  for (const x of [-across, across])
    for (const y of [-tall, tall])
      for (const z of [-deep, deep]) out.push([x, up, 0], [0, up + y, 0], [0, up, z]);
  return out;
};

const blade = (turn) => {
  const [x, z] = [Math.cos(turn) * 0.25, Math.sin(turn) * 0.25];
  return [
    [-x, 0, -z],
    [x, 0, z],
    [x, 0.5, z],
    [-x, 0, -z],
    [x, 0.5, z],
    [-x, 0.5, -z],
  ];
};

/**
 * Corners of triangles in metres, y up, and their colours, linear: as large and as coloured as the
 * meshes of the service's files.
 */
const SHAPES = {
  tree: [
    [[0.11, 0.06, 0.03], round(4, 0, 0.22, 2.2)],
    [
      [0.02, 0.09, 0.03],
      [...round(6, 1.2, 2, 5), ...round(6, 3.6, 1.5, 8)],
    ],
  ],
  bush: [[[0.05, 0.13, 0.04], lump(1, 0.85, 1, 0.65)]],
  rock: [[[0.2, 0.19, 0.18], lump(0.9, 0.7, 0.65, 0.3)]],
  grass: [[[0.1, 0.2, 0.04], [0, 1, 2].flatMap((n) => blade((n * Math.PI) / 3))]],
};

/** The mesh of a shape: three numbers a corner for its place, and three for its colour. */
export function meshOf(shape) {
  const parts = SHAPES[shape] ?? SHAPES.tree;
  return {
    position: new Float32Array(parts.flatMap(([, corners]) => corners.flat())),
    shade: new Float32Array(parts.flatMap(([colour, corners]) => corners.flatMap(() => colour))),
  };
}

/**
 * The places of a table: share of the land's sides from the west and from the north, the factor of
 * the size, and how far it is turned clockwise, in radians. `origin` is the cell of the land's
 * first sample.
 */
export function placesOf(csv, { width, height, origin }) {
  const lines = csv.split(/\r?\n/),
    names = lines[0].split(','),
    [x, y] = ['x', 'y'].map((name) => names.indexOf(name)),
    // From the end of a line, since the name of a biome in its middle may have commas.
    [size, turn] = ['size', 'turn_deg'].map((name) => names.indexOf(name) - names.length);
  const out = [];
  for (const line of lines.slice(1)) {
    if (!line) continue;
    const words = line.split(',');
    out.push(
      (words[x] - origin[0]) / Math.max(width - 1, 1),
      (words[y] - origin[1]) / Math.max(height - 1, 1),
      Number(words.at(size)),
      (words.at(turn) * Math.PI) / 180,
    );
  }
  return new Float32Array(out);
}

/** At most as many as are drawn, of all kinds together. */
export function thinned(kinds, bySoftware) {
  const all = kinds.reduce((sum, { places }) => sum + places.length / 4, 0),
    share = MOST[bySoftware ? 1 : 0] / all;
  if (share >= 1) return kinds;
  return kinds.map(({ shape, places }) => {
    const kept = [];
    for (let i = 0; i < places.length; i += 4) {
      // The fractional part of a multiple of the golden ratio.
      if (((i / 4) * 0.6180339887) % 1 < share) kept.push(...places.subarray(i, i + 4));
    }
    return { shape, places: new Float32Array(kept) };
  });
}

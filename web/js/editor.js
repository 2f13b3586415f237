// The editor: the land that is shown, its preview, brushes and runs. The other parts are in files
// of their own, and read from here.

import * as R from './recipe.js';
import * as api from './api.js';
import { $, view } from './base.js';
import { drawWater, wayOut } from './drawnwater.js';
import { numberRow } from './forms.js';
import {
  drawStrokes,
  fieldTexture,
  frameOf,
  keepPicture,
  LiveStroke,
  holdsWater,
  pictureKey,
  pictures,
  resample,
  reshape,
  simplified,
} from './land.js';
import { placesOf, TABLE_BYTES, thinned } from './things.js';
import { hasWater, lakesOn, riversOn } from './water.js';
import { claimed, History, newId, projects, unpacked } from './store.js';
import { el, icon, said, theme, toast, words } from './ui.js';
import { tell } from './signals.js';

// What the service knows.
export let catalogue = { stages: [], fields: [], programs: [] },
  presets = [],
  examples = [];

// The project.
export let project = { id: '', name: 'land', job: null };
export let history = new History({
  schema: 2,
  seed: 1,
  width: 513,
  height: 513,
  spacing_m: 20,
  stage: [],
});
export const recipe = () => history.recipe;

/** A land that begins with a file has the file's size: asked once for each. */
const measured = new Map();
const fileOf = (r) => JSON.stringify([r.input, r.spacing_m ?? null]);
const whole = (r) => (r.input ? { ...r, ...measured.get(fileOf(r)) } : r);
async function measure(r, signal) {
  if (!r.input || measured.has(fileOf(r))) return;
  const { width, height, spacing_m } = await api.checkRecipe(
    {
      schema: r.schema,
      input: r.input,
      ...(r.spacing_m ? { spacing_m: r.spacing_m } : {}),
      stage: [{ kind: 'droplets', rain: 0 }],
    },
    signal,
  );
  measured.set(fileOf(r), { width, height, spacing_m });
}
/** Metres from one cell of the recipe to the next. */
export const cellM = () => whole(recipe()).spacing_m ?? 1;

// How it is looked at and drawn on: kept, but nothing to undo.
export const look = { overlay: 'ground', contours: false, exaggeration: 1, water: true };
export const TOOLS = [
  {
    id: 'look',
    label: 'Look',
    key: 'V',
    text: 'Drag turns, with Shift it moves, the wheel comes nearer.',
  },
  { id: 'raise', label: 'Raise', key: '1', text: 'Ctrl lowers, Shift smooths.' },
  { id: 'lower', label: 'Lower', key: '2', text: 'Ctrl raises, Shift smooths.' },
  {
    id: 'flatten',
    label: 'Flatten',
    key: '3',
    text: 'To the height where the stroke begins. Shift smooths.',
  },
  { id: 'smooth', label: 'Smooth', key: '4', text: 'Towards the mean of the ground around.' },
  {
    id: 'ramp',
    label: 'Ramp',
    key: '5',
    text: 'Drag from the foot to the top: an even slope between both heights.',
  },
  {
    id: 'noise',
    label: 'Noise',
    key: '6',
    text: 'Bumps. Ctrl turns them inside out, Shift smooths.',
  },
  {
    id: 'stamp',
    label: 'Stamp',
    key: '0',
    text: 'A click puts a picture on the land, dragging moves it. Ctrl digs it in, Shift smooths.',
  },
  {
    id: 'lake',
    label: 'Lake',
    key: 'L',
    water: true,
    text: 'Draw its shore. It stays at the height of its lowest place, and a river leaves it.',
  },
  {
    id: 'river',
    label: 'River',
    key: 'I',
    water: true,
    text: 'Draw its course from the spring to the mouth. It stays, and runs downhill.',
  },
  {
    id: 'hardness',
    label: 'Hardness',
    key: '7',
    layer: true,
    text: 'Hard rock resists water. Ctrl takes paint away.',
  },
  {
    id: 'rain',
    label: 'Rain',
    key: '8',
    layer: true,
    text: 'Where less rain falls. Ctrl lets it rain again.',
  },
  {
    id: 'vegetation',
    label: 'Vegetation',
    key: '9',
    layer: true,
    text: 'Roots hold the ground. Ctrl takes plants away.',
  },
  {
    id: 'uplift',
    label: 'Uplift',
    key: 'U',
    layer: true,
    text: 'Where the land rises while rivers cut. Ctrl takes paint away.',
  },
];
/**
 * What is measured in metres stays what was set, whatever becomes of the land: null until then, for
 * a default that suits it.
 */
const UNSET = { radius_m: null, amount_m: null, feature_m: null };
export const brush = {
  tool: 'look',
  ...UNSET,
  falloff: 0.8,
  strength: 0.7,
  paint: 0.6,
  fade: 0.3,
  turn: 0,
  picture: null,
};
export const tool = () => TOOLS.find((t) => t.id === brush.tool);
const MASK = {
  hardness: [0.85, 0.42, 0.12],
  rain: [0.1, 0.28, 0.75],
  vegetation: [0.1, 0.5, 0.16],
  uplift: [0.6, 0.25, 0.6],
};

// What is shown. `live` follows the recipe on coarse levels; `run` is a run in full size.
const sequence = () => ({ grid: null, frames: [], recipe: null, done: false });
export let live = sequence(),
  run = null,
  mode = 'live',
  job = null;
export let shown = null; // heights on the grid of what is shown
export let ground = null; // the block-out on the grid of `live`, with all strokes
export let ground0 = null; // the same without them
let sent = null; // `ground` as it was when the preview began
let mask = null; // the painted layer on the grid of `live`
export let stroke = null; // the one being drawn
let fading = null; // between two heights
export let at = 1; // place on the timeline, 0 to 1
export let problem = null;
/** How large a preview may be. A land without levels is made at once, so all of it or none. */
export const cellsOf = (r = recipe()) =>
  r.levels ? (view.software ? 288 : 576) : Math.min(Math.max(...R.sizeOf(whole(r)), 64), 1024);
export const extentOf = (grid) => [(grid.width - 1) * grid.step, (grid.height - 1) * grid.step];
export const current = () => (mode === 'run' && run ? run : live);

// ----------------------------------------------------------------------------------------- showing

function rangeOf(heights) {
  let low = Infinity,
    high = -Infinity;
  for (let i = 0; i < heights.length; i++) {
    const v = heights[i];
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return high - low < 1 ? [low - 5, low + 20] : [low, high];
}

/** Whether nearly all of the border is under the sea: then the sea goes on to the horizon. */
export function openSea(heights, { width, height }, sea) {
  if (sea === null) return false;
  let under = 0,
    all = 0;
  for (let x = 0; x < width; x++)
    for (const k of [x, (height - 1) * width + x]) {
      all++;
      if (heights[k] < sea) under++;
    }
  for (let y = 0; y < height; y++)
    for (const k of [y * width, y * width + width - 1]) {
      all++;
      if (heights[k] < sea) under++;
    }
  return under / all > 0.9;
}

function put(heights, { range = true } = {}) {
  const { grid } = current();
  shown = heights;
  view.after.setHeights(heights, grid.width, grid.height);
  const sea = R.seaOf(recipe());
  if (range) {
    view.setRange(...rangeOf(heights));
    tell('range');
    view.setLand({ extent: extentOf(grid), sea, ocean: openSea(heights, grid, sea) });
  }
  view.draw();
}

/** Shows other heights, over a moment if the device is quick. */
function turnTo(heights) {
  if (
    !shown ||
    shown.length !== heights.length ||
    view.software ||
    stroke ||
    matchMedia('(prefers-reduced-motion: reduce)').matches
  ) {
    fading = null;
    put(heights);
    return;
  }
  const from = shown.slice(),
    mixed = new Float32Array(heights.length),
    start = performance.now(),
    mine = (fading = {});
  const step = () => {
    if (fading !== mine) return;
    const t = Math.min((performance.now() - start) / 220, 1),
      k = t * t * (3 - 2 * t);
    if (t < 1) {
      for (let i = 0; i < mixed.length; i++) mixed[i] = from[i] + (heights[i] - from[i]) * k;
      put(mixed, { range: false });
      requestAnimationFrame(step);
    } else {
      fading = null;
      put(heights);
    }
  };
  step();
}

const heightsOf = (frame, grid) =>
  frame.on?.grid === grid
    ? frame.on.heights
    : (frame.on = {
        grid,
        heights: resample(frame, frame.data.height, grid.width, grid.height, grid.step),
      }).heights;

/** Weights of materials as bytes, four to a texture. */
function materialTextures({ width, height, data }) {
  return [0, 4].map((first) => {
    const rgba = new Uint8Array(width * height * 4);
    for (let channel = 0; channel < 4; channel++) {
      const weights = data[R.MATERIALS[first + channel]];
      for (let i = 0; i < weights.length; i++) rgba[i * 4 + channel] = weights[i] * 255;
    }
    return rgba;
  });
}

export let fieldsShown = null;
function showFields(frame) {
  const layer = tool()?.layer ? brush.tool : null;
  const { grid } = current();
  let painted = null;
  if (layer && mask) {
    painted =
      frame.width === live.grid.width && frame.height === live.grid.height
        ? mask
        : resample(
            { ...live.grid, spacing_m: live.grid.step, x_m: 0, y_m: 0 },
            mask,
            frame.width,
            frame.height,
            (grid.step * (grid.width - 1)) / (frame.width - 1),
          ).map((v) => Math.min(Math.max(v, 0), 1));
    if (layer === 'rain') painted = painted.map((v) => 1 - v);
  }
  const made = fieldTexture(frame, painted);
  view.after.setFields(made.rgba, frame.width, frame.height, made.has);
  if (hasWater(frame)) {
    const lakes = lakesOn(frame, grid, R.seaOf(recipe()));
    view.after.setWater(lakes, grid.width, grid.height, riversOn(frame, grid));
  } else view.after.hasWater = 0;
  view.u.uMasked.value = painted ? 1 : 0;
  if (layer) view.u.uMask.value.set(...MASK[layer]);
  if (frame.data.biome_colour) {
    const from = frame.data.biome_colour,
      rgba = new Uint8Array(from.length * 4);
    for (let i = 0; i < from.length; i++) {
      rgba[i * 4] = from[i] >> 16;
      rgba[i * 4 + 1] = from[i] >> 8;
      rgba[i * 4 + 2] = from[i];
      rgba[i * 4 + 3] = 255;
    }
    view.after.setBiome(rgba, frame.width, frame.height);
  } else view.after.hasBiome = 0;
  if (R.MATERIALS.every((name) => frame.data[name]))
    view.after.setMaterials(materialTextures(frame), frame.width, frame.height);
  else view.after.hasMaterials = 0;
  view.setThings(frame.things ?? []);
  fieldsShown = { frame, scales: made.scales };
  tell('legend');
  view.draw();
}

/** The land at a place of the timeline. */
export function scrub(t) {
  const { grid, frames } = current();
  at = t;
  if (!frames.length) return;
  const place = t * (frames.length - 1),
    i = Math.min(Math.floor(place), frames.length - 1),
    j = Math.min(i + 1, frames.length - 1),
    k = place - i;
  const a = heightsOf(frames[i], grid),
    b = heightsOf(frames[j], grid);
  if (k < 1e-6) put(a.slice(), { range: false });
  else {
    const mixed = new Float32Array(a.length);
    for (let n = 0; n < mixed.length; n++) mixed[n] = a[n] + (b[n] - a[n]) * k;
    put(mixed, { range: false });
  }
  const near = frames[Math.round(place)];
  if (fieldsShown?.frame !== near) showFields(near);
  tell('timeline');
}

const blockOut = (grid) => ({
  level: null,
  width: live.grid.width,
  height: live.grid.height,
  spacing_m: live.grid.step,
  x_m: 0,
  y_m: 0,
  digest: null,
  final: false,
  data: { height: ground.slice() },
});

function setBefore() {
  const { grid, frames } = current();
  if (!frames.length) return;
  const heights = heightsOf(frames[0], grid);
  view.before.setHeights(heights, grid.width, grid.height);
  view.before.setFields(new Uint8Array(4), 1, 1, { hasFlow: 0, hasMoved: 0 });
  view.before.hasBiome = view.before.hasWater = view.before.hasMaterials = 0;
}

export function setCompare(on) {
  view.compare = on ? 0.5 : null;
  $('split').hidden = !on;
  if (on) {
    setBefore();
    placeSplit(0.5);
    if (at < 1) scrub(1);
  }
  tell('controls');
  view.draw();
}
export function placeSplit(t) {
  view.compare = Math.min(Math.max(t, 0.02), 0.98);
  $('split').style.left = `${view.compare * 100}%`;
  $('split').setAttribute('aria-valuenow', String(Math.round(view.compare * 100)));
  view.draw();
}

// ------------------------------------------------------------------------------------ live preview

let wanted = 0,
  running = null,
  timer = 0,
  groundKey = '';

/** The recipe has changed: the preview follows as soon as the one that runs has shown something. */
export function follow() {
  wanted++;
  live.done = false;
  stale();
  if (!running) {
    clearTimeout(timer);
    timer = setTimeout(preview, stroke ? 0 : 30);
    return;
  }
  const age = performance.now() - running.since;
  if (running.levels > 0 || age > 500) {
    running.stop.abort();
    clearTimeout(timer);
    timer = setTimeout(preview, 0);
  }
}

async function preview() {
  if (running) {
    timer = setTimeout(preview, 20);
    return;
  }
  const number = wanted,
    now = drawing(recipe()),
    stop = new AbortController();
  running = { stop, since: performance.now(), levels: 0 };
  busy(true);
  try {
    await loadPictures(now, stop.signal);
    await layGround(now, stop.signal);
    const layer = tool()?.layer ? brush.tool : null,
      grid = live.grid,
      frames = [blockOut(grid)];
    live.recipe = now;
    live.done = false;
    sent = ground.slice();
    if (!shown || (mode === 'live' && shown.length !== grid.width * grid.height)) {
      fading = null;
      live.frames = frames;
      put(ground.slice());
      firstLook();
      tell('timeline');
    }
    if (R.erodes(now) || now.stage.some((s) => s.kind !== 'strokes' && !R.makes(s.kind))) {
      const options = {
        cells: Math.max(grid.width, grid.height, 64),
        fields: R.fieldsOf(now, layer),
        signal: stop.signal,
      };
      // A world without an end is made with all that its window depends on, which takes long. So
      // first comes its window as if it ended there,
      // which is near, but has other bytes.
      const near = now.endless ? { ...now, endless: undefined } : null;
      for (const of of [near, near && stroke ? null : now].filter(Boolean))
        for await (const record of api.preview(R.plain(of), options)) {
          const frame = Object.assign(
            frameOf(record, whole(now)),
            of === near ? { near: true, digest: null } : {},
          );
          const there = frames.findIndex((f) => f.near && f.level === frame.level);
          if (there >= 0) frames[there] = frame;
          else frames.push(frame);
          running.levels++;
          level(frame, frames);
          if (number !== wanted && running.levels > 0) stop.abort();
        }
    } else {
      live.frames = frames;
      if (mode === 'live' && !stroke) turnTo(ground.slice());
      showFields(frames[0]);
    }
    live.done = true;
    fail(null);
  } catch (error) {
    if (error.name !== 'AbortError') fail(error);
  } finally {
    running = null;
    busy(false);
    tell('timeline');
    if (number !== wanted) {
      clearTimeout(timer);
      timer = setTimeout(preview, 0);
    }
  }
}

/** The recipe with the stroke that is being drawn. */
function drawing(r) {
  const now = stroke && made();
  return now ? R.withStrokes(r, [...R.strokesOf(r), now]) : r;
}

/**
 * The pictures of the recipe's stamps that are not here yet, as the service has them. What it has
 * not, it says itself.
 */
async function loadPictures(r, signal) {
  const missing = new Map(
    R.strokesOf(r)
      .filter((s) => s.file?.upload && !pictures.has(pictureKey(s.file)))
      .map((s) => [pictureKey(s.file), s.file]),
  );
  for (const file of missing.values()) {
    const got = await api.samples(`v1/inputs/${file.upload}/height.r32`, signal).catch((error) => {
      if (error.name === 'AbortError') throw error;
    });
    if (got) keepPicture(file, got);
  }
  if (missing.size && ground0 && !stroke) draw();
}

/** Sends a picture, which the stamp then has. */
export async function takePicture(file) {
  try {
    const { digest, href } = await api.upload(file);
    const upload = { upload: digest };
    keepPicture(upload, await api.samples(href.replace(/^\//, '')));
    brush.picture = { file: upload, name: file.name };
    if (brush.tool === 'stamp') renderBrush();
    else setTool('stamp');
  } catch (error) {
    toast(said(error), 'bad');
  }
}

/** The land before strokes, when something of it changed; and the strokes on it. */
async function layGround(r, signal) {
  await measure(r, signal);
  const key = JSON.stringify([R.groundOf(r), cellsOf(r)]);
  if (key !== groundKey) {
    let last = null;
    for await (const record of api.preview(R.groundOf(r), {
      cells: cellsOf(r),
      fields: ['height'],
      signal,
    }))
      last = record;
    if (!last) throw new Error('The service sent no level of this land');
    const first = !groundKey,
      grid = R.gridOf({ ...whole(r), levels: 'auto' }, Math.max(last.width, last.height));
    const old = live.grid;
    live.grid = R.same(old, grid) ? old : grid;
    ground0 = resample(
      frameOf(last, whole(r)),
      last.data.height,
      grid.width,
      grid.height,
      grid.step,
    );
    groundKey = key;
    if (first || live.grid !== old) live.frames = [];
    draw();
    if (stroke) redraw();
    // Of another window nothing that is shown can stay.
    else if (old && live.grid !== old && mode === 'live' && shown?.length === ground.length) {
      live.seen = false;
      put(ground.slice());
    }
  }
}

/** All strokes of the recipe on the block-out, and on the painted layer. */
export function draw() {
  const strokes = R.strokesOf(recipe());
  ground = drawStrokes(
    ground0.slice(),
    live.grid,
    strokes.filter((s) => !s.layer),
  );
  const layer = tool()?.layer ? brush.tool : null;
  mask = layer
    ? drawStrokes(
        new Float32Array(ground.length).fill(layer === 'rain' ? 1 : 0),
        live.grid,
        strokes.filter((s) => s.layer === layer),
      )
    : null;
}

/** What the ground has gained since the preview began, for levels that do not know of it yet. */
function drift() {
  if (!sent || sent.length !== ground.length) return null;
  let any = false;
  const d = new Float32Array(ground.length);
  for (let i = 0; i < d.length; i++) {
    d[i] = ground[i] - sent[i];
    if (d[i] !== 0) any = true;
  }
  return any ? d : null;
}

function level(frame, frames) {
  if (mode !== 'live') {
    live.frames = frames.slice();
    return;
  }
  const grid = live.grid,
    d = drift();
  const whole = frame.width === grid.width && frame.height === grid.height;
  // While finer levels are on their way, what is shown keeps its detail.
  live.frames = frames.slice();
  if (at === 1) {
    let heights;
    if (whole) {
      heights = heightsOf(frame, grid).slice();
      if (d) for (let i = 0; i < d.length; i++) heights[i] += d[i];
    } else if (shown && shown.length === grid.width * grid.height && live.seen)
      heights = reshape(shown, grid, frame, d);
    else {
      heights = heightsOf(frame, grid).slice();
      live.seen = true;
    }
    turnTo(heights);
    showFields(frame);
  }
  if (frame.final) live.seen = true;
  if (view.compare !== null) setBefore();
  tell('timeline');
}

let first = true;
function firstLook() {
  if (first) {
    first = false;
    view.home();
    view.jump();
  }
}

function busy(on) {
  document.body.classList.toggle('busy', on);
  tell('badge');
}

export function fail(error) {
  problem = error;
  const host = $('problem');
  if (!host) return;
  host.hidden = !error;
  host.textContent = error ? said(error) : '';
}

// ----------------------------------------------------------------------------------------- brushes

const longest = () => (live.grid ? Math.max(...extentOf(live.grid)) : 1000);
/** No brush is narrower than the cells that it changes. */
const radiusM = () =>
  Math.max(
    brush.radius_m ??
      Math.max(rounded(longest() * 0.06), live.grid ? rounded(live.grid.step * 1.01) : 0),
    cellM() * 1.01,
  );
const featureM = () => Math.max(brush.feature_m ?? rounded(radiusM() * 0.35), cellM() * 2);
const reliefM = () => {
  const [low, high] = view.range;
  return Math.max(high - low, longest() * 0.04);
};
/** A tenth of the relief at first, and then that: strokes make the relief larger. */
const amountM = () => {
  if (brush.amount_m !== null) return brush.amount_m;
  const amount = rounded(reliefM() * 0.1);
  if (ground0) brush.amount_m = amount;
  return amount;
};
const rounded = (v) => {
  const p = 10 ** (Math.floor(Math.log10(Math.abs(v) || 1)) - 2);
  return Number((Math.round(v / p) * p).toPrecision(4));
};

/** A wider brush, or a narrower one. */
export function sized(factor) {
  brush.radius_m = rounded(
    Math.min(Math.max(radiusM() * factor, longest() * 0.004), longest() * 0.35),
  );
  renderBrush();
  ring();
}
/** A stronger brush, or a weaker one. */
export function stronger(factor) {
  const key = tool().layer ? 'paint' : HEIGHTS.includes(brush.tool) ? 'amount_m' : 'strength';
  if (key === 'amount_m') brush.amount_m = rounded(Math.max(amountM() * factor, 0.01));
  else brush[key] = rounded(Math.min(Math.max(brush[key] * factor, 0.005), 1));
  renderBrush();
}
/** How far an arrow moves the brush, as a share of the land's longer side. */
export const stride = () => (radiusM() * 0.5) / longest();
/** The tools whose strength is a height. */
const HEIGHTS = ['raise', 'lower', 'noise', 'stamp'];

/** A stroke's settings from the brush and the keys held. */
function settings(event, place) {
  const t = tool(),
    base = { radius_m: radiusM(), falloff: brush.falloff };
  if (t.id === 'lake') return { tool: 'lake', level_m: 0, depth_m: 0 };
  if (t.id === 'river')
    return { tool: 'river', height_m: [], width_m: rounded(radiusM() / 6), ...base };
  if (event.shiftKey && t.id !== 'ramp' && !t.layer)
    return { tool: 'smooth', ...base, strength: 1 };
  if (t.layer) {
    const less = (brush.tool === 'rain') !== event.ctrlKey;
    return { tool: less ? 'lower' : 'raise', layer: brush.tool, ...base, amount: brush.paint };
  }
  const amount = amountM();
  if (t.id === 'raise' || t.id === 'lower')
    return {
      tool: (t.id === 'raise') !== event.ctrlKey ? 'raise' : 'lower',
      ...base,
      amount_m: amount,
    };
  if (t.id === 'stamp') {
    const { radius_m } = base;
    return {
      tool: 'stamp',
      file: brush.picture.file,
      radius_m,
      falloff: brush.fade,
      amount_m: event.ctrlKey ? -amount : amount,
      turn_deg: brush.turn,
    };
  }
  if (t.id === 'noise')
    return {
      tool: 'noise',
      ...base,
      amount_m: event.ctrlKey ? -amount : amount,
      feature_m: featureM(),
      seed: R.strokesOf(recipe()).length,
    };
  if (t.id === 'flatten')
    return {
      tool: 'flatten',
      ...base,
      height_m: rounded(groundAt(place)),
      strength: brush.strength,
    };
  if (t.id === 'ramp')
    return {
      tool: 'ramp',
      ...base,
      height_m: [rounded(groundAt(place)), rounded(groundAt(place))],
      strength: brush.strength,
    };
  return { tool: 'smooth', ...base, strength: brush.strength };
}

function groundAt({ gx, gy }) {
  const { width, height } = live.grid;
  return ground[Math.round(gy * (height - 1)) * width + Math.round(gx * (width - 1))];
}

export function begin(event, place) {
  if (!live.grid || !ground) return;
  if (brush.tool === 'stamp' && !brush.picture && !event.shiftKey) {
    toast('Choose a picture for the stamp first');
    return;
  }
  if (mode === 'run') setMode('live');
  if (at < 1) {
    at = 1;
    scrub(1);
  }
  fading = null;
  if (live.frames.length && live.done && shown?.length !== ground.length)
    put(heightsOf(live.frames.at(-1), live.grid).slice());
  const s = settings(event, place);
  const values = s.layer
    ? (mask ??= new Float32Array(ground.length).fill(s.layer === 'rain' ? 1 : 0))
    : ground;
  stroke = {
    settings: s,
    points: [],
    values,
    old: values.slice(),
    live: new LiveStroke(values, live.grid, s),
    from: place,
  };
  extend(event, place, event.pressure);
}

export function extend(event, place, pressure) {
  const p = event.pointerType === 'pen' ? Math.max(rounded(pressure || 0.5), 0.02) : 1;
  const x = place.gx * extentOf(live.grid)[0],
    y = place.gy * extentOf(live.grid)[1],
    s = stroke.settings;
  if (s.tool === 'ramp') {
    s.height_m = [
      s.height_m[0],
      rounded(
        stroke.old[
          Math.round(place.gy * (live.grid.height - 1)) * live.grid.width +
            Math.round(place.gx * (live.grid.width - 1))
        ],
      ),
    ];
    stroke.points = [
      [stroke.from.gx * extentOf(live.grid)[0], stroke.from.gy * extentOf(live.grid)[1], 1],
      [x, y, 1],
    ];
    redraw();
  } else if (s.tool === 'stamp') {
    stroke.points = [[x, y, p]];
    redraw();
  } else if (holdsWater(s)) {
    stroke.points.push([x, y, 1]);
    levelled();
    redraw();
  } else {
    const last = stroke.points.at(-1);
    if (last && Math.hypot(last[0] - x, last[1] - y) < s.radius_m * 0.04) return;
    stroke.points.push([x, y, p]);
    changed(stroke.live.to(x, y, p));
  }
  follow();
}

/** The ground before the stroke at a place of its path, in metres. */
const groundBefore = ([x, y]) => {
  const { width, height, step } = live.grid,
    cell = (metres, count) => Math.min(Math.max(Math.round(metres / step), 0), count - 1);
  return stroke.old[cell(y, height) * width + cell(x, width)];
};

/** The path of a lake or a river as the recipe has it, and the heights that follow from it. */
function levelled() {
  const s = stroke.settings;
  stroke.path = simplified(stroke.points, longest() * 0.006);
  const heights = stroke.path.map(groundBefore),
    lowest = Math.min(...heights);
  if (s.tool === 'lake') {
    const size = (k) => {
      const all = stroke.path.map((point) => point[k]);
      return Math.max(...all) - Math.min(...all);
    };
    s.level_m = rounded(lowest);
    s.depth_m = rounded(Math.max(Math.max(size(0), size(1)) * 0.03, 0.1));
    return;
  }
  // A river that was drawn uphill is turned round.
  if (heights.at(-1) > heights[0]) {
    stroke.path.reverse();
    heights.reverse();
  }
  let low = Infinity;
  s.height_m = heights.map((h) => (low = Math.min(low, Math.round(h * 100) / 100)));
}

/** Draws the current stroke anew, on a ground that changed or with another path. */
function redraw() {
  const s = stroke,
    values = s.settings.layer ? mask : ground;
  if (s.old.length === values.length) {
    const before = values.slice();
    values.set(s.old);
    s.live = new LiveStroke(values, live.grid, s.settings);
    if (holdsWater(s.settings)) drawWater(values, s.old, live.grid, s.settings, s.path);
    else for (const [x, y, p] of s.points) s.live.to(x, y, p);
    if (!s.settings.layer) lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
    else showFields(current().frames.at(-1) ?? blockOut(live.grid));
  } else {
    s.values = values;
    s.old = values.slice();
    s.live = new LiveStroke(values, live.grid, s.settings);
    for (const [x, y, p] of s.points) s.live.to(x, y, p);
  }
}

let was = null;
function changed(box) {
  if (!box) return;
  if (stroke.settings.layer) {
    showFields(fieldsShown?.frame ?? blockOut(live.grid));
    return;
  }
  was ??= stroke.old.slice();
  if (was.length !== ground.length) was = stroke.old.slice();
  lift(was, box);
  const { width } = live.grid;
  for (let j = box[1]; j <= box[3]; j++)
    was.set(ground.subarray(j * width + box[0], j * width + box[2] + 1), j * width + box[0]);
}

/** What is shown rises as the block-out does. */
export function lift(before, [x0, y0, x1, y1]) {
  if (!shown || shown.length !== ground.length) return;
  const { width } = live.grid;
  for (let j = y0; j <= y1; j++)
    for (let i = x0, k = j * width + x0; i <= x1; i++, k++) shown[k] += ground[k] - before[k];
  view.after.setHeights(shown, live.grid.width, live.grid.height);
  view.draw();
}

/** Whether a lake or a river is long enough to be one. */
function isWhole() {
  const { path, settings } = stroke,
    size = (k) => Math.max(...path.map((p) => p[k])) - Math.min(...path.map((p) => p[k]));
  return (
    path.length > (settings.tool === 'lake' ? 2 : 1) && Math.max(size(0), size(1)) > 8 * cellM()
  );
}

/** The river that leaves the lake that was drawn, by the lowest way out of the land. */
function outflow() {
  const { path, settings, old } = stroke,
    way = wayOut(old, live.grid, path, settings.level_m, R.seaOf(recipe()) ?? undefined);
  if (way.length < 2) return [];
  const [a, b] = way.slice(-2),
    beyond = (recipe().margin_cells ?? 0) * cellM() + live.grid.step;
  // On through the margin, where the land has one.
  way.push([b[0] + Math.sign(b[0] - a[0]) * beyond, b[1] + Math.sign(b[1] - a[1]) * beyond, b[2]]);
  const course = simplified(
      way.map(([x, y, z]) => [x, y, 1, z]),
      longest() * 0.006,
    ),
    [ox, oy] = live.grid.origin.map((v) => v * live.grid.cell),
    round = (v, digits) => Math.round(v * digits) / digits;
  return [
    {
      tool: 'river',
      at_m: course.map(([x, y]) => [round(x + ox, 10), round(y + oy, 10)]),
      height_m: course.map(([, , , z]) => round(z, 100)),
      width_m: rounded(longest() * 0.004),
      radius_m: rounded(longest() * 0.03),
    },
  ];
}

/** The stroke as the recipe has it. */
function made() {
  const isWater = stroke && holdsWater(stroke.settings);
  if (!stroke?.points.length || (isWater && !isWhole())) return null;
  const [ox, oy] = live.grid.origin.map((v) => v * live.grid.cell),
    tenth = (v) => Math.round(v * 10) / 10;
  if (isWater) {
    const at_m = stroke.path.map(([x, y]) => [tenth(x + ox), tenth(y + oy)]);
    return { ...stroke.settings, at_m };
  }
  const path =
    stroke.settings.tool === 'ramp'
      ? stroke.points
      : simplified(stroke.points, stroke.settings.radius_m * 0.025);
  return {
    ...stroke.settings,
    at_m: path.map(([x, y, p]) =>
      p === 1 ? [tenth(x + ox), tenth(y + oy)] : [tenth(x + ox), tenth(y + oy), p],
    ),
  };
}

export function end() {
  if (!stroke) return;
  const now = made(),
    more = now?.tool === 'lake' ? outflow() : [];
  const label = stroke.settings.layer ? words(stroke.settings.layer) : words(stroke.settings.tool);
  stroke = null;
  was = null;
  if (!now) return;
  const drawn = R.withStrokes(recipe(), [...R.strokesOf(recipe()), now, ...more]);
  // What was drawn as water is to be seen.
  history.push(holdsWater(now) && !drawn.water ? R.withWater(drawn) : drawn, label);
  const before = ground;
  draw();
  lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  follow();
  tell('kept');
  tell('panel');
  tell('controls');
}

export function setTool(id) {
  brush.tool = id;
  $('view').classList.toggle('brushing', id !== 'look');
  for (const b of $('tools').querySelectorAll('button'))
    b.setAttribute('aria-pressed', String(b.dataset.tool === id));
  renderBrush();
  if (ground0) {
    draw();
    if (current().frames.length) showFields(fieldsShown?.frame ?? current().frames.at(-1));
  }
  ring(null);
}

function renderBrush() {
  const t = tool(),
    host = $('brush');
  host.hidden = t.id === 'look';
  if (host.hidden) return;
  const metres = (id, label, value, low, high, key, text) =>
    numberRow({
      id: `brush-${id}`,
      label,
      sub: 'm',
      value,
      low,
      high,
      text,
      oninput: (v) => {
        brush[key] = v;
        ring();
      },
    });
  const share = (id, label, key, high, text) =>
    numberRow({
      id: `brush-${id}`,
      label,
      value: brush[key],
      low: 0,
      high,
      min: 0,
      max: high,
      text,
      oninput: (v) => {
        brush[key] = Math.min(Math.max(v, 0), high);
        ring();
      },
    });
  const side = longest(),
    relief = reliefM();
  if (t.id === 'lake') {
    host.replaceChildren(el('h2', {}, t.label, el('kbd', {}, t.key)), el('p', {}, t.text));
    return;
  }
  const rows = [
    metres(
      'size',
      'Size',
      radiusM(),
      rounded(side * 0.004),
      rounded(side * 0.35),
      'radius_m',
      'Radius in metres: [ and ]',
    ),
  ];
  if (t.id === 'stamp') {
    const pick = el('input', {
      type: 'file',
      hidden: true,
      id: 'brush-picture',
      onchange: (e) => e.target.files[0] && takePicture(e.target.files[0]),
    });
    const choose = el(
      'button.button',
      {
        type: 'button',
        title: 'A height map or a picture: PNG, TIFF, EXR, NPY, JPEG. Or drop it on the page.',
        onclick: () => pick.click(),
      },
      icon('image'),
      brush.picture?.name ?? 'A picture …',
    );
    rows.unshift(choose, pick);
  }
  if (HEIGHTS.includes(t.id))
    rows.push(
      metres(
        'amount',
        'Height',
        amountM(),
        rounded(relief * 0.005),
        rounded(relief * 0.5),
        'amount_m',
        'Metres at full pressure: - and =',
      ),
    );
  else if (t.layer) rows.push(share('paint', 'Amount', 'paint', 1, '- and ='));
  else if (!t.water) rows.push(share('strength', 'Strength', 'strength', 1, '- and ='));
  rows.push(
    share(
      'falloff',
      'Falloff',
      t.id === 'stamp' ? 'fade' : 'falloff',
      1,
      'Share of the radius over which the brush fades',
    ),
  );
  if (t.id === 'stamp') rows.push(share('turn', 'Turn', 'turn', 360, 'Degrees clockwise'));
  if (t.id === 'noise') {
    const radius = radiusM();
    rows.push(
      metres(
        'feature',
        'Bumps',
        featureM(),
        rounded(radius * 0.05),
        radius,
        'feature_m',
        'Size of the bumps in metres',
      ),
    );
  }
  host.replaceChildren(el('h2', {}, t.label, el('kbd', {}, t.key)), ...rows, el('p', {}, t.text));
}

export let hover = null;
export function ring(place = hover) {
  hover = place;
  const u = view.u.uBrush.value;
  if (!place || brush.tool === 'look') {
    if (u.z) {
      u.z = 0;
      view.draw();
    }
    return;
  }
  const e = view.u.uExtent.value;
  u.set(
    (place.gx - 0.5) * e.x,
    (place.gy - 0.5) * e.y,
    radiusM() * view.metre,
    brush.tool === 'stamp' ? brush.fade : brush.falloff,
  );
  view.u.uBrushColour.value.set(
    ...(tool().layer ? MASK[brush.tool].map((v) => v * 1.5 + 0.25) : [1, 1, 1]),
  );
  view.draw();
}

export function cancelStroke() {
  if (!stroke) return;
  stroke = null;
  was = null;
  const before = ground;
  draw();
  lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  follow();
}

// ---------------------------------------------------------------------------------------- simulate

let unfollow = null;
export async function simulate() {
  if (job && ['queued', 'running'].includes(job.state)) return cancel();
  end();
  const now = recipe();
  try {
    job = await api.startJob(now);
    take(job, now);
    tell('kept');
  } catch (error) {
    job = null;
    fail(error);
    toast(said(error), 'bad');
  }
  tell('controls');
}

export async function cancel() {
  if (!job) return;
  try {
    job = await api.cancelJob(job.id);
  } catch (error) {
    toast(said(error), 'bad');
  }
  unfollow?.();
  toast('Simulation cancelled');
  if (run && !run.done) {
    run = null;
    setMode('live');
  }
  tell('controls');
}

/** Follows a job: its levels are shown as they come. */
function take(started, of) {
  unfollow?.();
  project.job = started.id;
  const mine = (run = {
    grid: live.grid,
    frames: [],
    recipe: of,
    done: false,
    checked: 0,
    equal: 0,
    id: started.id,
  });
  if (live.grid) {
    mine.frames.push(blockOut(live.grid));
  }
  const seen = new Set();
  const onlevel = async (l) => {
    if (seen.has(l.level) || run !== mine) return;
    seen.add(l.level);
    if (Math.max(l.width, l.height) > 2100) return;
    try {
      const got = await api.samples(l.href);
      const frame = frameOf(
        { ...l, width: l.width, height: l.height, data: { height: got.data } },
        whole(of),
      );
      mine.frames.push(frame);
      mine.frames.sort((a, b) => (b.level ?? 99) - (a.level ?? 99));
      verify(frame, mine);
      // Finer than the preview: what the run has made so far is shown.
      if (
        run === mine &&
        !mine.done &&
        !stroke &&
        live.grid &&
        frame.width > live.grid.width &&
        R.same(recipe(), of)
      ) {
        mine.grid = { width: frame.width, height: frame.height, step: frame.spacing_m };
        setMode('run');
      }
      tell('timeline');
    } catch (error) {
      if (!mine.done) toast(said(error), 'bad');
    }
  };
  const onend = async (j) => {
    if (run !== mine) return;
    job = j;
    tell('controls');
    if (j.state === 'failed') {
      fail(new api.Problem(j.error ?? {}, 0));
      toast(said(new api.Problem(j.error ?? {}, 0)), 'bad');
      run = null;
      setMode('live');
      return;
    }
    if (j.state !== 'succeeded') return;
    for (const l of j.levels ?? []) await onlevel(l);
    await result(j, mine);
  };
  unfollow = api.follow(started.id, {
    job: (j) => {
      job = j;
      tell('controls');
    },
    progress: (p) => {
      job.progress = p;
      if (job.state === 'queued') job.state = 'running';
      tell('controls');
    },
    waiting: (on) => {
      mine.waiting = on;
      tell('controls');
    },
    level: onlevel,
    end: onend,
    lost: async () => {
      try {
        const j = await api.json(`v1/jobs/${started.id}`);
        onend(j);
      } catch (error) {
        toast(said(error), 'bad');
      }
    },
  });
  for (const l of started.levels ?? []) onlevel(l);
}

/** Holds a level of the run against the same one of the preview. */
function verify(frame, mine) {
  if (!R.same(mine.recipe, live.recipe)) return;
  const other = live.frames.find((f) => f.level === frame.level && f.level !== null && !f.near);
  if (!other) return;
  const a = new Uint32Array(frame.data.height.buffer),
    b = new Uint32Array(other.data.height.buffer);
  mine.checked++;
  if (a.length === b.length && a.every((v, i) => v === b[i])) mine.equal++;
  tell('badge');
}

/** Trees and rocks of a result, as far as their tables are there and not too large. */
async function showThings(r, mine, frame) {
  const made = mine.recipe,
    kinds = [];
  for (const { name, shape, formats } of made?.scatter ?? []) {
    if (formats && !formats.includes('csv')) continue;
    try {
      const csv = await api.text(`v1/results/${r.digest}/scatter_${name}.csv`, TABLE_BYTES);
      if (run !== mine) return;
      if (csv === null) toast(`There are too many ${name} to draw`);
      else
        kinds.push({
          shape: shape ?? 'tree',
          places: placesOf(csv, { ...r, origin: made.origin ?? [0, 0] }),
        });
    } catch (error) {
      toast(`${name}: ${said(error)}`, 'bad');
    }
  }
  frame.things = thinned(kinds, view.software);
  if (fieldsShown?.frame === frame) view.setThings(frame.things);
}

async function result(j, mine) {
  const r = j.result;
  mine.result = r;
  mine.done = true;
  let frame = null;
  if (r.width * r.height <= 2100 * 2100) {
    frame = {
      level: 0,
      width: r.width,
      height: r.height,
      spacing_m: r.spacing_m,
      x_m: 0,
      y_m: 0,
      digest: r.digest,
      final: true,
      data: {},
    };
    for (const field of R.VIEWED.filter((f) => r.fields.includes(f)))
      frame.data[field] = (await api.samples(`v1/results/${r.digest}/fields/${field}.r32`)).data;
    if (run !== mine) return;
    mine.frames = [...mine.frames.filter((f) => f.level === null || f.level > 0), frame];
    mine.grid = { width: r.width, height: r.height, step: r.spacing_m };
  }
  // It may be another land by now that is on the table.
  if (R.same(recipe(), mine.recipe)) setMode('run');
  toast('The land is done');
  tell('tab', 'take');
  if (frame) await showThings(r, mine, frame);
}

export function setMode(to) {
  mode = to === 'run' && run ? 'run' : 'live';
  const { frames, grid } = current();
  fading = null;
  at = 1;
  if (frames.length && grid) {
    put(heightsOf(frames.at(-1), grid).slice());
    showFields(frames.at(-1));
    if (view.compare !== null) setBefore();
  }
  tell('controls');
  tell('timeline');
}

/** After a change of the recipe the run is of an older one. */
function stale() {
  if (mode === 'run') setMode('live');
  tell('badge');
  tell('controls');
}

// ----------------------------------------------------------------------------------------- opening

export function openRecipe(r, name) {
  project = { id: newId(), name: name ?? r.name ?? 'land', job: null };
  claimed(project.id);
  history = new History(R.withSpacing(r));
  Object.assign(brush, UNSET);
  look.overlay = r.output?.colour === 'biomes' ? 'biomes' : 'ground';
  reset();
}

export async function openProject(p) {
  // Another tab that has it open would keep its own changes over those of this one.
  const mine = await claimed(p.id);
  project = { id: mine ? p.id : newId(), name: mine ? p.name : `${p.name} (copy)`, job: p.job };
  if (!mine) {
    claimed(project.id);
    toast(`${p.name} is open in another tab: this one has a copy`);
  }
  history = Object.assign(new History(p.history.entries[0].recipe), {
    entries: p.history.entries,
    at: p.history.at,
  });
  if (p.look) Object.assign(look, p.look.look);
  Object.assign(brush, UNSET, p.look?.brush, { tool: 'look' });
  reset(p.look);
  if (p.job) resume(p.job, history.entries.find((e) => R.same(e.recipe, p.of))?.recipe ?? null);
}

async function resume(id, of) {
  try {
    const j = await api.json(`v1/jobs/${id}`);
    if (!of || !['queued', 'running', 'succeeded'].includes(j.state)) return;
    job = j;
    await ready();
    take(j, of);
    tell('controls');
  } catch {
    project.job = null;
  }
}
const ready = () =>
  new Promise((resolve) => {
    const look2 = () => (live.grid && !running ? resolve() : setTimeout(look2, 50));
    look2();
  });

function reset(kept2) {
  unfollow?.();
  running?.stop.abort();
  live = sequence();
  run = null;
  job = null;
  mode = 'live';
  shown = ground = ground0 = sent = mask = stroke = was = fading = null;
  groundKey = '';
  at = 1;
  first = !kept2?.eye;
  fieldsShown = null;
  view.after.setFields(new Uint8Array(4), 1, 1, { hasFlow: 0, hasMoved: 0 });
  view.after.hasBiome = view.after.hasWater = view.after.hasMaterials = 0;
  view.setThings([]);
  setCompare(false);
  $('name').value = project.name;
  if (kept2?.eye) view.setEye(kept2.eye);
  if (kept2?.sun) view.setSun(kept2.sun.azimuth, kept2.sun.tilt);
  setTool('look');
  tell('look');
  tell('recipe', true);
}

// ------------------------------------------------------------------------------------------- start

export const switchTheme = theme((dark) => view.setDark(dark));
$('tools').append(
  ...TOOLS.flatMap((t) => [
    ['raise', 'lake', 'hardness'].includes(t.id) ? el('hr') : null,
    el(
      'button',
      {
        type: 'button',
        'data-tool': t.id,
        'aria-label': t.label,
        title: `${t.label} (${t.key})`,
        'aria-pressed': 'false',
        onclick: () => setTool(t.id),
      },
      icon(t.id),
      el('kbd', { 'aria-hidden': 'true' }, t.key),
    ),
  ]).filter(Boolean),
);
// The bar has as many lines as it needs; what stands below it follows.
const insets = () => {
  const folded = innerWidth <= 1080,
    below = $('bar').offsetHeight + 20;
  document.documentElement.style.setProperty('--below-bar', `${below}px`);
  view.setInset({ left: folded ? 0 : 60, right: folded ? 0 : 314, top: below - 6, bottom: 66 });
};
addEventListener('resize', insets);
new ResizeObserver(insets).observe($('bar'));
insets();
if (innerWidth <= 1080) document.body.classList.add('folded');

/** For tests and for people who write in the console: what is shown, as data. */
Object.assign(window.thalweg, {
  state: () => ({
    mode,
    at,
    busy: !!running,
    recipe: recipe(),
    live: live.frames.map((f) => [f.level, f.width, f.height]),
    run: run?.frames.map((f) => [f.level, f.width, f.height]) ?? null,
    digest: live.frames.at(-1)?.digest ?? null,
    result: run?.result ?? null,
    equal: run?.equal ?? 0,
    checked: run?.checked ?? 0,
    done: live.done,
    job: job?.state ?? null,
    progress: job?.progress ?? null,
    waiting: !!run?.waiting,
  }),
  heights: () => shown,
  before: () => view.before.data,
  view,
});

export async function start() {
  tell('controls');
  tell('timeline');
  try {
    [catalogue, presets, examples] = await Promise.all([
      api.stages(),
      api.presets(),
      api.examples(),
    ]);
  } catch (error) {
    toast(`The service does not answer: ${error.message}`, 'bad');
    return;
  }
  R.setStages(catalogue.stages);
  const fragment = location.hash.match(/^#land=([\w-]+)/);
  if (fragment) {
    try {
      const land = await unpacked(fragment[1]);
      window.history.replaceState(null, '', location.pathname);
      Object.assign(look, land.look);
      project = { id: newId(), name: land.name ?? 'land', job: null };
      claimed(project.id);
      history = new History(land.recipe);
      reset(land);
      return;
    } catch {
      toast('This link holds no land', 'bad');
    }
  }
  // This tab's own comes before the one that any of them kept last.
  const ids = [sessionStorage, localStorage]
      .map((storage) => storage.getItem('thalweg-project'))
      .filter(Boolean),
    all = ids.length ? await projects().catch(() => []) : [];
  const mine = ids.map((id) => all.find((p) => p.id === id)).find(Boolean);
  if (mine) {
    openProject(mine);
    return;
  }
  toast('Drag turns the land. Keys 1 to 6 draw on it. Ctrl+Enter makes it in full size.');
  const island = examples.find((x) => x.name === 'island') ?? examples[0];
  openRecipe(island ? R.withWater(island.recipe) : recipe(), island?.name);
}

export { groundKey, running };

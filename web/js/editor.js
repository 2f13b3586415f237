// The editor: joins the view, the brushes, the service and the forms.

import * as api from './api.js';
import * as R from './recipe.js';
import { LiveStroke, drawStrokes, fieldTexture, frameOf, resample, reshape, simplified } from './land.js';
import { History, dropProject, packed, projects, saveProject, unpacked } from './store.js';
import { bytes, copy, el, icon, iconButton, metres, nextSeed, said, save, seconds, seedRow, theme, toast, words } from './ui.js';
import { cardButtons, numberRow, stageForm } from './forms.js';
import { palette } from './palette.js';
import { View } from './view.js';

const $ = (id) => document.getElementById(id);
const view = new View($('view'));
window.thalweg = { view };

// What the service knows.
let catalogue = { stages: [], fields: [] },
  presets = [],
  examples = [];

// The project.
let project = { id: '', name: 'land', job: null };
let history = new History({ schema: 1, seed: 1, width: 513, height: 513, spacing_m: 20, stage: [] });
const recipe = () => history.recipe;

/** A land that begins with a file has the file's size: asked once for each. */
const measured = new Map();
const fileOf = (r) => JSON.stringify([r.input, r.spacing_m ?? null]);
const whole = (r) => (r.input ? { ...r, ...measured.get(fileOf(r)) } : r);
async function measure(r, signal) {
  if (!r.input || measured.has(fileOf(r))) return;
  const { width, height, spacing_m } = await api.checkRecipe(
    { schema: r.schema, input: r.input, ...(r.spacing_m ? { spacing_m: r.spacing_m } : {}), stage: [{ kind: 'droplets', rain: 0 }] },
    signal,
  );
  measured.set(fileOf(r), { width, height, spacing_m });
}
/** Metres from one cell of the recipe to the next. */
const cellM = () => whole(recipe()).spacing_m ?? 1;

// How it is looked at and drawn on: kept, but nothing to undo.
const look = { overlay: 'ground', contours: false, exaggeration: 1, water: true };
const TOOLS = [
  { id: 'look', label: 'Look', key: 'V', text: 'Drag turns, with Shift it moves, the wheel comes nearer.' },
  { id: 'raise', label: 'Raise', key: '1', text: 'Ctrl lowers, Shift smooths.' },
  { id: 'lower', label: 'Lower', key: '2', text: 'Ctrl raises, Shift smooths.' },
  { id: 'flatten', label: 'Flatten', key: '3', text: 'To the height where the stroke begins. Shift smooths.' },
  { id: 'smooth', label: 'Smooth', key: '4', text: 'Towards the mean of the ground around.' },
  { id: 'ramp', label: 'Ramp', key: '5', text: 'Drag from the foot to the top: an even slope between both heights.' },
  { id: 'noise', label: 'Noise', key: '6', text: 'Bumps. Ctrl turns them inside out, Shift smooths.' },
  { id: 'hardness', label: 'Hardness', key: '7', layer: true, text: 'Hard rock resists water. Ctrl takes paint away.' },
  { id: 'rain', label: 'Rain', key: '8', layer: true, text: 'Where less rain falls. Ctrl lets it rain again.' },
  { id: 'vegetation', label: 'Vegetation', key: '9', layer: true, text: 'Roots hold the ground. Ctrl takes plants away.' },
];
const brush = { tool: 'look', radius: 0.06, falloff: 0.8, amount: 0.1, strength: 0.7, paint: 0.6, feature: 0.35 };
const tool = () => TOOLS.find((t) => t.id === brush.tool);
const MASK = { hardness: [0.85, 0.42, 0.12], rain: [0.1, 0.28, 0.75], vegetation: [0.1, 0.5, 0.16] };

// What is shown. `live` follows the recipe on coarse levels; `run` is a run in full size.
const sequence = () => ({ grid: null, frames: [], recipe: null, done: false });
let live = sequence(),
  run = null,
  mode = 'live',
  job = null;
let shown = null; // heights on the grid of what is shown
let ground = null; // the block-out on the grid of `live`, with all strokes
let ground0 = null; // the same without them
let sent = null; // `ground` as it was when the preview began
let mask = null; // the painted layer on the grid of `live`
let stroke = null; // the one being drawn
let fading = null; // between two heights
let at = 1; // place on the timeline, 0 to 1
let problem = null;
/** How large a preview may be. A land without levels is made at once, so all of it or none. */
const cellsOf = (r = recipe()) => (r.levels ? (view.software ? 288 : 576) : Math.min(Math.max(...R.sizeOf(whole(r)), 64), 1024));
const extentOf = (grid) => [(grid.width - 1) * grid.step, (grid.height - 1) * grid.step];
const current = () => (mode === 'run' && run ? run : live);

// ---------------------------------------------------------------------------------------------------------------- showing

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
function openSea(heights, { width, height }, sea) {
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
    view.setLand({ extent: extentOf(grid), sea, ocean: openSea(heights, grid, sea) });
  }
  view.draw();
}

/** Shows other heights, over a moment if the device is quick. */
function turnTo(heights) {
  if (!shown || shown.length !== heights.length || view.software || stroke || matchMedia('(prefers-reduced-motion: reduce)').matches) {
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
    : (frame.on = { grid, heights: resample(frame, frame.data.height, grid.width, grid.height, grid.step) }).heights;

let fieldsShown = null;
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
  fieldsShown = { frame, scales: made.scales };
  legend();
  view.draw();
}

/** The land at a place of the timeline. */
function scrub(t) {
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
  timeline();
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
  view.before.hasBiome = 0;
}

function setCompare(on) {
  view.compare = on ? 0.5 : null;
  $('split').hidden = !on;
  if (on) {
    setBefore();
    placeSplit(0.5);
    if (at < 1) scrub(1);
  }
  controls();
  view.draw();
}
function placeSplit(t) {
  view.compare = Math.min(Math.max(t, 0.02), 0.98);
  $('split').style.left = `${view.compare * 100}%`;
  $('split').setAttribute('aria-valuenow', String(Math.round(view.compare * 100)));
  view.draw();
}

// ----------------------------------------------------------------------------------------------------------- live preview

let wanted = 0,
  running = null,
  timer = 0,
  groundKey = '';

/** The recipe has changed: the preview follows as soon as the one that runs has shown something. */
function follow() {
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
    }
    if (R.erodes(now) || now.stage.some((s) => !['strokes', ...R.MAKERS].includes(s.kind))) {
      const options = { cells: Math.max(grid.width, grid.height, 64), fields: R.fieldsOf(now, layer), signal: stop.signal };
      for await (const record of api.preview(R.plain(now), options)) {
        const frame = frameOf(record, whole(now));
        frames.push(frame);
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
    timeline();
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

/** The land before strokes, when something of it changed; and the strokes on it. */
async function layGround(r, signal) {
  await measure(r, signal);
  const key = JSON.stringify([R.groundOf(r), cellsOf(r)]);
  if (key !== groundKey) {
    let last = null;
    for await (const record of api.preview(R.groundOf(r), { cells: cellsOf(r), fields: ['height'], signal })) last = record;
    if (!last) throw new Error('The service sent no level of this land');
    const first = !groundKey,
      grid = R.gridOf({ ...whole(r), levels: 'auto' }, Math.max(last.width, last.height));
    const old = live.grid;
    live.grid = R.same(old, grid) ? old : grid;
    ground0 = resample(frameOf(last, whole(r)), last.data.height, grid.width, grid.height, grid.step);
    groundKey = key;
    if (first || live.grid !== old) live.frames = [];
    draw();
    if (stroke) redraw();
  }
}

/** All strokes of the recipe on the block-out, and on the painted layer. */
function draw() {
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
    } else if (shown && shown.length === grid.width * grid.height && live.seen) heights = reshape(shown, grid, frame, d);
    else {
      heights = heightsOf(frame, grid).slice();
      live.seen = true;
    }
    turnTo(heights);
    showFields(frame);
  }
  if (frame.final) live.seen = true;
  if (view.compare !== null) setBefore();
  timeline();
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
  badge();
}

function fail(error) {
  problem = error;
  const host = $('problem');
  if (!host) return;
  host.hidden = !error;
  host.textContent = error ? said(error) : '';
}

// ----------------------------------------------------------------------------------------------------------------- brushes

const longest = () => (live.grid ? Math.max(...extentOf(live.grid)) : 1000);
const radiusM = () => Math.max(brush.radius * longest(), cellM() * 1.01, live.grid ? live.grid.step * 1.01 : 0);
const reliefM = () => {
  const [low, high] = view.range;
  return Math.max(high - low, longest() * 0.04);
};
const rounded = (v) => {
  const p = 10 ** (Math.floor(Math.log10(Math.abs(v) || 1)) - 2);
  return Number((Math.round(v / p) * p).toPrecision(4));
};

/** A stroke's settings from the brush and the keys held. */
function settings(event, place) {
  const t = tool(),
    base = { radius_m: rounded(radiusM()), falloff: rounded(brush.falloff) };
  if (event.shiftKey && t.id !== 'ramp' && !t.layer) return { tool: 'smooth', ...base, strength: 1 };
  if (t.layer) {
    const less = (brush.tool === 'rain') !== event.ctrlKey;
    return { tool: less ? 'lower' : 'raise', layer: brush.tool, ...base, amount: rounded(brush.paint) };
  }
  const amount = rounded(brush.amount * reliefM());
  if (t.id === 'raise' || t.id === 'lower')
    return { tool: (t.id === 'raise') !== event.ctrlKey ? 'raise' : 'lower', ...base, amount_m: amount };
  if (t.id === 'noise')
    return {
      tool: 'noise',
      ...base,
      amount_m: event.ctrlKey ? -amount : amount,
      feature_m: rounded(Math.max(brush.feature * radiusM(), cellM() * 2)),
      seed: R.strokesOf(recipe()).length,
    };
  if (t.id === 'flatten') return { tool: 'flatten', ...base, height_m: rounded(groundAt(place)), strength: rounded(brush.strength) };
  if (t.id === 'ramp')
    return { tool: 'ramp', ...base, height_m: [rounded(groundAt(place)), rounded(groundAt(place))], strength: rounded(brush.strength) };
  return { tool: 'smooth', ...base, strength: rounded(brush.strength) };
}

function groundAt({ gx, gy }) {
  const { width, height } = live.grid;
  return ground[Math.round(gy * (height - 1)) * width + Math.round(gx * (width - 1))];
}

function begin(event, place) {
  if (!live.grid || !ground) return;
  if (mode === 'run') setMode('live');
  if (at < 1) {
    at = 1;
    scrub(1);
  }
  fading = null;
  if (live.frames.length && live.done && shown?.length !== ground.length) put(heightsOf(live.frames.at(-1), live.grid).slice());
  const s = settings(event, place);
  const values = s.layer ? (mask ??= new Float32Array(ground.length).fill(s.layer === 'rain' ? 1 : 0)) : ground;
  stroke = { settings: s, points: [], values, old: values.slice(), live: new LiveStroke(values, live.grid, s), from: place };
  extend(event, place, event.pressure);
}

function extend(event, place, pressure) {
  const p = event.pointerType === 'pen' ? Math.max(rounded(pressure || 0.5), 0.02) : 1;
  const x = place.gx * extentOf(live.grid)[0],
    y = place.gy * extentOf(live.grid)[1],
    s = stroke.settings;
  if (s.tool === 'ramp') {
    s.height_m = [
      s.height_m[0],
      rounded(stroke.old[Math.round(place.gy * (live.grid.height - 1)) * live.grid.width + Math.round(place.gx * (live.grid.width - 1))]),
    ];
    stroke.points = [
      [stroke.from.gx * extentOf(live.grid)[0], stroke.from.gy * extentOf(live.grid)[1], 1],
      [x, y, 1],
    ];
    redraw();
  } else {
    const last = stroke.points.at(-1);
    if (last && Math.hypot(last[0] - x, last[1] - y) < s.radius_m * 0.04) return;
    stroke.points.push([x, y, p]);
    changed(stroke.live.to(x, y, p));
  }
  follow();
}

/** Draws the current stroke anew, on a ground that changed or with another path. */
function redraw() {
  const s = stroke,
    values = s.settings.layer ? mask : ground;
  if (s.old.length === values.length) {
    const before = values.slice();
    values.set(s.old);
    s.live = new LiveStroke(values, live.grid, s.settings);
    for (const [x, y, p] of s.points) s.live.to(x, y, p);
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
  for (let j = box[1]; j <= box[3]; j++) was.set(ground.subarray(j * width + box[0], j * width + box[2] + 1), j * width + box[0]);
}

/** What is shown rises as the block-out does. */
function lift(before, [x0, y0, x1, y1]) {
  if (!shown || shown.length !== ground.length) return;
  const { width } = live.grid;
  for (let j = y0; j <= y1; j++) for (let i = x0, k = j * width + x0; i <= x1; i++, k++) shown[k] += ground[k] - before[k];
  view.after.setHeights(shown, live.grid.width, live.grid.height);
  view.draw();
}

/** The stroke as the recipe has it. */
function made() {
  if (!stroke?.points.length) return null;
  const [ox, oy] = live.grid.origin.map((v) => v * live.grid.cell),
    tenth = (v) => Math.round(v * 10) / 10;
  const path = stroke.settings.tool === 'ramp' ? stroke.points : simplified(stroke.points, stroke.settings.radius_m * 0.025);
  return {
    ...stroke.settings,
    at_m: path.map(([x, y, p]) => (p === 1 ? [tenth(x + ox), tenth(y + oy)] : [tenth(x + ox), tenth(y + oy), p])),
  };
}

function end() {
  if (!stroke) return;
  const now = made();
  const label = stroke.settings.layer ? words(stroke.settings.layer) : words(stroke.settings.tool);
  stroke = null;
  was = null;
  if (!now) return;
  history.push(R.withStrokes(recipe(), [...R.strokesOf(recipe()), now]), label);
  const before = ground;
  draw();
  lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  follow();
  kept();
  renderPanel();
  controls();
}

function setTool(id) {
  brush.tool = id;
  $('view').classList.toggle('brushing', id !== 'look');
  for (const b of $('tools').querySelectorAll('button')) b.setAttribute('aria-pressed', String(b.dataset.tool === id));
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
  const slider = (id, label, value, low, high, show, set, text) => {
    const row = numberRow({ id: `brush-${id}`, label, value: show(value), low: show(low), high: show(high), text, oninput: set });
    return row;
  };
  const rows = [
    slider(
      'size',
      'Size',
      brush.radius,
      0.004,
      0.35,
      (v) => rounded(v * longest()),
      (v) => {
        brush.radius = v / longest();
        ring();
      },
      'Radius in metres: [ and ]',
    ),
  ];
  rows[0].querySelector('label').append(el('span.unit', {}, 'm'));
  if (['raise', 'lower', 'noise'].includes(t.id)) {
    const row = slider(
      'amount',
      'Height',
      brush.amount,
      0.005,
      0.5,
      (v) => rounded(v * reliefM()),
      (v) => {
        brush.amount = v / reliefM();
      },
      'Metres at full pressure: - and =',
    );
    row.querySelector('label').append(el('span.unit', {}, 'm'));
    rows.push(row);
  } else if (t.layer)
    rows.push(
      slider(
        'paint',
        'Amount',
        brush.paint,
        0,
        1,
        (v) => rounded(v),
        (v) => {
          brush.paint = v;
        },
        '- and =',
      ),
    );
  else
    rows.push(
      slider(
        'strength',
        'Strength',
        brush.strength,
        0,
        1,
        (v) => rounded(v),
        (v) => {
          brush.strength = v;
        },
        '- and =',
      ),
    );
  rows.push(
    slider(
      'falloff',
      'Falloff',
      brush.falloff,
      0,
      1,
      (v) => rounded(v),
      (v) => {
        brush.falloff = v;
        ring();
      },
      'Share of the radius over which the brush fades',
    ),
  );
  if (t.id === 'noise')
    rows.push(
      slider(
        'feature',
        'Bumps',
        brush.feature,
        0.05,
        1,
        (v) => rounded(v * radiusM()),
        (v) => {
          brush.feature = v / radiusM();
        },
        'Size of the bumps in metres',
      ),
    );
  host.replaceChildren(el('h2', {}, t.label, el('kbd', {}, t.key)), ...rows, el('p', {}, t.text));
}

let hover = null;
function ring(place = hover) {
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
  u.set((place.gx - 0.5) * e.x, (place.gy - 0.5) * e.y, radiusM() * view.metre, brush.falloff);
  view.u.uBrushColour.value.set(...(tool().layer ? MASK[brush.tool].map((v) => v * 1.5 + 0.25) : [1, 1, 1]));
  view.draw();
}

// ----------------------------------------------------------------------------------------------------------------- pointer

const pointers = new Map();
let gesture = null,
  lastMove = 0;
const canvas = view.canvas;
canvas.setAttribute(
  'aria-label',
  'The land. Arrow keys turn the view, or move the brush when one is chosen; Enter applies it; Page Up and Page Down come nearer and go away.',
);
canvas.addEventListener('contextmenu', (e) => e.preventDefault());
canvas.addEventListener('pointerdown', (e) => {
  canvas.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
  if (pointers.size === 2) {
    if (stroke && stroke.points.length < 4) {
      cancelStroke();
    } else end();
    gesture = 'two';
    return;
  }
  const place = e.button === 0 && brush.tool !== 'look' && !held.space ? view.pick(e.clientX, e.clientY) : null;
  if (place) {
    gesture = 'draw';
    ring(place);
    begin(e, place);
    return;
  }
  gesture = e.button === 1 || (e.shiftKey && (e.button === 2 || brush.tool === 'look')) ? 'pan' : 'orbit';
  $('view').classList.add('turning');
});
canvas.addEventListener('pointermove', (e) => {
  const last = pointers.get(e.pointerId);
  if (!last) {
    const now = performance.now();
    if (now - lastMove > (view.software ? 50 : 12)) {
      lastMove = now;
      const p = view.pick(e.clientX, e.clientY);
      ring(p);
      readout(p);
    }
    return;
  }
  const dx = e.clientX - last[0],
    dy = e.clientY - last[1];
  if (gesture === 'two' && pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]),
      after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    const turn = Math.atan2(e.clientY - other[1], e.clientX - other[0]) - Math.atan2(last[1] - other[1], last[0] - other[0]);
    view.zoom(before / Math.max(after, 1));
    view.pan(-dx / 2, -dy / 2);
    if (Math.abs(turn) < 0.5) view.orbit((turn * 180) / Math.PI / 0.28, 0);
  } else if (gesture === 'draw' && stroke) {
    const events = e.getCoalescedEvents?.() ?? [];
    const all = view.software || !events.length ? [e] : events;
    let place = null;
    for (const one of all) {
      const p = view.pick(one.clientX, one.clientY);
      if (p) {
        place = p;
        extend(one, p, one.pressure);
      }
    }
    if (place) {
      ring(place);
      readout(place);
    }
  } else if (gesture === 'orbit') view.orbit(dx, dy);
  else if (gesture === 'pan') view.pan(-dx, -dy);
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
});
const up = (e) => {
  pointers.delete(e.pointerId);
  if (gesture === 'draw') end();
  if (gesture === 'orbit' || gesture === 'pan') kept();
  if (!pointers.size) {
    gesture = null;
    $('view').classList.remove('turning');
  }
};
canvas.addEventListener('pointerup', up);
canvas.addEventListener('pointercancel', up);
canvas.addEventListener('pointerleave', () => {
  if (!pointers.size) {
    ring(null);
    readout(null);
  }
});
canvas.addEventListener(
  'wheel',
  (e) => {
    e.preventDefault();
    view.zoom(Math.exp(Math.max(-240, Math.min(240, e.deltaY * (e.deltaMode ? 30 : 1))) * 0.0014), e.clientX, e.clientY);
    kept();
  },
  { passive: false },
);

function cancelStroke() {
  if (!stroke) return;
  stroke = null;
  was = null;
  const before = ground;
  draw();
  lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  follow();
}

function readout(p) {
  const host = $('readout');
  if (!p) {
    host.replaceChildren();
    return;
  }
  const f = fieldsShown?.frame,
    lines = [`${metres(p.x_m)} east, ${metres(p.y_m)} south`, `${p.height_m.toFixed(1)} m`];
  if (f) {
    const k = Math.round(p.gy * (f.height - 1)) * f.width + Math.round(p.gx * (f.width - 1));
    if (f.data.flow) lines.push(`flow ${Math.round(f.data.flow[k])}`);
    if (f.data.wear) lines.push(`wear ${f.data.wear[k].toFixed(1)} m`, `deposit ${f.data.deposit[k].toFixed(1)} m`);
    const s = 1 / (view.after.width - 1),
      h = (a, b) => view.heightAt(Math.min(Math.max(p.gx + a * s, 0), 1), Math.min(Math.max(p.gy + b * s, 0), 1));
    const cell = extentOf(current().grid)[0] * s * 2;
    lines.push(`slope ${((Math.atan(Math.hypot(h(1, 0) - h(-1, 0), h(0, 1) - h(0, -1)) / cell) * 180) / Math.PI).toFixed(0)}°`);
  }
  host.replaceChildren(el('div', {}, lines.slice(0, 2).join(' · ')), el('div', {}, lines.slice(2).join(' · ')));
}

view.listeners.push(() => {
  // A scale bar for what lies in the middle of the view, and the north.
  const perPixel = (2 * Math.tan((view.camera.fov * Math.PI) / 360) * view.eye.distance) / view.host.clientHeight / view.metre;
  let m = 10 ** Math.floor(Math.log10(perPixel * 150));
  for (const k of [5, 2])
    if (m * k <= perPixel * 150) {
      m *= k;
      break;
    }
  const bar = $('scalebar'),
    key = `${m}:${Math.round(m / perPixel)}`;
  if (bar.dataset.key !== key) {
    bar.dataset.key = key;
    bar.firstElementChild.textContent = metres(m).replace(/\.0+ /, ' ');
    bar.lastElementChild.style.width = `${m / perPixel}px`;
  }
  const turn = `rotate(${180 - view.eye.azimuth} 20 20)`,
    needle = $('compass').querySelector('g');
  if (needle.getAttribute('transform') !== turn) needle.setAttribute('transform', turn);
});
$('compass').addEventListener('click', () => {
  view.goal.azimuth = 180;
  view.draw();
  kept();
});

// ---------------------------------------------------------------------------------------------------------------- simulate

let unfollow = null;
async function simulate() {
  if (job && ['queued', 'running'].includes(job.state)) return cancel();
  end();
  const now = recipe();
  try {
    job = await api.startJob(now);
    take(job, now);
    kept();
  } catch (error) {
    job = null;
    fail(error);
    toast(said(error), 'bad');
  }
  controls();
}

async function cancel() {
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
  controls();
}

/** Follows a job: its levels are shown as they come. */
function take(started, of) {
  unfollow?.();
  project.job = started.id;
  const mine = (run = { grid: live.grid, frames: [], recipe: of, done: false, checked: 0, equal: 0, id: started.id });
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
      const frame = frameOf({ ...l, width: l.width, height: l.height, data: { height: got.data } }, whole(of));
      mine.frames.push(frame);
      mine.frames.sort((a, b) => (b.level ?? 99) - (a.level ?? 99));
      verify(frame, mine);
      // Finer than the preview: what the run has made so far is shown.
      if (run === mine && !mine.done && !stroke && live.grid && frame.width > live.grid.width && R.same(recipe(), of)) {
        mine.grid = { width: frame.width, height: frame.height, step: frame.spacing_m };
        setMode('run');
      }
      timeline();
    } catch (error) {
      if (!mine.done) toast(said(error), 'bad');
    }
  };
  const onend = async (j) => {
    if (run !== mine) return;
    job = j;
    controls();
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
      controls();
    },
    progress: (p) => {
      job.progress = p;
      if (job.state === 'queued') job.state = 'running';
      controls();
    },
    waiting: (on) => {
      mine.waiting = on;
      controls();
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
  const other = live.frames.find((f) => f.level === frame.level && f.level !== null);
  if (!other) return;
  const a = new Uint32Array(frame.data.height.buffer),
    b = new Uint32Array(other.data.height.buffer);
  mine.checked++;
  if (a.length === b.length && a.every((v, i) => v === b[i])) mine.equal++;
  badge();
}

async function result(j, mine) {
  const r = j.result;
  mine.result = r;
  mine.done = true;
  if (r.width * r.height <= 2100 * 2100) {
    const frame = {
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
    for (const field of ['height', 'flow', 'wear', 'deposit', 'biome_colour'].filter((f) => r.fields.includes(f)))
      frame.data[field] = (await api.samples(`v1/results/${r.digest}/fields/${field}.r32`)).data;
    if (run !== mine) return;
    mine.frames = [...mine.frames.filter((f) => f.level === null || f.level > 0), frame];
    mine.grid = { width: r.width, height: r.height, step: r.spacing_m };
  }
  setMode('run');
  toast('The land is done');
  tab('take');
}

function setMode(to) {
  mode = to === 'run' && run ? 'run' : 'live';
  const { frames, grid } = current();
  fading = null;
  at = 1;
  if (frames.length && grid) {
    put(heightsOf(frames.at(-1), grid).slice());
    showFields(frames.at(-1));
    if (view.compare !== null) setBefore();
  }
  controls();
  timeline();
}

/** After a change of the recipe the run is of an older one. */
function stale() {
  if (mode === 'run') setMode('live');
  badge();
  controls();
}

// ---------------------------------------------------------------------------------------------------------------- timeline

let playing = false;
function play() {
  if (playing) {
    playing = false;
    controls();
    return;
  }
  const frames = current().frames.length;
  if (frames < 2) {
    toast('There is nothing to play yet');
    return;
  }
  playing = true;
  const start = performance.now(),
    from = at >= 1 ? 0 : at,
    span = 1100 * (frames - 1);
  const step = (now) => {
    if (!playing) return;
    const t = Math.min(from + (now - start) / span, 1);
    scrub(t);
    if (t < 1) requestAnimationFrame(step);
    else {
      playing = false;
      controls();
    }
  };
  requestAnimationFrame(step);
  controls();
}

const slider = el('input', {
  type: 'range',
  id: 'when',
  min: '0',
  max: '1',
  step: '0.002',
  'aria-label': 'Time, from the block-out to the finest level',
  value: '1',
  oninput: (e) => {
    playing = false;
    scrub(Number(e.target.value));
  },
});
const ticks = el('div.ticks', { 'aria-hidden': 'true' });
const playButton = iconButton('play', 'Play how the land came about', play, 'P');
const compareButton = iconButton('compare', 'Before and after, side by side', () => setCompare(view.compare === null), 'B');
const badgeHost = el('button.badge', {
  type: 'button',
  onclick: () => {
    const f = live.frames.at(-1);
    if (f?.digest) copy(f.digest, 'Digest');
  },
});
const modes = el(
  'span.modes',
  { role: 'group', 'aria-label': 'What is shown' },
  el('button', { type: 'button', onclick: () => setMode('live') }, 'Preview'),
  el('button', { type: 'button', onclick: () => setMode('run') }, 'Full size'),
);
$('timeline').append(playButton, el('div.track', {}, slider, ticks), compareButton, modes, badgeHost);

function timeline() {
  const { frames } = current();
  const names = frames.map((f, i) =>
    f.level === null ? 'block-out' : f.final && mode === 'run' && i === frames.length - 1 ? `${f.width}²` : `${f.width}²`,
  );
  const near = Math.round(at * (frames.length - 1)),
    key = names.join();
  if (ticks.dataset.key !== key) {
    ticks.dataset.key = key;
    ticks.replaceChildren(
      ...names.map((n, i) => {
        const s = el('span', {}, n);
        s.style.left = `${names.length > 1 ? (i / (names.length - 1)) * 100 : 0}%`;
        return s;
      }),
    );
  }
  // Names that would lie on one another are left out.
  const room = ticks.clientWidth;
  let taken = -Infinity;
  [...ticks.children].forEach((s, i, all) => {
    s.classList.toggle('now', i === near);
    const x = (i / Math.max(all.length - 1, 1)) * room,
      wide = names[i].length * 6,
      from = i ? x - wide / 2 : x,
      last = i === all.length - 1;
    s.hidden = from < taken + 6 || (!last && x + wide / 2 > room - names.at(-1).length * 6 - 6);
    if (!s.hidden) taken = i ? x + wide / 2 : x + wide;
  });
  slider.value = at;
  slider.disabled = frames.length < 2;
  slider.setAttribute('aria-valuetext', names[near] ?? '');
  slider.style.setProperty('--at', `${at * 100}%`);
  badge();
}

function badge() {
  const last = live.frames.at(-1),
    short = (d) => `${d.slice(0, 10)}…`;
  badgeHost.classList.remove('good');
  if (running) {
    badgeHost.replaceChildren(
      el('i.spin'),
      el('span', {}, el('b', {}, 'Water is running'), last?.level != null ? `${last.width} × ${last.height} cells` : 'block-out'),
    );
    return;
  }
  if (!last?.digest) {
    badgeHost.replaceChildren();
    return;
  }
  const ok = run?.done && run.checked > 0 && R.same(run.recipe, live.recipe);
  badgeHost.classList.toggle('good', true);
  badgeHost.title = ok
    ? `${run.equal} of ${run.checked} levels of the run were held against the preview here, byte for byte. ${last.digest}`
    : `A level of the preview has the bytes that the whole run has there. ${last.digest}`;
  badgeHost.replaceChildren(
    icon('check'),
    el(
      'span',
      {},
      el('b', {}, ok ? `${run.equal} of ${run.checked} levels: same bytes` : 'Bytes of the final levels'),
      el('span.mono', {}, short(last.digest)),
    ),
  );
}

// --------------------------------------------------------------------------------------------------------------- top bar

const undoButton = iconButton('undo', 'Undo', () => undo(), 'Ctrl+Z'),
  redoButton = iconButton('redo', 'Redo', () => redo(), 'Ctrl+Shift+Z');
$('project-buttons').append(
  (() => {
    const b = iconButton('plus', 'New land', () => openNew(), 'Ctrl+Alt+N');
    b.id = 'open-new';
    return b;
  })(),
  undoButton,
  redoButton,
  iconButton('dice', 'Another seed', () => reseed(), 'N'),
);
const themeButton = iconButton('sun', 'Dark or light', () => switchTheme(), 'T');
const panelButton = iconButton('panel', 'Settings', () => document.body.classList.toggle('folded'));
panelButton.id = 'panel-toggle';
$('page-buttons').append(
  iconButton(
    'home',
    'Show the whole land',
    () => {
      view.home();
      kept();
    },
    'F',
  ),
  iconButton('link', 'Copy a link to this land', () => share()),
  iconButton('keys', 'Keys', () => showKeys(), '?'),
  themeButton,
  panelButton,
);
$('find').append(icon('search'), el('span', {}, 'Search or command'), el('kbd', {}, 'Ctrl K'));
$('simulate').addEventListener('click', simulate);

function controls() {
  undoButton.disabled = !history.canUndo;
  redoButton.disabled = !history.canRedo;
  undoButton.title = history.canUndo ? `Undo: ${history.entries[history.at].label} (Ctrl+Z)` : 'Nothing to undo';
  const works = job && ['queued', 'running'].includes(job.state);
  $('simulate').classList.toggle('stop', !!works);
  $('simulate').replaceChildren(icon(works ? 'stop' : 'play'), works ? 'Cancel' : 'Simulate');
  $('simulate').title = works ? 'Cancel the simulation (Esc)' : 'Make the land in full size (Ctrl+Enter)';
  const host = $('progress');
  host.hidden = !works;
  if (works) {
    const p = job.progress ?? {};
    const text = run?.waiting
      ? 'The service does not answer: waiting for it'
      : job.state === 'queued'
        ? 'Waiting'
        : `${words(p.stage || 'starting')}${p.level != null ? `, level ${p.level}` : ''}`;
    host.replaceChildren(
      el(
        'div.line',
        {},
        el('span.what', {}, text),
        el('span', {}, `${Math.round((p.fraction ?? 0) * 100)} %`),
        p.eta_s != null ? el('span', {}, `${seconds(p.eta_s)} left`) : null,
      ),
      el('progress', { max: '1', value: p.fraction ?? 0, 'aria-label': 'Progress of the simulation' }),
    );
  }
  compareButton.setAttribute('aria-pressed', String(view.compare !== null));
  playButton.replaceChildren(icon(playing ? 'pause' : 'play'));
  modes.hidden = !run?.done;
  [...modes.children].forEach((b, i) => b.setAttribute('aria-pressed', String((mode === 'run') === (i === 1))));
}

function undo() {
  end();
  const label = history.undo();
  if (label) after(`Undone: ${label}`);
}
function redo() {
  const label = history.redo();
  if (label) after(`Done again: ${label}`);
}
function after(text) {
  toast(text);
  const key = JSON.stringify([R.groundOf(recipe()), cellsOf()]);
  if (key === groundKey && ground0) {
    const before = ground;
    draw();
    if (mode === 'live' && at === 1) lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  }
  changedRecipe();
}

/** Everything that follows from another recipe. */
function changedRecipe(panel = true) {
  view.u.uDry.value = (recipe().stage ?? []).some((s) => s.kind === 'wind') ? 1 : 0;
  const sea = R.seaOf(recipe());
  if (shown) view.setLand({ extent: extentOf(current().grid), sea, ocean: openSea(shown, current().grid, sea) });
  follow();
  kept();
  controls();
  if (panel) renderPanel();
}

function set(path, value, label, panel = false) {
  history.push(R.withValue(recipe(), path, value), label ?? words(String(path.at(-1))), true);
  changedRecipe(panel);
}

function reseed() {
  set(['seed'], nextSeed(recipe().seed ?? 0), 'seed', true);
  toast(`Seed ${recipe().seed}`);
}

// ------------------------------------------------------------------------------------------------------------------ panel

const TABS = [
  ['recipe', 'Recipe'],
  ['view', 'View'],
  ['take', 'Take away'],
];
let tabNow = 'recipe';
const open = new Set(['droplets', 'snowballs', 'wind']),
  openMore = new Set();
const tabButtons = TABS.map(([id, label]) =>
  el('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': 'page', onclick: () => tab(id) }, label),
);
document.querySelector('.tabs').append(...tabButtons);
document.querySelector('.tabs').addEventListener('keydown', (e) => {
  const d = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (d) {
    tab(TABS[(TABS.findIndex(([id]) => id === tabNow) + d + TABS.length) % TABS.length][0]);
    tabButtons.find((b) => b.id === `tab-${tabNow}`).focus();
  }
});
const pages = document.querySelector('.pages');
pages.id = 'page';
pages.setAttribute('role', 'tabpanel');
pages.tabIndex = -1;

function tab(id) {
  tabNow = id;
  renderPanel();
}

function renderPanel() {
  for (const b of tabButtons) {
    const on = b.id === `tab-${tabNow}`;
    b.setAttribute('aria-selected', String(on));
    b.tabIndex = on ? 0 : -1;
  }
  const keep = pages.scrollTop,
    focus = document.activeElement?.id;
  pages.replaceChildren(...{ recipe: recipePage, view: viewPage, take: takePage }[tabNow]().filter(Boolean));
  pages.scrollTop = keep;
  if (focus && pages.querySelector(`#${CSS.escape(focus)}`)) $(focus).focus({ preventScroll: true });
  fail(problem);
}

const field = (label, id, input) => el('div.row.wide', {}, el('label', { for: id }, label), Object.assign(input, { id }));
const choice = (id, now, options, onchange) =>
  el(
    'select',
    { id, onchange: (e) => onchange(e.target.value) },
    options.map(([v, t]) => el('option', { value: String(v), selected: String(v) === String(now) }, t)),
  );

function recipePage() {
  const r = recipe(),
    [width, height] = R.sizeOf(r),
    sea = R.seaOf(r),
    spacing = cellM();
  const sizes = [
    [257, 257],
    [513, 513],
    [1025, 1025],
    [2049, 2049],
    [4097, 4097],
    [8193, 8193],
  ];
  if (!sizes.some(([w, h]) => w === width && h === height)) sizes.unshift([width, height]);
  const eroder = (r.stage ?? []).findIndex((s) => s.kind === 'droplets');
  const strokes = R.strokesOf(r);
  return [
    el('div.problem', { id: 'problem', role: 'alert', hidden: true }),
    el('h2', {}, 'Land'),
    seedRow(r.seed ?? 0, (v) => set(['seed'], v, 'seed'), reseed),
    r.input
      ? null
      : field(
          'Size',
          'size',
          choice(
            'size',
            `${width},${height}`,
            sizes.map(([w, h]) => [`${w},${h}`, `${w} × ${h}`]),
            (v) => {
              const [w, h] = v.split(',').map(Number);
              history.push({ ...r, width: w, height: h }, 'size');
              changedRecipe(true);
            },
          ),
        ),
    numberRow({
      id: 'spacing',
      label: 'Spacing',
      unit: 'm',
      value: spacing,
      low: 0.5,
      high: 100,
      min: 0.001,
      text: 'Metres from one cell to the next',
      oninput: (v) => v > 0 && set(['spacing_m'], v, 'spacing'),
    }),
    el(
      'div.row.wide',
      {},
      el('label', { for: 'levels' }, 'Coarse to fine'),
      el('input.switch', {
        id: 'levels',
        type: 'checkbox',
        role: 'switch',
        checked: !!r.levels,
        title: 'Erode from coarse to fine: valleys get trunks, tributaries and gullies',
        onchange: (e) => set(['levels'], e.target.checked ? 'auto' : undefined, 'levels', true),
      }),
    ),
    el(
      'div.row.wide',
      {},
      el('label', { for: 'sea' }, 'Sea'),
      el('input.switch', {
        id: 'sea',
        type: 'checkbox',
        role: 'switch',
        checked: sea !== null,
        onchange: (e) => {
          set(
            ['output', 'sea_level_m'],
            e.target.checked ? Math.round(view.range[0] + (view.range[1] - view.range[0]) * 0.2) : undefined,
            'sea',
            true,
          );
        },
      }),
    ),
    sea !== null
      ? numberRow({
          id: 'sea-level',
          label: 'Sea level',
          unit: 'm',
          value: sea,
          low: Math.floor(view.range[0]),
          high: Math.ceil(view.range[1]),
          oninput: (v) => set(['output', 'sea_level_m'], v, 'sea level'),
        })
      : null,
    eroder >= 0 ? el('h2', {}, 'Rain and rivers') : null,
    eroder >= 0
      ? el(
          'div.chips',
          { role: 'group', 'aria-label': 'Presets of erosion' },
          presets.map((p) => {
            const want = (r.levels ? p.stage_by_level : p.stage) ?? p.stage_by_level ?? p.stage;
            return el(
              'button.chip',
              {
                type: 'button',
                title: p.text,
                'aria-pressed': String(!!want && R.same(want, r.stage[eroder])),
                onclick: () => {
                  if (want) {
                    history.push(R.withValue(r, ['stage', eroder], want), `preset ${p.name}`);
                    changedRecipe(true);
                  }
                },
              },
              words(p.name),
            );
          }),
        )
      : null,
    el('h2', {}, 'Stages'),
    ...(r.stage ?? []).map((s, i) => stageCard(s, ['stage', i], r.stage, i)),
    el('label.hidden', { for: 'add-stage' }, 'Add a stage'),
    choice(
      'add-stage',
      '',
      [['', 'Add a stage …'], ...catalogue.stages.filter((s) => s.kind !== 'strokes').map((s) => [s.kind, words(s.kind)])],
      (kind) => {
        if (!kind) return;
        open.add(kind);
        history.push({ ...r, stage: [...(r.stage ?? []), { kind }] }, `add ${kind}`);
        changedRecipe(true);
      },
    ),
    strokes.length
      ? el('p.hint', {}, `${strokes.length} ${strokes.length === 1 ? 'stroke' : 'strokes'} drawn. Undo takes them back one by one.`)
      : null,
  ];
}

function stageCard(s, path, list, i, nested = false) {
  const about = catalogue.stages.find((a) => a.kind === s.kind),
    key = path.join('-');
  const move = (d) => {
    const copyOf = list.slice();
    copyOf.splice(i + d, 0, ...copyOf.splice(i, 1));
    history.push(R.withValue(recipe(), path.slice(0, -1), copyOf), `move ${s.kind}`);
    changedRecipe(true);
  };
  const detail =
    s.kind === 'strokes' ? `${s.stroke?.length ?? 0} drawn by hand` : nested ? `after every ${s.every} steps` : (about?.text ?? '');
  const hosts = ['droplets', 'snowballs', 'wind', 'thermal'].includes(s.kind) && !nested;
  return el(
    'details.card',
    {
      open: open.has(s.kind),
      ontoggle: (e) => {
        if (e.target.open) open.add(s.kind);
        else open.delete(s.kind);
      },
    },
    el(
      'summary',
      {},
      icon('chevron'),
      el('span.name', {}, words(s.kind), el('small', { title: detail }, detail)),
      cardButtons({
        kind: s.kind,
        up:
          i > 0
            ? (e) => {
                e.preventDefault();
                move(-1);
              }
            : null,
        down:
          i < list.length - 1
            ? (e) => {
                e.preventDefault();
                move(1);
              }
            : null,
        remove: (e) => {
          e.preventDefault();
          history.push(
            R.withValue(recipe(), path.slice(0, -1), list.length > 1 || !nested ? list.filter((_, n) => n !== i) : undefined),
            `remove ${s.kind}`,
          );
          changedRecipe(true);
        },
      }),
    ),
    el(
      'div.body',
      {},
      s.kind === 'strokes' ? el('p.hint', {}, 'Choose a brush on the left and draw.') : null,
      nested
        ? numberRow({
            id: `${key}-every`,
            label: 'Every',
            unit: 'steps',
            value: s.every,
            low: 1,
            high: 64,
            integer: true,
            min: 1,
            oninput: (v) => set([...path, 'every'], v),
          })
        : null,
      stageForm({
        stage: s,
        about,
        key,
        byLevel: !!recipe().levels && !R.MAKERS.includes(s.kind) && s.kind !== 'layer' && s.kind !== 'biomes',
        open: openMore.has(s.kind),
        onopen: (o) => {
          if (o) openMore.add(s.kind);
          else openMore.delete(s.kind);
        },
        onchange: (name, v) => set([...path, name], v, `${s.kind} ${words(name).toLowerCase()}`),
        onrefresh: renderPanel,
      }),
      (s.with ?? []).map((w, n) => stageCard(w, [...path, 'with', n], s.with, n, true)),
      hosts && !s.with?.length
        ? el(
            'button.button.full',
            {
              type: 'button',
              onclick: () => {
                history.push(
                  R.withValue(recipe(), [...path, 'with'], [{ kind: 'thermal', every: 16, steps: 1, repose_deg: 40 }]),
                  'add slides',
                );
                changedRecipe(true);
              },
            },
            'Let slopes slide between its steps',
          )
        : null,
    ),
  );
}

const OVERLAYS = [
  ['ground', 'Ground'],
  ['flow', 'Flow'],
  ['slope', 'Slope'],
  ['moved', 'Wear and deposit'],
  ['height', 'Height'],
  ['biomes', 'Biomes'],
  ['clay', 'Clay'],
];

function viewPage() {
  const has = fieldsShown?.frame.data ?? {};
  const lacks = { flow: !has.flow, moved: !has.wear, biomes: !has.biome_colour };
  const dial = sunDial();
  return [
    el('h2', {}, 'Colours'),
    el(
      'div.chips',
      { role: 'radiogroup', 'aria-label': 'Colours' },
      OVERLAYS.map(([id, label]) =>
        el(
          'button.chip',
          {
            type: 'button',
            role: 'radio',
            'aria-checked': String(look.overlay === id),
            disabled: lacks[id] && look.overlay !== id,
            title: lacks[id] ? 'This land has no such map' : undefined,
            onclick: () => overlay(id),
          },
          label,
        ),
      ),
    ),
    el('h2', {}, 'Lines'),
    el(
      'div.row.wide',
      {},
      el('label', { for: 'contours' }, 'Contours'),
      el('input.switch', {
        id: 'contours',
        type: 'checkbox',
        role: 'switch',
        checked: look.contours,
        onchange: (e) => {
          look.contours = e.target.checked;
          applyLook();
        },
      }),
    ),
    el('h2', {}, 'Sun'),
    dial,
    el('h2', {}, 'Shape'),
    numberRow({
      id: 'exaggeration',
      label: 'Heights',
      unit: '×',
      value: look.exaggeration,
      low: 0.5,
      high: 4,
      step: 0.05,
      min: 0.05,
      oninput: (v) => {
        look.exaggeration = Math.max(v, 0.05);
        applyLook();
      },
    }),
    el(
      'div.row.wide',
      {},
      el('label', { for: 'waves' }, 'Moving water'),
      el('input.switch', {
        id: 'waves',
        type: 'checkbox',
        role: 'switch',
        checked: view.animate,
        onchange: (e) => {
          view.animate = e.target.checked;
          view.draw();
        },
      }),
    ),
    el('h2', {}, 'Device'),
    el(
      'p.hint',
      {},
      `${view.device.replace(/^ANGLE \((.*)\)$/, '$1')}${view.software ? ' – drawn by the processor, with fewer pixels and a coarser preview.' : ''}`,
    ),
  ];
}

function sunDial() {
  const NS = 'http://www.w3.org/2000/svg';
  const node = (name, attributes, text) => {
    const n = document.createElementNS(NS, name);
    for (const [k, v] of Object.entries(attributes)) n.setAttribute(k, v);
    if (text) n.textContent = text;
    return n;
  };
  const svg = node('svg', { viewBox: '-50 -50 100 100', class: 'dial', role: 'img', 'aria-label': 'Where the sun stands: drag it' });
  const line = node('line', { x1: 0, y1: 0 }),
    spot = node('circle', { r: 6, class: 'spot' });
  svg.append(node('circle', { r: 46 }), node('circle', { r: 24, class: 'ring' }), node('text', { y: -37 }, 'N'), line, spot);
  const place = () => {
    const a = (view.sun.azimuth * Math.PI) / 180,
      r = 46 * (1 - view.sun.tilt / 90);
    for (const [n, x, y] of [
      [spot, 'cx', 'cy'],
      [line, 'x2', 'y2'],
    ]) {
      n.setAttribute(x, Math.sin(a) * r);
      n.setAttribute(y, -Math.cos(a) * r);
    }
  };
  const rowA = numberRow({
    id: 'sun-azimuth',
    label: 'Direction',
    unit: '°',
    value: Math.round(view.sun.azimuth),
    low: 0,
    high: 360,
    integer: true,
    oninput: (v) => {
      view.setSun(v, view.sun.tilt);
      place();
      kept();
    },
  });
  const rowT = numberRow({
    id: 'sun-tilt',
    label: 'Height',
    unit: '°',
    value: Math.round(view.sun.tilt),
    low: 3,
    high: 88,
    integer: true,
    oninput: (v) => {
      view.setSun(view.sun.azimuth, v);
      place();
      kept();
    },
  });
  const drag = (e) => {
    if (!(e.buttons & 1)) return;
    const b = svg.getBoundingClientRect(),
      x = ((e.clientX - b.left) / b.width - 0.5) * 100,
      y = ((e.clientY - b.top) / b.height - 0.5) * 100;
    view.setSun((Math.atan2(x, -y) * 180) / Math.PI, 90 * (1 - Math.min(Math.hypot(x, y), 46) / 46));
    place();
    rowA.set(Math.round(view.sun.azimuth));
    rowT.set(Math.round(view.sun.tilt));
    kept();
  };
  svg.addEventListener('pointerdown', (e) => {
    svg.setPointerCapture(e.pointerId);
    drag(e);
  });
  svg.addEventListener('pointermove', drag);
  place();
  return el('div', { id: 'sun' }, svg, el('div.rows', {}, rowA, rowT));
}

function overlay(id) {
  look.overlay = id;
  applyLook();
  if (tabNow === 'view') renderPanel();
}

function applyLook() {
  view.u.uOverlay.value = { ground: 0, flow: 1, slope: 2, moved: 3, height: 4, biomes: 5, clay: 6 }[look.overlay] ?? 0;
  const relief = view.range[1] - view.range[0];
  let gap = 10 ** Math.floor(Math.log10(Math.max(relief, 1) / 10));
  for (const k of [5, 2])
    if (gap * k * 14 <= relief) {
      gap *= k;
      break;
    }
  view.u.uContour.value = look.contours ? gap : 0;
  view.contour = gap;
  view.exaggeration = look.exaggeration;
  view.draw();
  legend();
  kept();
}

const RAMP = {
  flow: (t) => inferno(0.04 + 0.94 * t),
  slope: viridis,
  height: viridis,
  moved: (t) => {
    const k = t * 2 - 1,
      m = Math.abs(k) ** 0.7,
      end = k < 0 ? [0.55, 0.32, 0.04] : [0, 0.4, 0.37];
    return [0.96, 0.96, 0.94].map((v, i) => v + (end[i] - v) * m);
  },
};
function poly(t, c) {
  return c[0].map((_, i) =>
    Math.min(
      Math.max(
        c.reduceRight((sum, row) => sum * t + row[i], 0),
        0,
      ),
      1,
    ),
  );
}
function inferno(t) {
  return poly(t, [
    [0.0002, 0.0017, -0.0194],
    [0.1065, 0.564, 3.9327],
    [11.6025, -3.9729, -15.9424],
    [-41.704, 17.4364, 44.3541],
    [77.1629, -33.4024, -81.8073],
    [-71.3194, 32.6261, 73.2095],
    [25.1311, -12.2427, -23.0703],
  ]);
}
function viridis(t) {
  return poly(t, [
    [0.2777, 0.0054, 0.3341],
    [0.1051, 1.4046, 1.3846],
    [-0.3309, 0.2148, 0.0951],
    [-4.6342, -5.7991, -19.3324],
    [6.2283, 14.1799, 56.6906],
    [4.7764, -13.7451, -65.353],
    [-5.4355, 4.6459, 26.3124],
  ]);
}

function legend() {
  const host = $('legend'),
    id = look.overlay,
    s = fieldsShown?.scales ?? {},
    paint = tool()?.layer;
  const name = { flow: 'Flow: particles that passed', slope: 'Slope', moved: 'Wear and deposit', height: 'Height' }[id];
  const ends = {
    flow: s.flow ? [`≤ ${Math.round(s.flow[0])}`, `≥ ${Math.round(s.flow[1])}`] : ['', ''],
    slope: ['0°', '60° and more'],
    moved: s.moved ? [`worn ${metres(s.moved / 1.3)}`, `laid ${metres(s.moved / 1.3)}`] : ['', ''],
    height: view.range.map((v) => metres(Math.round(v))),
  }[id];
  host.hidden = !name && !look.contours && !paint;
  if (host.hidden) return;
  const parts = [];
  if (name) {
    const c = el('canvas', { width: 200, height: 1 }),
      g = c.getContext('2d'),
      row = g.createImageData(200, 1);
    for (let x = 0; x < 200; x++) {
      const [r, v, b] = RAMP[id](x / 199);
      row.data.set([r * 255, v * 255, b * 255, 255], x * 4);
    }
    g.putImageData(row, 0, 0);
    parts.push(el('b', {}, name), c, el('div.ends', {}, el('span', {}, ends[0]), el('span', {}, ends[1])));
  }
  if (look.contours) parts.push(el('div', {}, `Contours every ${metres(view.contour).replace('.00', '')}, bold every fifth`));
  if (paint) parts.push(el('div', {}, `Stripes: ${brush.tool === 'rain' ? 'less rain' : brush.tool}`));
  host.replaceChildren(...parts);
}

/** A link to a file of a result; with a token the page fetches it. */
const download = (href, name, text) =>
  el(
    'a.button',
    {
      href,
      download: name,
      onclick: async (e) => {
        if (!api.hasToken()) return;
        e.preventDefault();
        try {
          save(await api.file(href), name);
        } catch (error) {
          toast(said(error), 'bad');
        }
      },
    },
    icon('down'),
    text,
  );

/** The run that makes a time-lapse: its job, and how far it is. */
let lapse = null;
const FRAMES = 48;
const timelapseLabel = () =>
  lapse
    ? [icon('stop'), `${Math.round(lapse.fraction * 100)} %: cancel`]
    : [icon('down'), `Time-lapse of ${FRAMES} pictures`];
function showLapse(now) {
  lapse = now;
  $('timelapse')?.replaceChildren(...timelapseLabel());
}
async function timelapse() {
  if (lapse) {
    await api.cancelJob(lapse.id);
    return;
  }
  const name = `${project.name}-timelapse.apng`,
    { id } = await api.startJob(recipe(), FRAMES);
  showLapse({ id, fraction: 0 });
  const end = async (j) => {
    showLapse(null);
    try {
      if (j.state === 'failed') throw new api.Problem(j.error ?? {}, 0);
      if (j.state === 'succeeded') save(await api.file(`v1/results/${j.result.digest}/timelapse.apng`), name);
    } catch (error) {
      toast(said(error), 'bad');
    }
  };
  api.follow(id, {
    progress: ({ fraction }) => showLapse({ id, fraction }),
    end,
    lost: (error) => {
      showLapse(null);
      toast(said(error), 'bad');
    },
  });
}

const FORMATS = [
  ['tif', 'GeoTIFF'],
  ['png', 'PNG, 16 bits'],
  ['exr', 'OpenEXR'],
  ['npy', 'NumPy'],
  ['r16', 'raw, 16 bits'],
  ['r32', 'raw, floats'],
  ['asc', 'ASCII grid'],
];
const MAPS = [
  'height',
  'flow',
  'wear',
  'deposit',
  'change',
  'slope',
  'aspect',
  'curvature',
  'sky',
  'hardness',
  'rain',
  'vegetation',
  'sediment',
  'biome',
  'biome_colour',
];
let format = 'tif';

function takePage() {
  const r = recipe(),
    fresh = run?.done && R.same(run.recipe, r),
    result = fresh ? run.result : null;
  const maps = r.output?.maps ?? ['height'];
  const toml = () => api.toToml(r);
  const guard = (f) => async () => {
    try {
      await f();
    } catch (error) {
      toast(said(error), 'bad');
    }
  };
  return [
    el('div.problem', { id: 'problem', role: 'alert', hidden: true }),
    el('h2', {}, 'The recipe'),
    el(
      'div.triple',
      {},
      el(
        'button.button',
        { type: 'button', id: 'copy-toml', onclick: guard(async () => copy(await toml(), 'Recipe')) },
        icon('copy'),
        'TOML',
      ),
      el(
        'button.button',
        {
          type: 'button',
          id: 'copy-command',
          onclick: guard(async () => copy(R.asCommand(await toml(), r.name ?? project.name), 'Command')),
        },
        icon('copy'),
        'Command',
      ),
      el(
        'button.button',
        { type: 'button', id: 'copy-curl', onclick: guard(async () => copy(R.asCurl(await toml(), document.baseURI, api.hasToken()), 'curl')) },
        icon('copy'),
        'curl',
      ),
    ),
    el(
      'div.pair.space',
      {},
      el(
        'button.button',
        {
          type: 'button',
          id: 'save-toml',
          onclick: guard(async () => save(new Blob([await toml()], { type: 'application/toml' }), `${project.name}.toml`)),
        },
        icon('down'),
        'Recipe file',
      ),
      el('button.button', { type: 'button', id: 'copy-link', onclick: share }, icon('link'), 'Link'),
    ),
    el('p.hint', {}, 'The same recipe gives the same bytes on every device.'),
    el('h2', {}, 'Maps'),
    result
      ? el(
          'table.facts',
          {},
          el(
            'tbody',
            {},
            [
              ['Size', `${result.width} × ${result.height}, ${metres(result.spacing_m)}`],
              ['Heights', result.range_m.map((v) => metres(v)).join(' to ')],
              ['Digest', `${result.digest.slice(0, 16)}…`],
            ].map(([a, b]) => el('tr', {}, el('th', { scope: 'row' }, a), el('td', {}, b))),
          ),
        )
      : el('p.hint', {}, 'Press Simulate: the maps of the whole land are here then.'),
    result
      ? field(
          'Format',
          'format',
          choice('format', format, FORMATS, (v) => {
            format = v;
            renderPanel();
          }),
        )
      : null,
    result
      ? el(
          'div.pair',
          {},
          result.fields.map((f) =>
            download(`v1/results/${result.digest}/fields/${f}.${format}`, `${project.name}-${f}.${format}`, words(f)),
          ),
        )
      : null,
    result ? download(`v1/results/${result.digest}/bundle.zip`, `${project.name}.zip`, 'Everything, as a bundle') : null,
    el('h2', {}, 'A picture'),
    el(
      'div.pair',
      {},
      el(
        'button.button',
        {
          type: 'button',
          id: 'picture',
          onclick: guard(async () =>
            save(await view.picture(view.host.clientWidth * 2, view.host.clientHeight * 2), `${project.name}.png`),
          ),
        },
        icon('image'),
        'This view',
      ),
      el(
        'button.button',
        { type: 'button', onclick: guard(async () => save(await view.picture(3840, 2160), `${project.name}-4k.png`)) },
        icon('image'),
        '3840 × 2160',
      ),
    ),
    el('h2', {}, 'A time-lapse'),
    el('button.button.full', { type: 'button', id: 'timelapse', onclick: guard(timelapse) }, ...timelapseLabel()),
    el('p.hint', {}, 'The land is made once more, with pictures on the way: an animated PNG.'),
    el('h2', {}, 'Maps of the next run'),
    el(
      'div.chips',
      {},
      MAPS.map((m) =>
        el(
          'button.chip',
          {
            type: 'button',
            'aria-pressed': String(maps.includes(m)),
            onclick: () => {
              set(['output', 'maps'], maps.includes(m) ? maps.filter((x) => x !== m) : [...maps, m], 'maps', true);
            },
          },
          words(m),
        ),
      ),
    ),
  ];
}

// -------------------------------------------------------------------------------------------------------- new, open, keep

function openNew() {
  const host = $('new');
  const start = (name, r) => {
    host.close();
    openRecipe(r, name);
  };
  const flat = {
    schema: 1,
    name: 'flat',
    seed: 1,
    width: 1025,
    height: 1025,
    spacing_m: 10,
    levels: 'auto',
    stage: [{ kind: 'flat', height_m: 0 }, presets[0]?.stage_by_level ?? { kind: 'droplets' }],
    output: { maps: ['height', 'flow', 'wear', 'deposit'], format: 'tif' },
  };
  const pick = el('input', {
    type: 'file',
    hidden: true,
    onchange: (e) => {
      host.close();
      if (e.target.files[0]) openFile(e.target.files[0]);
    },
  });
  host.replaceChildren(
    el(
      'div.inner',
      {},
      el(
        'div.dialog-head',
        {},
        el('h1', {}, 'New land'),
        iconButton('close', 'Close', () => host.close()),
      ),
      el('h2', {}, 'Begin with'),
      el(
        'div.gallery',
        {},
        el(
          'button',
          { type: 'button', onclick: () => start('flat', flat) },
          el('b', {}, 'Flat ground'),
          el('span', {}, 'Draw everything yourself.'),
        ),
        el(
          'button',
          { type: 'button', onclick: () => pick.click() },
          el('b', {}, 'A file …'),
          el('span', {}, 'A height map (PNG, TIFF, EXR, NPY, ASC, HGT) or a recipe. Or drop it on the page.'),
        ),
        pick,
        examples.map((x) =>
          el('button', { type: 'button', onclick: () => start(x.name, example(x)) }, el('b', {}, x.name), el('span', {}, x.text)),
        ),
      ),
      el('h2', {}, 'Kept in this browser'),
      el('div.gallery', { id: 'kept' }),
    ),
  );
  projects().then(
    (list) =>
      $('kept').replaceChildren(
        ...(list.length
          ? list.map((p) =>
              el(
                'button',
                {
                  type: 'button',
                  onclick: () => {
                    host.close();
                    openProject(p);
                  },
                },
                el('b', {}, p.name),
                el('span', {}, `${p.history.entries.length - 1} changes, ${new Date(p.updated).toLocaleString()}`),
                el(
                  'span.with-button',
                  {},
                  el(
                    'span.chip',
                    {
                      role: 'button',
                      tabindex: '0',
                      onclick: async (e) => {
                        e.stopPropagation();
                        await dropProject(p.id);
                        openNew();
                      },
                    },
                    'Forget',
                  ),
                ),
              ),
            )
          : [el('p.hint', {}, 'Nothing yet.')]),
      ),
    () => {},
  );
  if (!host.open) host.showModal();
}

/** An example with the maps that the view colours by. */
function example(x) {
  const maps = new Set([...(x.recipe.output?.maps ?? ['height']), ...R.fieldsOf(x.recipe)]);
  return { ...x.recipe, output: { ...x.recipe.output, maps: [...maps] } };
}

function openRecipe(r, name) {
  project = { id: crypto.randomUUID?.() ?? String(Date.now()), name: name ?? r.name ?? 'land', job: null };
  history = new History(r);
  look.overlay = r.output?.colour === 'biomes' ? 'biomes' : 'ground';
  reset();
}

function openProject(p) {
  project = { id: p.id, name: p.name, job: p.job };
  history = Object.assign(new History(p.history.entries[0].recipe), { entries: p.history.entries, at: p.history.at });
  if (p.look) Object.assign(look, p.look.look);
  if (p.look?.brush) Object.assign(brush, p.look.brush, { tool: 'look' });
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
    controls();
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
  view.after.hasBiome = 0;
  setCompare(false);
  $('name').value = project.name;
  if (kept2?.eye) view.setEye(kept2.eye);
  if (kept2?.sun) view.setSun(kept2.sun.azimuth, kept2.sun.tilt);
  setTool('look');
  applyLook();
  changedRecipe(true);
}

const lookNow = () => ({ look, brush, eye: view.getEye(), sun: view.sun });
let keeping = 0;
function kept() {
  if (!project.id) return;
  clearTimeout(keeping);
  keeping = setTimeout(keep, 250);
}
async function keep() {
  clearTimeout(keeping);
  try {
    await saveProject({
      id: project.id,
      name: project.name,
      job: project.job,
      of: run?.recipe ?? null,
      history: { entries: history.entries, at: history.at },
      look: JSON.parse(JSON.stringify(lookNow())),
    });
    localStorage.setItem('thalweg-project', project.id);
  } catch (error) {
    if (!keep.told) {
      keep.told = true;
      toast(`This browser keeps no projects: ${error.message}`, 'bad');
    }
  }
}
addEventListener('pagehide', keep);
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') keep();
});

async function share() {
  const link = new URL(
    `#land=${await packed({ recipe: recipe(), name: project.name, eye: view.getEye(), sun: view.sun, look })}`,
    location.href.split('#')[0],
  );
  copy(link.href, 'Link');
}

async function openFile(file) {
  try {
    if (/\.(toml|json)$/i.test(file.name)) {
      const text = await file.text();
      openRecipe(/\.json$/i.test(file.name) ? api.parsed(text) : await api.fromToml(text), file.name.replace(/\.\w+$/, ''));
      return;
    }
    toast(`Reading ${file.name}`);
    const input = await api.upload(file);
    const { schema = 1, seed = 1 } = recipe();
    const name = file.name.replace(/\.\w+$/, '');
    openRecipe(
      {
        schema,
        seed,
        name: name.replace(/[^\w.-]+/g, '-'),
        input: { upload: input.digest },
        ...(Math.min(input.width, input.height) >= 64 ? { levels: 'auto' } : {}),
        stage: [presets[0]?.stage_by_level ?? { kind: 'droplets' }],
        output: { maps: ['height', 'flow', 'wear', 'deposit'], format: 'tif' },
      },
      name,
    );
  } catch (error) {
    toast(said(error), 'bad');
  }
}
let dragged = 0;
addEventListener('dragenter', (e) => {
  if (e.dataTransfer?.types.includes('Files')) {
    dragged++;
    $('drop').hidden = false;
  }
});
addEventListener('dragleave', () => {
  if (--dragged <= 0) {
    dragged = 0;
    $('drop').hidden = true;
  }
});
addEventListener('dragover', (e) => e.preventDefault());
addEventListener('drop', (e) => {
  e.preventDefault();
  dragged = 0;
  $('drop').hidden = true;
  const f = e.dataTransfer.files[0];
  if (f) openFile(f);
});
$('name').addEventListener('change', (e) => {
  project.name = e.target.value.trim() || 'land';
  e.target.value = project.name;
  set(['name'], project.name.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'land', 'name');
});

// ------------------------------------------------------------------------------------------------------------ keys, palette

const held = { space: false };
const sized = (f) => {
  brush.radius = Math.min(Math.max(brush.radius * f, 0.004), 0.35);
  renderBrush();
  ring();
};
const stronger = (f) => {
  const key = tool().layer ? 'paint' : ['raise', 'lower', 'noise'].includes(brush.tool) ? 'amount' : 'strength';
  brush[key] = Math.min(Math.max(brush[key] * f, 0.005), 1);
  renderBrush();
};
const nextOverlay = () => {
  const i = OVERLAYS.findIndex(([id]) => id === look.overlay);
  overlay(OVERLAYS[(i + 1) % OVERLAYS.length][0]);
  toast(OVERLAYS[(i + 1) % OVERLAYS.length][1]);
};

const ACTIONS = () => [
  { group: 'Simulate', title: 'Simulate in full size', keys: 'Ctrl+Enter', run: simulate },
  { group: 'Simulate', title: 'Another seed: a new island', keys: 'N', run: reseed },
  { group: 'Simulate', title: 'Before and after', keys: 'B', run: () => setCompare(view.compare === null) },
  { group: 'Simulate', title: 'Play the time-lapse', keys: 'P', run: play },
  { group: 'Land', title: 'New land, open, examples', keys: 'Ctrl+Alt+N', run: openNew },
  { group: 'Land', title: 'Undo', keys: 'Ctrl+Z', run: undo },
  { group: 'Land', title: 'Redo', keys: 'Ctrl+Shift+Z', run: redo },
  ...TOOLS.map((t) => ({ group: 'Brush', title: t.label, keys: t.key, more: t.text, run: () => setTool(t.id) })),
  { group: 'Brush', title: 'Larger', keys: ']', run: () => sized(1.15) },
  { group: 'Brush', title: 'Smaller', keys: '[', run: () => sized(1 / 1.15) },
  { group: 'Brush', title: 'Stronger', keys: '=', run: () => stronger(1.15) },
  { group: 'Brush', title: 'Weaker', keys: '-', run: () => stronger(1 / 1.15) },
  ...OVERLAYS.map(([id, label]) => ({ group: 'Colours', title: label, keys: id === 'flow' ? 'H' : undefined, run: () => overlay(id) })),
  { group: 'View', title: 'Next colours', keys: 'O', run: nextOverlay },
  {
    group: 'View',
    title: 'Contours',
    keys: 'C',
    run: () => {
      look.contours = !look.contours;
      applyLook();
      if (tabNow === 'view') renderPanel();
    },
  },
  {
    group: 'View',
    title: 'Show the whole land',
    keys: 'F',
    run: () => {
      view.home();
      kept();
    },
  },
  {
    group: 'View',
    title: 'From above',
    run: () => {
      view.goal.tilt = 89;
      view.goal.azimuth = 180;
      view.draw();
    },
  },
  { group: 'View', title: 'Dark or light', keys: 'T', run: () => switchTheme() },
  {
    group: 'Take away',
    title: 'Copy the recipe (TOML)',
    run: () =>
      api.toToml(recipe()).then(
        (t) => copy(t, 'Recipe'),
        (e) => toast(said(e), 'bad'),
      ),
  },
  {
    group: 'Take away',
    title: 'Copy the command',
    run: () =>
      api.toToml(recipe()).then(
        (t) => copy(R.asCommand(t, project.name), 'Command'),
        (e) => toast(said(e), 'bad'),
      ),
  },
  {
    group: 'Take away',
    title: 'Copy as curl',
    run: () =>
      api.toToml(recipe()).then(
        (t) => copy(R.asCurl(t, document.baseURI, api.hasToken()), 'curl'),
        (e) => toast(said(e), 'bad'),
      ),
  },
  { group: 'Take away', title: 'Copy a link', run: share },
  {
    group: 'Take away',
    title: 'A picture of this view',
    run: async () => save(await view.picture(view.host.clientWidth * 2, view.host.clientHeight * 2), `${project.name}.png`),
  },
  { group: 'Help', title: 'Keys', keys: '?', run: showKeys },
  {
    group: 'Pages',
    title: 'Dungeons',
    run: () => {
      location.href = 'dungeons.html';
    },
  },
  {
    group: 'Pages',
    title: 'Biomes',
    run: () => {
      location.href = 'biomes.html';
    },
  },
  ...examples.map((x) => ({ group: 'Example', title: x.name, more: x.text, run: () => openRecipe(example(x), x.name) })),
  ...presets.map((p) => ({
    group: 'Preset',
    title: p.name,
    more: p.text,
    run: () => {
      const i = (recipe().stage ?? []).findIndex((s) => s.kind === 'droplets'),
        want = recipe().levels ? p.stage_by_level : p.stage;
      if (i >= 0 && want) {
        history.push(R.withValue(recipe(), ['stage', i], want), `preset ${p.name}`);
        changedRecipe(true);
      }
    },
  })),
  ...settingsOf(recipe()),
];

/** Each setting of the recipe's stages, to be found by its words. */
function settingsOf(r) {
  const to = (kind, id) => {
    open.add(kind);
    openMore.add(kind);
    tab('recipe');
    setTimeout(() => {
      const n = $(id) ?? $(`${id}-from`);
      if (n) {
        pages.scrollTop += n.getBoundingClientRect().top - pages.getBoundingClientRect().top - pages.clientHeight / 2;
        n.focus({ preventScroll: true });
      }
    }, 30);
  };
  const of = (s, path) =>
    (catalogue.stages.find((a) => a.kind === s.kind)?.parameters ?? []).map((p) => ({
      group: words(s.kind),
      title: words(p.name),
      more: p.text,
      run: () => to(s.kind, `${path.join('-')}-${p.name}`),
    }));
  return [
    ...['seed', 'size', 'spacing', 'sea'].map((id) => ({ group: 'Land', title: words(id), run: () => to('', id) })),
    ...(r.stage ?? []).flatMap((s, i) => [...of(s, ['stage', i]), ...(s.with ?? []).flatMap((w, n) => of(w, ['stage', i, 'with', n]))]),
  ];
}

const openPalette = palette($('palette'), ACTIONS);
$('find').addEventListener('click', openPalette);

function showKeys() {
  const rows = [
    ...ACTIONS()
      .filter((a) => a.keys)
      .map((a) => [a.keys, `${a.group}: ${a.title}`]),
    ['Ctrl K', 'Search settings and actions'],
    ['Ctrl', 'While drawing: the contrary'],
    ['Shift', 'While drawing: smooth'],
    ['Space', 'While held: drag turns the view'],
    ['Right button', 'Drag turns; with Shift it moves'],
    ['Wheel', 'Nearer, towards the pointer'],
    ['Arrows', 'Turn the view; with a brush: move it, Enter applies it'],
    ['Page Up, Page Down', 'Nearer, farther'],
  ];
  $('keys').replaceChildren(
    el(
      'div.inner',
      {},
      el(
        'div.dialog-head',
        {},
        el('h1', {}, 'Keys'),
        iconButton('close', 'Close', () => $('keys').close()),
      ),
      el(
        'table.key-table',
        {},
        el(
          'tbody',
          {},
          rows.map(([k, t]) => el('tr', {}, el('td', {}, el('kbd', {}, k)), el('td', {}, t))),
        ),
      ),
    ),
  );
  $('keys').showModal();
}

addEventListener('keydown', (e) => {
  const typing =
    e.target.matches?.('input:not([type=range]):not([type=checkbox]), textarea, select') || document.querySelector('dialog[open]');
  const ctrl = e.ctrlKey || e.metaKey,
    key = e.key.toLowerCase();
  if (ctrl && key === 'k') {
    e.preventDefault();
    if (!$('palette').open) openPalette();
    return;
  }
  if (document.querySelector('dialog[open]')) return;
  if (ctrl && key === 'enter') {
    e.preventDefault();
    simulate();
    return;
  }
  if (typing) return;
  if (ctrl && key === 'z') {
    e.preventDefault();
    if (e.shiftKey) redo();
    else undo();
    return;
  }
  if (ctrl && key === 'y') {
    e.preventDefault();
    redo();
    return;
  }
  if (ctrl && e.altKey && key === 'n') {
    e.preventDefault();
    openNew();
    return;
  }
  if (ctrl || e.altKey) return;
  if (e.code === 'Space' && !e.target.matches?.('button, summary, [role=button]')) {
    held.space = true;
    e.preventDefault();
    return;
  }
  const t = TOOLS.find((one) => one.key.toLowerCase() === key);
  if (t) {
    setTool(t.id);
    return;
  }
  const plain = {
    '[': () => sized(1 / 1.12),
    ']': () => sized(1.12),
    '-': () => stronger(1 / 1.12),
    '=': () => stronger(1.12),
    '+': () => stronger(1.12),
    n: reseed,
    b: () => setCompare(view.compare === null),
    p: play,
    o: nextOverlay,
    h: () => overlay(look.overlay === 'flow' ? 'ground' : 'flow'),
    c: () => {
      look.contours = !look.contours;
      applyLook();
      if (tabNow === 'view') renderPanel();
    },
    f: () => {
      view.home();
      kept();
    },
    t: () => switchTheme(),
    '?': showKeys,
    escape: () => {
      if (stroke) cancelStroke();
      else if (job && ['queued', 'running'].includes(job.state)) cancel();
      else if (view.compare !== null) setCompare(false);
      else if (brush.tool !== 'look') setTool('look');
    },
  }[key];
  if (plain) {
    e.preventDefault();
    plain();
    return;
  }
  if (e.target !== canvas && e.target !== document.body) return;
  const d = { arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, -1], arrowdown: [0, 1] }[key];
  if (d && (brush.tool === 'look' || e.shiftKey)) {
    e.preventDefault();
    view.orbit(d[0] * 18, d[1] * 18);
    kept();
    return;
  }
  if (d) {
    e.preventDefault();
    const a = (view.eye.azimuth * Math.PI) / 180,
      step = brush.radius * 0.5;
    const east = -(Math.cos(a) * d[0] + Math.sin(a) * d[1]),
      south = -(Math.sin(a) * d[0] - Math.cos(a) * d[1]);
    const from = hover ?? { gx: 0.5, gy: 0.5 },
      gx = Math.min(Math.max(from.gx + east * step, 0), 1),
      gy = Math.min(Math.max(from.gy + south * step, 0), 1);
    const p = { gx, gy, x_m: gx * view.extent[0], y_m: gy * view.extent[1], height_m: view.heightAt(gx, gy) ?? 0 };
    ring(p);
    readout(p);
  } else if (key === 'enter' && brush.tool !== 'look' && live.grid) {
    e.preventDefault();
    const p = hover ?? { gx: 0.5, gy: 0.5 };
    begin(e, p);
    end();
  } else if (key === 'pageup') {
    e.preventDefault();
    view.zoom(0.85);
    kept();
  } else if (key === 'pagedown') {
    e.preventDefault();
    view.zoom(1 / 0.85);
    kept();
  }
});
addEventListener('keyup', (e) => {
  if (e.code === 'Space') held.space = false;
});

const split = $('split');
split.addEventListener('pointerdown', (e) => split.setPointerCapture(e.pointerId));
split.addEventListener('pointermove', (e) => {
  if (split.hasPointerCapture(e.pointerId)) placeSplit(e.clientX / innerWidth);
});
split.addEventListener('keydown', (e) => {
  const d = { ArrowLeft: -0.03, ArrowRight: 0.03 }[e.key];
  if (d) {
    e.preventDefault();
    e.stopPropagation();
    placeSplit(view.compare + d);
  }
});

// -------------------------------------------------------------------------------------------------------------------- start

const switchTheme = theme((dark) => view.setDark(dark));
$('tools').append(
  ...TOOLS.flatMap((t) => [
    t.id === 'raise' || t.id === 'hardness' ? el('hr') : null,
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
const insets = () => {
  const folded = innerWidth <= 1080;
  view.setInset({ left: folded ? 0 : 60, right: folded ? 0 : 314, top: 60, bottom: 66 });
};
addEventListener('resize', insets);
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
  view,
});

async function start() {
  controls();
  timeline();
  try {
    [catalogue, presets, examples] = await Promise.all([api.stages(), api.presets(), api.examples()]);
  } catch (error) {
    toast(`The service does not answer: ${error.message}`, 'bad');
    return;
  }
  const fragment = location.hash.match(/^#land=([\w-]+)/);
  if (fragment) {
    try {
      const land = await unpacked(fragment[1]);
      window.history.replaceState(null, '', location.pathname);
      Object.assign(look, land.look);
      project = { id: crypto.randomUUID?.() ?? String(Date.now()), name: land.name ?? 'land', job: null };
      history = new History(land.recipe);
      reset(land);
      return;
    } catch {
      toast('This link holds no land', 'bad');
    }
  }
  const last = localStorage.getItem('thalweg-project'),
    all = last ? await projects().catch(() => []) : [];
  const mine = all.find((p) => p.id === last);
  if (mine) {
    openProject(mine);
    return;
  }
  toast('Drag turns the land. Keys 1 to 6 draw on it. Ctrl+Enter makes it in full size.');
  const island = examples.find((x) => x.name === 'island') ?? examples[0];
  openRecipe(island ? example(island) : recipe(), island?.name);
}
start();

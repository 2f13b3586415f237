// Four methods of blending biomes beside each other, on the same seed.

import * as api from './api.js';
import { frameOf } from './land.js';
import {
  copy,
  el,
  icon,
  iconButton,
  nextSeed,
  save,
  said,
  seedOf,
  seedRow,
  theme,
  toast,
  words,
} from './ui.js';
import { numberRow } from './forms.js';

const $ = (id) => document.getElementById(id);
const METHODS = [
  ['scattered', 'Points of a jittered triangular lattice: borders favour no direction.'],
  ['full', 'Every cell is a point: true, and slow.'],
  ['convolved', 'Points of a square grid: borders lean towards it.'],
  ['lerped', 'A square grid with lines between: it shows.'],
];
const s = {
  seed: 11,
  cells: 320,
  frequency: 0.04,
  padding: 32,
  radius: 24,
  interval: 8,
  feature: 250,
  heights: 'replace',
  show: 'both',
};

const recipe = (method) => ({
  schema: 2,
  name: `biomes-${method}`,
  seed: s.seed,
  width: s.cells,
  height: s.cells,
  spacing_m: 1,
  stage: [
    { kind: 'diamond_square', relief_m: 0 },
    {
      kind: 'biomes',
      method,
      feature_cells: s.feature,
      heights: s.heights,
      ...(method === 'scattered'
        ? { frequency: s.frequency, padding_cells: s.padding }
        : { radius_cells: s.radius }),
      ...(['convolved', 'lerped'].includes(method) ? { interval_cells: s.interval } : {}),
    },
  ],
  output: { maps: ['height', 'biome', 'biome_colour'], format: 'tif', colour: 'biomes' },
});

const cards = new Map(
  METHODS.map(([method, text]) => {
    const canvas = el('canvas', { role: 'img', 'aria-label': `${words(method)}: ${text}` }),
      time = el('span.hint');
    const card = el(
      'figure',
      {},
      canvas,
      el('figcaption', {}, el('b', {}, words(method)), el('span', {}, text), time),
    );
    $('sheet').append(card);
    return [method, { canvas, time, frame: null }];
  }),
);

let number = 0,
  stop = null;
async function make() {
  const mine = ++number;
  stop?.abort();
  stop = new AbortController();
  window.history.replaceState(null, '', `#${new URLSearchParams(s)}`);
  // One after another: each is one request, and the quick ones come first.
  for (const method of ['scattered', 'lerped', 'convolved', 'full']) {
    const card = cards.get(method),
      begun = performance.now();
    card.time.textContent = '…';
    try {
      for await (const record of api.preview(recipe(method), {
        cells: Math.max(64, s.cells),
        fields: ['height', 'biome_colour', 'biome'],
        signal: stop.signal,
      }))
        card.frame = frameOf(record, recipe(method));
      if (mine !== number) return;
      card.time.textContent = `${Math.round(performance.now() - begun)} ms`;
      draw(card);
    } catch (error) {
      if (error.name === 'AbortError') return;
      card.time.textContent = '';
      toast(said(error), 'bad');
      return;
    }
  }
}

/** Light from the north-west, and some from everywhere. */
const shade = (dx, dy) =>
  0.34 + 0.88 * Math.max(0, (0.5 * dx + 0.5 * dy + 0.71) / Math.sqrt(1 + dx * dx + dy * dy));

function draw({ canvas, frame }) {
  if (!frame) return;
  const { width, height, data } = frame,
    image = new ImageData(width, height),
    h = data.height,
    c = data.biome_colour;
  for (let y = 0, k = 0; y < height; y++)
    for (let x = 0; x < width; x++, k++) {
      const dx = (h[k + (x < width - 1 ? 1 : 0)] - h[k - (x > 0 ? 1 : 0)]) / 2,
        dy = (h[k + (y < height - 1 ? width : 0)] - h[k - (y > 0 ? width : 0)]) / 2;
      const l = s.show === 'colour' ? 1 : shade(dx * 0.45, dy * 0.45);
      const v = s.show === 'relief' ? 0xb4b0a8 : c ? c[k] : 0x888888;
      image.data.set([(v >> 16) * l, ((v >> 8) & 255) * l, (v & 255) * l, 255], k * 4);
    }
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d').putImageData(image, 0, 0);
}

function settings() {
  const again = () => {
    clearTimeout(settings.timer);
    settings.timer = setTimeout(make, 150);
  };
  const row = (name, label, low, high, more = {}) =>
    numberRow({
      id: name,
      label,
      value: s[name],
      low,
      high,
      min: low,
      ...more,
      oninput: (v) => {
        s[name] = v;
        again();
      },
    });
  const chips = (name, label, all, on) => [
    el('h2', {}, label),
    el(
      'div.chips',
      { role: 'radiogroup', 'aria-label': label },
      all.map(([id, text]) =>
        el(
          'button.chip',
          {
            type: 'button',
            role: 'radio',
            'aria-checked': String(s[name] === id),
            onclick: () => {
              s[name] = id;
              settings();
              on();
            },
          },
          text,
        ),
      ),
    ),
  ];
  const guard = (f) => async () => {
    try {
      await f();
    } catch (error) {
      toast(said(error), 'bad');
    }
  };
  $('settings').replaceChildren(
    el('h2', {}, 'Land'),
    seedRow(
      s.seed,
      (v) => {
        s.seed = v;
        again();
      },
      another,
    ),
    row('cells', 'Cells', 128, 768, { integer: true }),
    row('feature', 'Feature', 40, 800, { integer: true }),
    ...chips(
      'heights',
      'Heights',
      [
        ['replace', 'Of the biomes'],
        ['keep', 'Flat'],
      ],
      make,
    ),
    ...chips(
      'show',
      'Show',
      [
        ['both', 'Colours and relief'],
        ['colour', 'Colours'],
        ['relief', 'Relief'],
      ],
      () => cards.forEach(draw),
    ),
    el('h2', {}, 'Scattered'),
    row('frequency', 'Frequency', 0.01, 0.12, { step: 0.001 }),
    row('padding', 'Padding', 4, 96, { integer: true }),
    el('h2', {}, 'The others'),
    row('radius', 'Radius', 4, 64, { integer: true }),
    row('interval', 'Interval', 2, 32, { integer: true }),
    el('h2', {}, 'Take away'),
    el(
      'div.pair',
      {},
      METHODS.map(([m]) =>
        el(
          'button.button',
          {
            type: 'button',
            title: 'The recipe as TOML',
            onclick: guard(async () =>
              save(new Blob([await api.toToml(recipe(m))]), `biomes-${m}.toml`),
            ),
          },
          icon('down'),
          words(m),
        ),
      ),
    ),
    el(
      'div.pair.space',
      {},
      el('button.button', { type: 'button', onclick: picture }, icon('image'), 'Picture'),
      el(
        'button.button',
        {
          type: 'button',
          onclick: guard(async () => copy(await api.toToml(recipe('scattered')), 'Recipe')),
        },
        icon('copy'),
        'Recipe',
      ),
    ),
  );
}

/** The four maps as one PNG. */
function picture() {
  const n = s.cells,
    sheet = el('canvas', { width: n * 2, height: n * 2 }),
    g = sheet.getContext('2d');
  METHODS.forEach(([m], i) => g.drawImage(cards.get(m).canvas, (i % 2) * n, Math.floor(i / 2) * n));
  sheet.toBlob((blob) => save(blob, `biomes-${s.seed}.png`));
}
function another() {
  s.seed = nextSeed(s.seed);
  settings();
  make();
}

addEventListener('keydown', (e) => {
  if (
    e.target.matches('input[type=number], input[type=text]') ||
    e.ctrlKey ||
    e.metaKey ||
    e.altKey
  )
    return;
  if (e.key.toLowerCase() === 'n') another();
  else if (e.key.toLowerCase() === 't') switchTheme();
});
const switchTheme = theme();
$('page-buttons').append(iconButton('sun', 'Dark or light', switchTheme, 'T'));
for (const [k, v] of new URLSearchParams(location.hash.slice(1)))
  if (k === 'seed') s.seed = seedOf(v) ?? s.seed;
  else if (k in s) s[k] = typeof s[k] === 'number' ? Number(v) || s[k] : v;
window.thalweg = {
  state: () => ({ ...s, made: [...cards].filter(([, c]) => c.frame).map(([m]) => m) }),
};
settings();
make();

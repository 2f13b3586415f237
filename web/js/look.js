// How the land is looked at: colours with their legend, contours, the sun.

import { $, view } from './base.js';
import { devices } from './back.js';
import { choice, field, numberRow, switchRow } from './forms.js';
import { el, metres, said, save, toast } from './ui.js';
import { brush, fieldsShown, look, recipe, tool } from './editor.js';
import { on, tell } from './signals.js';

export const OVERLAYS = [
  ['ground', 'Ground'],
  ['flow', 'Flow'],
  ['slope', 'Slope'],
  ['moved', 'Erosion and deposition'],
  ['height', 'Height'],
  ['biomes', 'Biomes'],
  ['clay', 'Clay'],
];

export function viewPage() {
  const has = fieldsShown?.frame.data ?? {};
  const lacks = { flow: !has.flow, moved: !has.erosion, biomes: !has.biome_colour };
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
    switchRow({
      id: 'contours',
      label: 'Contours',
      checked: look.contours,
      onchange: (on) => {
        look.contours = on;
        applyLook();
      },
    }),
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
    ...[
      ['waves', 'Moving water', 'animate'],
      ['shows-things', 'Trees and rocks', 'showsThings'],
    ].map(([id, label, key]) =>
      switchRow({
        id,
        label,
        checked: view[key],
        onchange: (on) => {
          view[key] = on;
          view.draw();
        },
      }),
    ),
    el('h2', {}, 'Device'),
    ...(devices ? deviceRows() : []),
    el(
      'p.hint',
      {},
      `${view.device.replace(/^ANGLE \((.*)\)$/, '$1')}${view.software ? ' – drawn by the processor, with fewer pixels and a coarser preview.' : ''}`,
    ),
  ];
}

/** Where the page makes lands, and a report of whether its card makes the same ones. */
function deviceRows() {
  const check = async ({ currentTarget: button }) => {
    button.disabled = true;
    try {
      const report = await devices.check(recipe());
      const text = JSON.stringify(report, null, 1);
      save(new Blob([text], { type: 'application/json' }), 'thalweg-device.json');
      if (report.equal) toast(`${report.devices[1]} makes the same words`);
      else toast('This device makes other words: please send the report', 'bad');
    } catch (error) {
      toast(said(error), 'bad');
    } finally {
      button.disabled = false;
    }
  };
  return [
    field('Lands are made by', 'device', choice('device', devices.get(), devices.all, devices.set)),
    el(
      'button.button.full',
      { type: 'button', id: 'check-device', onclick: check },
      'Check this device',
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
  const svg = node('svg', {
    viewBox: '-50 -50 100 100',
    class: 'dial',
    role: 'img',
    'aria-label': 'Where the sun stands: drag it',
  });
  const line = node('line', { x1: 0, y1: 0 }),
    spot = node('circle', { r: 6, class: 'spot' });
  svg.append(
    node('circle', { r: 46 }),
    node('circle', { r: 24, class: 'ring' }),
    node('text', { y: -37 }, 'N'),
    line,
    spot,
  );
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
      tell('kept');
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
      tell('kept');
    },
  });
  const drag = (e) => {
    if (!(e.buttons & 1)) return;
    const b = svg.getBoundingClientRect(),
      x = ((e.clientX - b.left) / b.width - 0.5) * 100,
      y = ((e.clientY - b.top) / b.height - 0.5) * 100;
    view.setSun(
      (Math.atan2(x, -y) * 180) / Math.PI,
      90 * (1 - Math.min(Math.hypot(x, y), 46) / 46),
    );
    place();
    rowA.set(Math.round(view.sun.azimuth));
    rowT.set(Math.round(view.sun.tilt));
    tell('kept');
  };
  svg.addEventListener('pointerdown', (e) => {
    svg.setPointerCapture(e.pointerId);
    drag(e);
  });
  svg.addEventListener('pointermove', drag);
  place();
  return el('div', { id: 'sun' }, svg, el('div.rows', {}, rowA, rowT));
}

/** The colours before those of flow. */
let beforeFlow = 'ground';
export const toggleFlow = () => overlay(look.overlay === 'flow' ? beforeFlow : 'flow');

export function overlay(id) {
  if (id === 'flow' && look.overlay !== 'flow') beforeFlow = look.overlay;
  look.overlay = id;
  applyLook();
  tell('panel', 'view');
}

export function applyLook() {
  view.u.uOverlay.value =
    { ground: 0, flow: 1, slope: 2, moved: 3, height: 4, biomes: 5, clay: 6 }[look.overlay] ?? 0;
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
  tell('kept');
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
  const name = {
    flow: 'Flow: particles that passed',
    slope: 'Slope',
    moved: 'Erosion and deposition',
    height: 'Height',
  }[id];
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
    parts.push(
      el('b', {}, name),
      c,
      el('div.ends', {}, el('span', {}, ends[0]), el('span', {}, ends[1])),
    );
  }
  if (look.contours)
    parts.push(
      el('div', {}, `Contours every ${metres(view.contour).replace('.00', '')}, bold every fifth`),
    );
  if (paint)
    parts.push(el('div', {}, `Stripes: ${brush.tool === 'rain' ? 'less rain' : brush.tool}`));
  host.replaceChildren(...parts);
}

on('look', applyLook);
on('legend', legend);

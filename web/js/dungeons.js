// Dungeons, drawn step by step: how a floor grows, and what comes to stand in it.

import * as api from './api.js';
import {
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
import { numberRow, switchRow } from './forms.js';

const $ = (id) => document.getElementById(id);
const KINDS = [
  ['isaac', 'Isaac', 'Single rooms without loops, after The Binding of Isaac.'],
  ['rebirth', 'Rebirth', 'Large rooms and loops, after Rebirth.'],
  ['tinykeep', 'TinyKeep', 'Many rooms, corridors between the large ones, after TinyKeep.'],
];
const COLOURS = {
  normal: '#8894a0',
  start: '#3d8fe0',
  boss: '#d9483b',
  treasure: '#e2b93b',
  shop: '#4fa85a',
  sacrifice: '#9a5cd0',
  library: '#5d6be0',
  challenge: '#e0823b',
  secret: '#5a6b7a',
  super_secret: '#7c4ea0',
  hallway: '#5d6873',
  corridor: '#4a545e',
};
const SETTINGS = {
  isaac: [
    ['level', 'Level', 1, 12, 4],
    ['locks', 'Locks', 0, 8, 2],
    ['labyrinth', 'Labyrinth', false],
    ['full_health', 'Full health', false],
  ],
  rebirth: [
    ['level', 'Level', 1, 12, 5],
    ['locks', 'Locks', 0, 8, 2],
    ['large', 'Large rooms, %', 0, 100, 35],
    ['large_boss', 'Large boss, %', 0, 100, 50],
    ['labyrinth', 'Labyrinth', false],
    ['full_health', 'Full health', false],
  ],
  tinykeep: [
    ['room_count', 'Rooms', 20, 600, 150],
    ['locks', 'Locks', 0, 8, 2],
    ['loops', 'Loops', 0, 1, 0.15, 0.01],
    ['main_factor', 'Main rooms', 1, 2, 1.25, 0.01],
    ['deviation_px', 'Deviation, px', 1, 40, 15],
    ['ratio_max', 'Longest ratio', 1.1, 3, 1.6, 0.05],
  ],
};
const FILES = [
  ['json', 'JSON'],
  ['txt', 'Letters'],
  ['svg', 'SVG'],
  ['png', 'PNG'],
  ['tmj', 'Tiled'],
  ['ldtk', 'LDtk'],
];

let kind = 'isaac',
  seed = 7,
  values = Object.fromEntries(
    Object.entries(SETTINGS).map(([k, list]) => [
      k,
      Object.fromEntries(list.map(([name, , a, , b]) => [name, typeof a === 'boolean' ? a : b])),
    ]),
  );
let dungeon = null,
  steps = [],
  at = 0,
  playing = false,
  started = 0;
const canvas = $('plan'),
  g = canvas.getContext('2d');
const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const request = () => ({
  kind,
  seed,
  ...Object.fromEntries(
    Object.entries(values[kind]).map(([k, v]) => [k, k === 'labyrinth' ? (v ? 100 : 0) : v]),
  ),
});

let asked = 0;
async function make() {
  const number = ++asked;
  try {
    const asking = request();
    const [made, grown] = await Promise.all([
      api.dungeon(asking).then((r) => r.json()),
      asking.kind === 'tinykeep' ? api.dungeon(asking, 'steps').then((r) => r.json()) : null,
    ]);
    if (number !== asked) return;
    dungeon = made;
    steps = grown ? keepSteps(made, grown) : floorSteps(made);
    window.history.replaceState(
      null,
      '',
      `#${new URLSearchParams({ kind, seed, ...values[kind] })}`,
    );
    at = steps.length;
    play(true);
  } catch (error) {
    toast(said(error), 'bad');
  }
}

// A step has a caption and what is new; a picture is all steps up to one.

function floorSteps(d) {
  const list = [],
    seen = new Set(),
    late = new Set(['secret', 'super_secret']);
  for (const r of d.rooms.filter((r) => r.role !== 'secret')) {
    seen.add(r.id);
    list.push({
      text: r.id === 0 ? 'The start' : `Room ${seen.size}: grows from its neighbour`,
      room: r,
      span: 1,
    });
  }
  const ends = d.rooms.filter(
    (r) =>
      d.edges.filter((e) => e.a === r.id || e.b === r.id).length === 1 &&
      r.id !== 0 &&
      !late.has(r.role),
  );
  list.push({
    text: `${ends.length} dead ends, where only one room touches`,
    ends: ends.map((r) => r.id),
    span: 4,
  });
  for (const r of [...d.rooms].sort((a, b) => (a.role === 'boss' ? -1 : b.role === 'boss' ? 1 : 0)))
    if (!['normal', 'start', 'secret'].includes(r.role))
      list.push({
        text: `${words(r.role)}${r.role === 'boss' ? ': the farthest dead end' : ''}`,
        role: r.id,
        span: 3,
      });
  for (const r of d.rooms.filter((r) => r.role === 'secret'))
    list.push({
      text: 'Secret room: where it touches the most rooms',
      room: r,
      role: r.id,
      span: 4,
    });
  return ending(d, list);
}

/**
 * The rooms that were thrown, as they lie after some steps, until those are dropped that are not
 * kept.
 */
const thrown = (now) =>
  now.some((s) => s.dropped) ? [] : (now.findLast((s) => s.boxes)?.boxes ?? []);

/**
 * `grown` is how the layout came about, as the service tells it: all rooms, also those that no
 * corridor will cross.
 */
function keepSteps(d, grown) {
  const list = [],
    moves = grown.filter((s) => s.what === 'rooms move apart'),
    mains = (s) => s.boxes.filter((b) => b[4] !== 'faint').length,
    of = (s, mark) =>
      s.lines
        .filter((l) => l[4] === mark)
        .map(([ax, ay, bx, by]) => [
          [ax + 0.5, ay + 0.5],
          [bx + 0.5, by + 0.5],
        ]);
  for (const s of grown) {
    if (s.what === 'rooms appear')
      list.push({ text: `${s.boxes.length} rooms, thrown into a circle`, boxes: s.boxes, span: 7 });
    else if (s.what === 'rooms move apart')
      list.push({
        text: 'They move apart until none overlaps',
        boxes: s.boxes,
        span: s === moves.at(-1) ? 5 : 1,
      });
    else if (s.what === 'cells of 1 x 1 fill the gaps')
      list.push({
        text: 'Cells of 1 × 1 fill the gaps',
        cells: s.boxes.filter((b) => b[4] === 'cell'),
        span: 4,
      });
    else if (s.what === 'main rooms')
      list.push({
        text: `${mains(s)} main rooms: both sides above ${d.settings.main_factor} times the mean`,
        boxes: s.boxes,
        main: true,
        span: 6,
      });
    else if (s.what === 'triangulation')
      list.push({
        text: 'Delaunay’s triangles between their middles',
        lines: of(s, 'triangulation'),
        span: 5,
      });
    else if (s.what === 'spanning tree')
      list.push({ text: 'The shortest tree that joins them', tree: of(s, 'tree'), span: 5 });
    else if (s.what === 'edges added back') {
      const loops = of(s, 'extra');
      list.push({ text: `${loops.length} further edges, for loops`, loops, span: 4 });
    }
  }
  for (const e of d.edges) list.push({ text: 'A corridor for each edge', path: e.path, span: 0.8 });
  const halls = d.rooms.filter((r) => r.role === 'hallway').length;
  list.push({
    text: `${halls} rooms that a corridor crosses become hallways, and cells fill the rest of it`,
    halls: true,
    span: 6,
  });
  list.push({
    text: `${d.settings.room_count - d.rooms.length} rooms that none crosses are dropped`,
    dropped: true,
    span: 4,
  });
  return ending(d, list);
}

function ending(d, list) {
  list.push({ text: 'Doors', doors: true, span: 3 });
  for (const k of d.keys)
    list.push({
      text: `Key ${k.id + 1} lies where it can be reached before its lock`,
      key: k,
      span: 3,
    });
  list.push({
    text: `From the start to the boss: ${d.critical_path.length - 1} doors`,
    path2: true,
    span: 3,
  });
  list.push({ text: 'Walls, furniture and what stands there', tiles: true, span: 4 });
  return list;
}

function draw() {
  const w = canvas.clientWidth,
    h = canvas.clientHeight,
    dpr = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(w * dpr) || canvas.height !== Math.round(h * dpr)) {
    canvas.width = Math.round(w * dpr);
    canvas.height = Math.round(h * dpr);
  }
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
  g.clearRect(0, 0, w, h);
  if (!dungeon) return;
  const keep = dungeon.kind === 'tinykeep',
    now = steps.slice(0, at),
    has = (k) => now.some((s) => k in s);
  // All plans are in tiles. As long as rooms are seen that will be dropped, there is place for
  // them.
  const kept = dungeon.rooms.map((r) => [r.tiles.x, r.tiles.y, r.tiles.width, r.tiles.height]),
    all = steps.find((s) => s.main)?.boxes;
  let box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y, wide, high] of all && !has('doors') ? all : kept)
    box = [
      Math.min(box[0], x),
      Math.min(box[1], y),
      Math.max(box[2], x + wide),
      Math.max(box[3], y + high),
    ];
  const scale = Math.min((w - 90) / (box[2] - box[0]), (h - 110) / (box[3] - box[1]));
  g.translate(w / 2, h / 2 - 8);
  g.scale(scale, scale);
  g.translate(-(box[0] + box[2]) / 2, -(box[1] + box[3]) / 2);
  const px = 1 / scale,
    text = ink('--text'),
    line = ink('--line');
  const cells = (r) =>
    keep || !r.cells
      ? [[r.tiles.x, r.tiles.y, r.tiles.width, r.tiles.height]]
      : r.cells.map((c) => [((c % 10) - 1) * 15, Math.floor(c / 10) * 9, 15, 9]);
  const middle = (r) => [r.tiles.x + r.tiles.width / 2, r.tiles.y + r.tiles.height / 2];
  const roles = new Set(now.filter((s) => 'role' in s).map((s) => s.role));
  const colour = (r) =>
    COLOURS[r.role === 'start' || roles.has(r.id) || (keep && has('main')) ? r.role : 'normal'] ??
    COLOURS.normal;
  const shape = (r, dx = 0, dy = 0, inset = 0.35) => {
    g.beginPath();
    for (const [x, y, cw, ch] of cells(r))
      g.rect(x + dx + inset, y + dy + inset, cw - inset * 2, ch - inset * 2);
  };

  if (now.some((s) => s.tiles)) drawTiles();
  else if (keep) {
    const halls = has('halls'),
      boxes = thrown(now);
    g.lineWidth = 3;
    g.strokeStyle = COLOURS.corridor;
    g.lineJoin = 'round';
    g.lineCap = 'square';
    for (const s of now)
      if (s.path) {
        g.beginPath();
        s.path.forEach(([x, y], i) => g[i ? 'lineTo' : 'moveTo'](x, y));
        g.stroke();
      }
    const cellsOf = now.find((s) => s.cells)?.cells;
    if (cellsOf && !has('dropped')) {
      g.globalAlpha = 0.3;
      g.fillStyle = COLOURS.corridor;
      for (const [x, y] of cellsOf) g.fillRect(x + 0.1, y + 0.1, 0.8, 0.8);
      g.globalAlpha = 1;
    }
    const room = ([x, y, wide, high], colour, alpha) => {
      g.beginPath();
      g.rect(x + 0.25, y + 0.25, wide - 0.5, high - 0.5);
      g.globalAlpha = alpha;
      g.fillStyle = colour;
      g.fill();
      g.globalAlpha = Math.max(alpha, 0.5);
      g.strokeStyle = ink('--back');
      g.lineWidth = 1.4 * px;
      g.stroke();
      g.globalAlpha = 1;
    };
    for (const b of boxes)
      if (b[4] !== 'faint') room(b, '#c2604f', 0.95);
      else room(b, COLOURS.normal, halls ? 0.15 : has('main') ? 0.35 : 0.85);
    if (halls)
      dungeon.rooms.forEach((r, i) =>
        room(
          kept[i],
          r.role === 'hallway' ? COLOURS.hallway : has('doors') ? COLOURS[r.role] : '#c2604f',
          0.95,
        ),
      );
    const lines = (list, style, width, dash = []) => {
      g.strokeStyle = style;
      g.lineWidth = width * px;
      g.setLineDash(dash.map((v) => v * px));
      for (const [[ax, ay], [bx, by]] of list) {
        g.beginPath();
        g.moveTo(ax, ay);
        g.lineTo(bx, by);
        g.stroke();
      }
      g.setLineDash([]);
    };
    if (!now.some((s) => s.path)) {
      for (const s of now)
        if (s.lines && !has('tree')) lines(s.lines, text, 1);
        else if (s.tree) lines(s.tree, '#7fd08a', 2.6);
        else if (s.loops) lines(s.loops, '#f0a35a', 2.4, [7, 5]);
    }
  } else {
    const shown = now.filter((s) => s.room).map((s) => s.room),
      ends = now.findLast((s) => s.ends)?.ends ?? [];
    for (const r of shown) {
      shape(r);
      g.fillStyle = colour(r);
      g.globalAlpha = r.role === 'secret' ? 0.75 : 1;
      g.fill();
      g.globalAlpha = 1;
      if (ends.includes(r.id) && !roles.has(r.id)) {
        g.strokeStyle = '#ffd27a';
        g.lineWidth = 3 * px;
        g.stroke();
      }
    }
    const last = now.at(-1)?.room;
    if (last) {
      shape(last);
      g.strokeStyle = text;
      g.lineWidth = 2.5 * px;
      g.stroke();
    }
    g.fillStyle = '#fff';
    g.textAlign = 'center';
    g.textBaseline = 'middle';
    g.font = '600 3px system-ui, sans-serif';
    const letter = {
      start: 'S',
      boss: 'B',
      treasure: 'T',
      shop: '$',
      sacrifice: '†',
      library: 'L',
      challenge: 'C',
      secret: '?',
      super_secret: '??',
    };
    for (const r of shown) {
      const [x, y] = [cells(r)[0][0] + 7.5, cells(r)[0][1] + 4.5];
      g.fillText(
        colour(r) === COLOURS.normal ? String(r.id + 1) : (letter[r.role] ?? ''),
        x,
        y + 0.2,
      );
    }
  }
  if (!now.some((s) => s.tiles)) {
    if (has('doors'))
      for (const d of dungeon.doors) {
        const flat = d.side === 'north' || d.side === 'south',
          n = keep ? d.width : 3;
        g.fillStyle =
          d.way === 'locked' ? '#e8c24a' : d.way === 'breakable' ? '#aab4bd' : '#7a5230';
        g.fillRect(
          d.x + 0.5 - (flat ? n / 2 : keep ? 0.5 : 0.9),
          d.y + 0.5 - (flat ? (keep ? 0.5 : 0.9) : n / 2),
          flat ? n : keep ? 1 : 1.8,
          flat ? (keep ? 1 : 1.8) : n,
        );
      }
    for (const s of now)
      if (s.key) {
        const [x, y] = middle(dungeon.rooms.find((r) => r.id === s.key.room)),
          n = keep ? 1 : 0.9;
        g.fillStyle = '#e8c24a';
        g.strokeStyle = '#5a4300';
        g.lineWidth = px;
        g.beginPath();
        g.arc(x, y - 2.2 * n, 1.2 * n, 0, 7);
        g.rect(x - 0.3 * n, y - 1.2 * n, 0.7 * n, 3 * n);
        g.fill();
        g.stroke();
      }
  }
  if (now.some((s) => s.path2)) {
    const byId = new Map(dungeon.rooms.map((r) => [r.id, r])),
      way = [];
    dungeon.critical_path.forEach((id, i) => {
      const before = dungeon.critical_path[i - 1],
        e =
          keep && i
            ? dungeon.edges.find(
                (o) => (o.a === before && o.b === id) || (o.b === before && o.a === id),
              )
            : null;
      if (e) way.push(...(e.a === before ? e.path : [...e.path].reverse()));
      way.push(middle(byId.get(id)));
    });
    g.beginPath();
    way.forEach(([x, y], i) => g[i ? 'lineTo' : 'moveTo'](x, y));
    g.lineJoin = 'round';
    g.setLineDash([6 * px, 5 * px]);
    g.strokeStyle = 'rgba(0,0,0,.5)';
    g.lineWidth = 5 * px;
    g.stroke();
    g.strokeStyle = '#fff';
    g.lineWidth = 2.2 * px;
    g.stroke();
    g.setLineDash([]);
  }
  $('caption').textContent = now.at(-1)?.text ?? '';
  g.strokeStyle = line;
}

const TILE = {
  '#': '#39424b',
  '.': '#b8a98c',
  ',': '#8d8472',
  '+': '#7a5230',
  '=': '#e8c24a',
  '%': '#727c86',
  o: '#6d6a64',
  '~': '#4a3a2c',
  '^': '#c25f4f',
};
const THING = {
  player: '#3d8fe0',
  enemy: '#d9483b',
  boss: '#8f1d13',
  item: '#e2b93b',
  ware: '#4fa85a',
  fire: '#f07a2c',
  key: '#ffe27a',
};
function drawTiles() {
  // Whole pixels a tile, then scaled as a picture: no seams.
  const { rows, width, height } = dungeon.tiles,
    n = 12,
    sheet = el('canvas', { width: width * n, height: height * n }),
    t = sheet.getContext('2d');
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      const c = row[x];
      if (c === ' ') continue;
      t.fillStyle = '#.,'.includes(c) ? TILE[c] : TILE['.'];
      t.fillRect(x * n, y * n, n, n);
      if (c === '.' && (x + y) % 2) {
        t.fillStyle = 'rgba(0,0,0,.035)';
        t.fillRect(x * n, y * n, n, n);
      }
      if ('#.,'.includes(c)) continue;
      t.fillStyle = TILE[c] ?? TILE['.'];
      if (c === 'o') {
        t.beginPath();
        t.arc((x + 0.5) * n, (y + 0.5) * n, n * 0.42, 0, 7);
        t.fill();
      } else t.fillRect(x * n, y * n, n, n);
    }
  });
  t.globalAlpha = 0.28;
  for (const r of dungeon.rooms.filter((one) => !['normal', 'hallway'].includes(one.role))) {
    t.fillStyle = COLOURS[r.role];
    const parts =
      r.cells && dungeon.kind !== 'tinykeep'
        ? r.cells.map((k) => [((k % 10) - 1) * 15 + 1, Math.floor(k / 10) * 9 + 1, 13, 7])
        : [[r.tiles.x, r.tiles.y, r.tiles.width, r.tiles.height]];
    for (const [x, y, w, h] of parts) t.fillRect(x * n, y * n, w * n, h * n);
  }
  g.imageSmoothingQuality = 'high';
  g.drawImage(sheet, 0, 0, width, height);
  for (const s of dungeon.spawns) {
    const big = s.thing === 'boss' || s.thing === 'player' ? 0.85 : 0.42;
    g.fillStyle = THING[s.thing] ?? '#fff';
    g.strokeStyle = 'rgba(0,0,0,.55)';
    g.lineWidth = 0.1;
    g.beginPath();
    if (s.thing === 'item' || s.thing === 'ware' || s.thing === 'key')
      g.rect(s.x + 0.5 - big, s.y + 0.5 - big, big * 2, big * 2);
    else g.arc(s.x + 0.5, s.y + 0.5, big, 0, 7);
    g.fill();
    g.stroke();
  }
}

// --------------------------------------------------------------------------------------- animation

const slider = el('input', {
  type: 'range',
  id: 'when',
  min: '0',
  step: '1',
  'aria-label': 'Step',
  oninput: (e) => {
    playing = false;
    at = Number(e.target.value);
    show();
  },
});
const playButton = iconButton(
  'play',
  'Play step by step',
  () => {
    if (playing) {
      playing = false;
      show();
    } else play(at >= steps.length);
  },
  'P',
);
const count = el('span.hint.count');
$('timeline').append(playButton, el('div.track', {}, slider), count);

function show() {
  slider.max = steps.length;
  slider.value = at;
  slider.style.setProperty('--at', `${(at / Math.max(steps.length, 1)) * 100}%`);
  slider.setAttribute('aria-valuetext', steps[at - 1]?.text ?? '');
  count.textContent = `${at} of ${steps.length}`;
  playButton.replaceChildren(icon(playing ? 'pause' : 'play'));
  draw();
}

function play(fromStart) {
  if (matchMedia('(prefers-reduced-motion: reduce)').matches && fromStart && !playing) {
    at = steps.length;
    show();
    if (!started) {
      started = 1;
      return;
    }
  }
  const mine = ++started;
  if (fromStart) at = 0;
  playing = true;
  let due = 0;
  const step = (now) => {
    if (!playing || mine !== started) return;
    if (now >= due) {
      at++;
      show();
      if (at >= steps.length) {
        playing = false;
        show();
        return;
      }
      due = now + 130 * (steps[at - 1]?.span ?? 1);
    }
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// ---------------------------------------------------------------------------------------- settings

function settings() {
  const v = values[kind],
    change = (name) => (x) => {
      v[name] = x;
      clearTimeout(settings.timer);
      settings.timer = setTimeout(make, 120);
    };
  $('settings').replaceChildren(
    el('h2', {}, 'Kind'),
    el(
      'div.chips',
      { role: 'radiogroup', 'aria-label': 'Kind' },
      KINDS.map(([id, label, text]) =>
        el(
          'button.chip',
          {
            type: 'button',
            role: 'radio',
            title: text,
            'aria-checked': String(id === kind),
            onclick: () => {
              kind = id;
              settings();
              make();
            },
          },
          label,
        ),
      ),
    ),
    el('p.hint', {}, KINDS.find(([id]) => id === kind)[2]),
    el('h2', {}, 'Settings'),
    seedRow(
      seed,
      (v) => {
        seed = v;
        make();
      },
      another,
    ),
    ...SETTINGS[kind].map(([name, label, low, high, , step]) =>
      typeof low === 'boolean'
        ? switchRow({ id: name, label, checked: v[name], onchange: change(name) })
        : numberRow({
            id: name,
            label,
            value: v[name],
            low,
            high,
            min: low,
            integer: !step,
            step,
            oninput: change(name),
          }),
    ),
    el('h2', {}, 'Colours'),
    el(
      'ul.roles',
      {},
      Object.entries(COLOURS)
        .filter(([k]) =>
          (kind === 'tinykeep'
            ? ['normal', 'start', 'boss', 'treasure', 'shop', 'hallway', 'corridor']
            : Object.keys(COLOURS).filter((c) => !['hallway', 'corridor'].includes(c))
          ).includes(k),
        )
        .map(([k, c]) => {
          const i = el('i');
          i.style.background = c;
          return el('li', {}, i, words(k));
        }),
    ),
    el('h2', {}, 'Take away'),
    el(
      'div.pair',
      {},
      FILES.map(([f, label]) =>
        el(
          'button.button',
          {
            type: 'button',
            onclick: async () => {
              try {
                save(await (await api.dungeon(request(), f)).blob(), `${kind}-${seed}.${f}`);
              } catch (error) {
                toast(said(error), 'bad');
              }
            },
          },
          icon('down'),
          label,
        ),
      ),
    ),
    el('p.hint.mono.command', {}, command()),
  );
}
const command = () =>
  `thalweg dungeon ${kind} --seed ${seed} ${Object.entries(values[kind])
    .filter(
      ([k, v]) =>
        (v !== false && v !== SETTINGS[kind].find(([n]) => n === k)?.[4]) || k === 'level',
    )
    .map(([k, v]) => `--${k.replaceAll('_', '-')}${v === true ? '' : ` ${v}`}`)
    .join(' ')} -o floor.json`;
function another() {
  seed = nextSeed(seed);
  settings();
  make();
}

addEventListener('keydown', (e) => {
  if (
    e.target.matches('input[type=number], input[type=text], select') ||
    e.ctrlKey ||
    e.metaKey ||
    e.altKey
  )
    return;
  const key = e.key.toLowerCase();
  if (key === 'n') another();
  else if (key === 'p') playButton.click();
  else if (key === 't') switchTheme();
});
const switchTheme = theme(() => show());
$('page-buttons').append(iconButton('sun', 'Dark or light', switchTheme, 'T'));
new ResizeObserver(draw).observe($('stage'));

const given = new URLSearchParams(location.hash.slice(1));
if (SETTINGS[given.get('kind')]) kind = given.get('kind');
seed = seedOf(given.get('seed') ?? '') ?? seed;
for (const [name, , low] of SETTINGS[kind])
  if (given.has(name))
    values[kind][name] =
      typeof low === 'boolean' ? given.get(name) === 'true' : Number(given.get(name));
window.thalweg = {
  state: () => ({
    kind,
    seed,
    at,
    steps: steps.length,
    rooms: dungeon?.rooms.length ?? 0,
    thrown: thrown(steps.slice(0, at)).length,
    playing,
  }),
};
settings();
make();

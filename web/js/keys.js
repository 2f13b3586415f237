// Keys, and the palette of settings and actions.

import { WATER_ROWS } from './waterform.js';
import { THINGS_ROWS } from './thingsform.js';
import { isPage } from './back.js';
import * as R from './recipe.js';
import { $, view } from './base.js';
import { palette } from './palette.js';
import { el, iconButton, said, save, toast, words } from './ui.js';
import { changedRecipe, redo, reseed, undo } from './changes.js';
import { tell } from './signals.js';
import {
  begin,
  brush,
  cancel,
  cancelStroke,
  catalogue,
  end,
  examples,
  history,
  hover,
  job,
  live,
  look,
  openRecipe,
  placeSplit,
  presets,
  project,
  recipe,
  ring,
  setCompare,
  setTool,
  simulate,
  sized,
  stride,
  stroke,
  stronger,
  switchTheme,
  TOOLS,
} from './editor.js';
import { applyLook, overlay, OVERLAYS, toggleFlow } from './look.js';
import { open, openMore, pages, tab } from './panel.js';
import { canvas, held, readout } from './pointer.js';
import { openNew, share } from './projects.js';
import { copyCommand, copyCurl, copyToml } from './export.js';
import { play } from './timeline.js';
import { openTour } from './tour.js';
import { openVariants } from './variants.js';

const nextOverlay = () => {
  const i = OVERLAYS.findIndex(([id]) => id === look.overlay);
  overlay(OVERLAYS[(i + 1) % OVERLAYS.length][0]);
  toast(OVERLAYS[(i + 1) % OVERLAYS.length][1]);
};

/** What the service refuses is said. */
const tried = (f) => () => f().catch((error) => toast(said(error), 'bad'));

const ACTIONS = () => [
  { group: 'Simulate', title: 'Simulate in full size', keys: 'Ctrl+Enter', run: simulate },
  { group: 'Simulate', title: 'Another seed: a new land', keys: 'N', run: reseed },
  {
    group: 'Simulate',
    title: 'Variants: other seeds to choose from',
    keys: 'M',
    run: openVariants,
  },
  {
    group: 'Simulate',
    title: 'Before and after',
    keys: 'B',
    run: () => setCompare(view.compare === null),
  },
  { group: 'Simulate', title: 'Play the time-lapse', keys: 'P', run: play },
  { group: 'Land', title: 'New land, open, examples', keys: 'Ctrl+Alt+N', run: openNew },
  { group: 'Land', title: 'Undo', keys: 'Ctrl+Z', run: undo },
  { group: 'Land', title: 'Redo', keys: 'Ctrl+Shift+Z', run: redo },
  ...TOOLS.map((t) => ({
    group: 'Brush',
    title: t.label,
    keys: t.key,
    more: t.text,
    run: () => setTool(t.id),
  })),
  { group: 'Brush', title: 'Larger', keys: ']', run: () => sized(1.15) },
  { group: 'Brush', title: 'Smaller', keys: '[', run: () => sized(1 / 1.15) },
  { group: 'Brush', title: 'Stronger', keys: '=', run: () => stronger(1.15) },
  { group: 'Brush', title: 'Weaker', keys: '-', run: () => stronger(1 / 1.15) },
  ...OVERLAYS.map(([id, label]) => ({
    group: 'Colours',
    title: label,
    keys: id === 'flow' ? 'H' : undefined,
    run: () => overlay(id),
  })),
  { group: 'View', title: 'Next colours', keys: 'O', run: nextOverlay },
  {
    group: 'View',
    title: 'Contours',
    keys: 'C',
    run: () => {
      look.contours = !look.contours;
      applyLook();
      tell('panel', 'view');
    },
  },
  {
    group: 'View',
    title: 'Show the whole land',
    keys: 'F',
    run: () => {
      view.home();
      tell('kept');
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
  { group: 'Take away', title: 'Copy the recipe (TOML)', run: tried(copyToml) },
  { group: 'Take away', title: 'Copy the command', run: tried(copyCommand) },
  ...(isPage ? [] : [{ group: 'Take away', title: 'Copy as curl', run: tried(copyCurl) }]),
  { group: 'Take away', title: 'Copy a link', run: share },
  {
    group: 'Take away',
    title: 'A picture of this view',
    run: async () =>
      save(
        await view.picture(view.host.clientWidth * 2, view.host.clientHeight * 2),
        `${project.name}.png`,
      ),
  },
  { group: 'Help', title: 'Keys', keys: '?', run: showKeys },
  { group: 'Help', title: 'The tour', run: openTour },
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
  ...examples.map((x) => ({
    group: 'Example',
    title: x.name,
    more: x.text,
    run: () => openRecipe(R.withWater(x.recipe), x.name),
  })),
  ...presets.map((p) => ({
    group: 'Preset',
    title: p.name,
    more: p.text,
    run: () => {
      const i = R.eroder(recipe());
      if (i >= 0) {
        history.push(R.withPreset(recipe(), i, p), `preset ${p.name}`);
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
        pages.scrollTop +=
          n.getBoundingClientRect().top -
          pages.getBoundingClientRect().top -
          pages.clientHeight / 2;
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
    ...['seed', 'size', 'spacing', 'sea'].map((id) => ({
      group: 'Land',
      title: words(id),
      run: () => to('', id),
    })),
    ...WATER_ROWS.map(([id, title, more]) => ({
      group: 'Water',
      title,
      more,
      run: () => to('', id),
    })),
    ...THINGS_ROWS.map(([id, title, more]) => ({
      group: 'Things',
      title,
      more,
      run: () => to('', id),
    })),
    ...(r.stage ?? []).flatMap((s, i) => [
      ...of(s, ['stage', i]),
      ...(s.interleave ?? []).flatMap((w, n) => of(w, ['stage', i, 'interleave', n])),
    ]),
  ];
}

const openPalette = palette($('palette'), ACTIONS);
$('find').addEventListener('click', openPalette);

export function showKeys() {
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
    e.target.matches?.('input:not([type=range]):not([type=checkbox]), textarea, select') ||
    document.querySelector('dialog[open]');
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
    m: openVariants,
    b: () => setCompare(view.compare === null),
    p: play,
    o: nextOverlay,
    h: toggleFlow,
    c: () => {
      look.contours = !look.contours;
      applyLook();
      tell('panel', 'view');
    },
    f: () => {
      view.home();
      tell('kept');
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
    tell('kept');
    return;
  }
  if (d) {
    e.preventDefault();
    const a = (view.eye.azimuth * Math.PI) / 180,
      step = stride();
    const east = -(Math.cos(a) * d[0] + Math.sin(a) * d[1]),
      south = -(Math.sin(a) * d[0] - Math.cos(a) * d[1]);
    const from = hover ?? { gx: 0.5, gy: 0.5 },
      gx = Math.min(Math.max(from.gx + east * step, 0), 1),
      gy = Math.min(Math.max(from.gy + south * step, 0), 1);
    const p = {
      gx,
      gy,
      x_m: gx * view.extent[0],
      y_m: gy * view.extent[1],
      height_m: view.heightAt(gx, gy) ?? 0,
    };
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
    tell('kept');
  } else if (key === 'pagedown') {
    e.preventDefault();
    view.zoom(1 / 0.85);
    tell('kept');
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

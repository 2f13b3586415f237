// The bar at the top, progress, and what changes the recipe as a whole.

import * as R from './recipe.js';
import { $, view } from './base.js';
import { el, icon, iconButton, nextSeed, seconds, toast, words } from './ui.js';
import {
  at,
  cellsOf,
  current,
  draw,
  end,
  extentOf,
  follow,
  ground,
  ground0,
  groundKey,
  history,
  job,
  lift,
  live,
  mode,
  openSea,
  recipe,
  run,
  shown,
  simulate,
  switchTheme,
} from './editor.js';
import { showKeys } from './keys.js';
import { renderPanel } from './panel.js';
import { kept, openNew, share } from './projects.js';
import { compareButton, modes, playButton, playing } from './timeline.js';

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

export function controls() {
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

export function undo() {
  end();
  const label = history.undo();
  if (label) after(`Undone: ${label}`);
}
export function redo() {
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
export function changedRecipe(panel = true) {
  view.u.uDry.value = (recipe().stage ?? []).some((s) => s.kind === 'wind') ? 1 : 0;
  const sea = R.seaOf(recipe());
  if (shown) view.setLand({ extent: extentOf(current().grid), sea, ocean: openSea(shown, current().grid, sea) });
  follow();
  kept();
  controls();
  if (panel) renderPanel();
}

export function set(path, value, label, panel = false) {
  history.push(R.withValue(recipe(), path, value), label ?? words(String(path.at(-1))), true);
  changedRecipe(panel);
}

export function reseed() {
  set(['seed'], nextSeed(recipe().seed ?? 0), 'seed', true);
  toast(`Seed ${recipe().seed}`);
}

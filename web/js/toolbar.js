// The bar at the top, progress, and what changes the recipe as a whole.

import { $, view } from './base.js';
import { el, icon, iconButton, seconds, words } from './ui.js';
import { history, job, mode, run, simulate, switchTheme } from './editor.js';
import { showKeys } from './keys.js';
import { redo, reseed, undo } from './changes.js';
import { on, tell } from './signals.js';
import { openNew, share } from './projects.js';
import { openVariants } from './variants.js';
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
  iconButton('variants', 'Variants: other seeds to choose from', () => openVariants(), 'M'),
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
      tell('kept');
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
  undoButton.title = history.canUndo
    ? `Undo: ${history.entries[history.at].label} (Ctrl+Z)`
    : 'Nothing to undo';
  const works = job && ['queued', 'running'].includes(job.state);
  $('simulate').classList.toggle('stop', !!works);
  $('simulate').replaceChildren(icon(works ? 'stop' : 'play'), works ? 'Cancel' : 'Simulate');
  $('simulate').title = works
    ? 'Cancel the simulation (Esc)'
    : 'Make the land in full size (Ctrl+Enter)';
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
      el('progress', {
        max: '1',
        value: p.fraction ?? 0,
        'aria-label': 'Progress of the simulation',
      }),
    );
  }
  compareButton.setAttribute('aria-pressed', String(view.compare !== null));
  playButton.replaceChildren(icon(playing ? 'pause' : 'play'));
  modes.hidden = !run?.done;
  [...modes.children].forEach((b, i) =>
    b.setAttribute('aria-pressed', String((mode === 'run') === (i === 1))),
  );
}
on('controls', controls);

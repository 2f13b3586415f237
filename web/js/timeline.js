// The bar at the bottom: time, before and after, and the badge of bytes.

import * as R from './recipe.js';
import { $, view } from './base.js';
import { copy, el, icon, iconButton, toast } from './ui.js';
import { on, tell } from './signals.js';
import { at, current, live, mode, run, running, scrub, setCompare, setMode } from './editor.js';

export let playing = false;
export function play() {
  if (playing) {
    playing = false;
    tell('controls');
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
      tell('controls');
    }
  };
  requestAnimationFrame(step);
  tell('controls');
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
export const playButton = iconButton('play', 'Play how the land came about', play, 'P');
export const compareButton = iconButton(
  'compare',
  'Before and after, side by side',
  () => setCompare(view.compare === null),
  'B',
);
const badgeHost = el('button.badge', {
  type: 'button',
  onclick: () => {
    const f = live.frames.at(-1);
    if (f?.digest) copy(f.digest, 'Digest');
  },
});
export const modes = el(
  'span.modes',
  { role: 'group', 'aria-label': 'What is shown' },
  el('button', { type: 'button', onclick: () => setMode('live') }, 'Preview'),
  el('button', { type: 'button', onclick: () => setMode('run') }, 'Full size'),
);
$('timeline').append(
  playButton,
  el('div.track', {}, slider, ticks),
  compareButton,
  modes,
  badgeHost,
);

function timeline() {
  const { frames } = current();
  const names = frames.map((f, i) =>
    f.level === null
      ? 'block-out'
      : f.final && mode === 'run' && i === frames.length - 1
        ? `${f.width}²`
        : `${f.width}²`,
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
      el(
        'span',
        {},
        el('b', {}, 'Water is running'),
        last?.near
          ? 'its surroundings to come'
          : last?.level != null
            ? `${last.width} × ${last.height} cells`
            : 'block-out',
      ),
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
      el(
        'b',
        {},
        ok ? `${run.equal} of ${run.checked} levels: same bytes` : 'Bytes of the final levels',
      ),
      el('span.mono', {}, short(last.digest)),
    ),
  );
}

on('timeline', timeline);
on('badge', badge);

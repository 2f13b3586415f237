// The first use: a tour of five steps that can be closed, and what to do on level ground.

import * as R from './recipe.js';
import { $ } from './base.js';
import { el, iconButton } from './ui.js';
import { on } from './signals.js';
import { recipe } from './editor.js';

/** Whether a browser has had the tour. */
const KEY = 'thalweg-tour';
/** What each step is about, and on which side of it the step stands. */
const STEPS = [
  [
    'tools',
    'right',
    'Choose a brush and drag over the land. Ctrl does the contrary, Shift smooths.',
  ],
  [
    'panel',
    'left',
    'Seed, size, rivers, trees and every stage. Ctrl+K finds a setting by its name.',
  ],
  ['time', 'above', 'The land as it is made, from coarse to fine: drag the slider, or press P.'],
  ['simulate', 'below', 'Makes the land in full size, with the bytes that every machine makes.'],
  ['tab-take', 'left', 'Take it away: maps, files for an engine, pictures, the recipe.'],
];
const GAP = 10;

/** Places a box beside an element, within the window. */
function beside(box, target, side) {
  const at = target.getBoundingClientRect(),
    { width, height } = box.getBoundingClientRect();
  const [x, y] = {
    right: [at.right + GAP, at.top],
    left: [at.left - width - GAP, at.top],
    above: [at.left + (at.width - width) / 2, at.top - height - GAP],
    below: [at.right - width, at.bottom + GAP],
  }[side];
  const within = (v, most) => `${Math.max(Math.min(v, most - GAP), GAP)}px`;
  box.style.left = within(x, innerWidth - width);
  box.style.top = within(y, innerHeight - height);
}

export function openTour() {
  const host = $('tour');
  const close = () => {
    localStorage.setItem(KEY, 'seen');
    host.hidden = true;
    host.replaceChildren();
    removeEventListener('resize', place);
  };
  let step = 0;
  const place = () => beside(host, $(STEPS[step][0]), STEPS[step][1]);
  const show = () => {
    const last = step === STEPS.length - 1;
    const next = el(
      'button.primary',
      {
        type: 'button',
        id: 'tour-next',
        onclick: () => {
          step++;
          if (last) close();
          else show();
        },
      },
      last ? 'Done' : 'Next',
    );
    host.replaceChildren(
      iconButton('close', 'Close the tour', close),
      el('p', {}, STEPS[step][2]),
      el('div.tour-foot', {}, el('span', {}, `${step + 1} of ${STEPS.length}`), next),
    );
    host.hidden = false;
    place();
  };
  addEventListener('resize', place);
  show();
}

/** The tour, where nobody has seen it. */
export function firstTour() {
  if (localStorage.getItem(KEY) === null) openTour();
}

// Level ground without a stroke has nothing to see.
on('controls', () => {
  const r = recipe(),
    isEmpty = r.stage?.[0]?.kind === 'flat' && !R.strokesOf(r).length && !r.input;
  $('empty').hidden = !isEmpty;
});

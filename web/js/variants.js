// The page of variants: the same recipe with other seeds, as small pictures to choose from.

import * as api from './api.js';
import { $ } from './base.js';
import { el, iconButton, nextSeed, said, toast } from './ui.js';
import { set } from './changes.js';
import { recipe } from './editor.js';

/** Pictures of a page, their cells, and how many are made at a time. */
const COUNT = 12;
const CELLS = 192;
const AT_ONCE = 2;

let stop = null;

/** Shows variants from a seed on. The first one shown is the land as it is. */
export function openVariants() {
  const host = $('variants');
  show(host, recipe().seed ?? 0);
  if (!host.open) host.showModal();
}

function show(host, first) {
  stop?.abort();
  stop = new AbortController();
  const { signal } = stop;
  host.addEventListener('close', () => stop.abort(), { once: true });
  const seeds = [first];
  while (seeds.length < COUNT) seeds.push(nextSeed(seeds.at(-1)));
  const cards = seeds.map((seed) => card(host, seed));
  const more = el(
    'button',
    { type: 'button', id: 'more-variants', onclick: () => show(host, nextSeed(seeds.at(-1))) },
    `The next ${COUNT}`,
  );
  host.replaceChildren(
    el(
      'div.inner',
      {},
      el(
        'div.dialog-head',
        {},
        el('h1', {}, 'Variants'),
        iconButton('close', 'Close', () => host.close()),
      ),
      el('p.hint', {}, 'The same recipe with other seeds. Choose one; Undo brings this land back.'),
      el('div.gallery', {}, cards),
      el('div.dialog-foot', {}, more),
    ),
  );
  draw(seeds, cards, signal);
}

function card(host, seed) {
  const choose = () => {
    host.close();
    if (String(seed) === String(recipe().seed ?? 0)) return;
    set(['seed'], seed, 'seed', true);
    toast(`Seed ${seed}`);
  };
  const name =
    String(seed) === String(recipe().seed ?? 0) ? `Seed ${seed}, as now` : `Seed ${seed}`;
  return el(
    'button.variant',
    { type: 'button', 'data-seed': String(seed), 'aria-busy': 'true', onclick: choose },
    el('span.picture'),
    el('b', {}, name),
  );
}

/** Fills the cards as their pictures come. What the service refuses is said once. */
async function draw(seeds, cards, signal) {
  const land = recipe();
  const waiting = seeds.map((seed, i) => [seed, cards[i]]);
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [seed, card] = next;
      const blob = await api.picture(land, { seed, cells: CELLS, signal });
      const image = el('img', { src: URL.createObjectURL(blob), alt: '' });
      image.addEventListener('load', () => URL.revokeObjectURL(image.src), { once: true });
      card.querySelector('.picture').replaceChildren(image);
      card.removeAttribute('aria-busy');
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } catch (error) {
    if (signal.aborted) return;
    stop.abort();
    toast(said(error), 'bad');
  }
}

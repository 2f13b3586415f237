// The settings on the right: pages, and the forms of stages.

import * as R from './recipe.js';
import { $, view } from './base.js';
import { cardButtons, choice, field, numberRow, stageForm, switchRow } from './forms.js';
import { el, icon, seedRow, words } from './ui.js';
import { change, changedRecipe, reseed, set } from './changes.js';
import { waterRows } from './waterform.js';
import { thingsRows } from './thingsform.js';
import { on } from './signals.js';
import { catalogue, cellM, fail, history, presets, problem, recipe } from './editor.js';
import { viewPage } from './look.js';
import { takePage } from './export.js';

const TABS = [
  ['recipe', 'Recipe'],
  ['view', 'View'],
  ['take', 'Take away'],
];
export let tabNow = 'recipe';
export const open = new Set(['incision', 'droplets', 'snowballs', 'wind']),
  openMore = new Set();
const tabButtons = TABS.map(([id, label]) =>
  el(
    'button',
    {
      type: 'button',
      role: 'tab',
      id: `tab-${id}`,
      'aria-controls': 'page',
      onclick: () => tab(id),
    },
    label,
  ),
);
document.querySelector('.tabs').append(...tabButtons);
document.querySelector('.tabs').addEventListener('keydown', (e) => {
  const d = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (d) {
    tab(TABS[(TABS.findIndex(([id]) => id === tabNow) + d + TABS.length) % TABS.length][0]);
    tabButtons.find((b) => b.id === `tab-${tabNow}`).focus();
  }
});
export const pages = document.querySelector('.pages');
pages.id = 'page';
pages.setAttribute('role', 'tabpanel');
pages.tabIndex = -1;

export function tab(id) {
  tabNow = id;
  renderPanel();
}
on('tab', tab);

/** The slider of the sea goes from the lowest to the highest ground that is shown. */
let seaRow = null;
on('range', () => seaRow?.limit(Math.floor(view.range[0]), Math.ceil(view.range[1])));

// Drawn again whichever page is shown, or only if it is the one that is told.
on('panel', (page = tabNow) => page === tabNow && renderPanel());

export function renderPanel() {
  for (const b of tabButtons) {
    const on = b.id === `tab-${tabNow}`;
    b.setAttribute('aria-selected', String(on));
    b.tabIndex = on ? 0 : -1;
  }
  const keep = pages.scrollTop,
    focus = document.activeElement?.id;
  pages.replaceChildren(
    ...{ recipe: recipePage, view: viewPage, take: takePage }[tabNow]().filter(Boolean),
  );
  pages.scrollTop = keep;
  if (focus && pages.querySelector(`#${CSS.escape(focus)}`))
    $(focus).focus({ preventScroll: true });
  fail(problem);
}

/** Where the window of a world without an end lies. */
function placeRows(r, width, height) {
  const origin = r.origin ?? [0, 0];
  const move = (to, panel = false) => set(['origin'], to, 'place', panel);
  const row = (axis, id, label, side) =>
    numberRow({
      id,
      label,
      sub: 'cells',
      value: origin[axis],
      low: origin[axis] - 4 * side,
      high: origin[axis] + 4 * side,
      integer: true,
      text: `The first cell of the window, counted to the ${id} from the origin of the world`,
      oninput: (v) =>
        move(axis ? [(recipe().origin ?? [0, 0])[0], v] : [v, (recipe().origin ?? [0, 0])[1]]),
    });
  return [
    row(0, 'east', 'East', width),
    row(1, 'south', 'South', height),
    el(
      'div.chips',
      { role: 'group', 'aria-label': 'Move the window by half of it' },
      [
        ['North', 0, -1],
        ['West', -1, 0],
        ['East', 1, 0],
        ['South', 0, 1],
      ].map(([label, x, y]) =>
        el(
          'button.chip',
          {
            type: 'button',
            'aria-label': `Half a window ${label.toLowerCase()}`,
            onclick: () =>
              move(
                [origin[0] + (x * width) / 2, origin[1] + (y * height) / 2].map(Math.round),
                true,
              ),
          },
          label,
        ),
      ),
    ),
  ];
}

function recipePage() {
  const r = recipe(),
    [width, height] = R.sizeOf(r),
    sea = R.seaOf(r),
    spacing = cellM();
  const sizes = [
    // Unreal takes 505, 1009 and so on; Unity a power of two and 1.
    ...[257, 505, 513, 1009, 1025, 2017, 2049, 4033, 4097, 8129, 8193].map((n) => [n, n]),
  ];
  if (!sizes.some(([w, h]) => w === width && h === height)) sizes.unshift([width, height]);
  const eroder = R.eroder(r);
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
    ...(r.endless ? placeRows(r, width, height) : []),
    switchRow({
      id: 'levels',
      label: 'Coarse to fine',
      checked: r.levels,
      text: 'Erode from coarse to fine: valleys get trunks, tributaries and gullies',
      onchange: (on) => set(['levels'], on ? 'auto' : undefined, 'levels', true),
    }),
    switchRow({
      id: 'sea',
      label: 'Sea',
      checked: sea !== null,
      onchange: (on) => {
        const level = Math.round(view.range[0] + (view.range[1] - view.range[0]) * 0.2);
        change(R.withSea(r, on ? level : undefined), 'sea', true);
      },
    }),
    sea !== null
      ? (seaRow = numberRow({
          id: 'sea-level',
          label: 'Sea level',
          unit: 'm',
          value: sea,
          low: Math.floor(view.range[0]),
          high: Math.ceil(view.range[1]),
          oninput: (v) => change(R.withSea(recipe(), v), 'sea level'),
        }))
      : null,
    eroder >= 0 ? el('h2', {}, 'Rain and rivers') : null,
    eroder >= 0
      ? el(
          'div.chips',
          { role: 'group', 'aria-label': 'Presets of erosion' },
          presets.map((p) => {
            const want = R.withPreset(r, eroder, p);
            return el(
              'button.chip',
              {
                type: 'button',
                title: p.text,
                'aria-pressed': String(R.same(want, r)),
                onclick: () => {
                  history.push(want, `preset ${p.name}`);
                  changedRecipe(true);
                },
              },
              words(p.name),
            );
          }),
        )
      : null,
    ...waterRows(r),
    ...(r.endless ? [] : thingsRows(r)),
    el('h2', {}, 'Stages'),
    ...(r.stage ?? []).map((s, i) => stageCard(s, ['stage', i], r.stage, i)),
    el('label.hidden', { for: 'add-stage' }, 'Add a stage'),
    choice(
      'add-stage',
      '',
      [
        ['', 'Add a stage …'],
        ...catalogue.stages.filter((s) => s.kind !== 'strokes').map((s) => [s.kind, words(s.kind)]),
      ],
      (kind) => {
        if (!kind) return;
        open.add(kind);
        history.push({ ...r, stage: [...(r.stage ?? []), { kind }] }, `add ${kind}`);
        changedRecipe(true);
      },
    ),
    strokes.length
      ? el(
          'p.hint',
          {},
          `${strokes.length} ${strokes.length === 1 ? 'stroke' : 'strokes'} drawn. Undo takes them back one by one.`,
        )
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
    s.kind === 'strokes'
      ? `${s.stroke?.length ?? 0} drawn by hand`
      : nested
        ? `after every ${s.every} steps`
        : (about?.text ?? '');
  const hosts = R.hosts(s.kind) && !nested;
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
            R.withValue(
              recipe(),
              path.slice(0, -1),
              list.length > 1 || !nested ? list.filter((_, n) => n !== i) : undefined,
            ),
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
        byLevel: !!recipe().levels && !R.makes(s.kind) && s.kind !== 'layer' && s.kind !== 'biomes',
        open: openMore.has(s.kind),
        onopen: (o) => {
          if (o) openMore.add(s.kind);
          else openMore.delete(s.kind);
        },
        onchange: (name, v) => set([...path, name], v, `${s.kind} ${words(name).toLowerCase()}`),
        onrefresh: renderPanel,
      }),
      (s.interleave ?? []).map((w, n) =>
        stageCard(w, [...path, 'interleave', n], s.interleave, n, true),
      ),
      hosts && !s.interleave?.length
        ? el(
            'button.button.full',
            {
              type: 'button',
              onclick: () => {
                history.push(
                  R.withValue(
                    recipe(),
                    [...path, 'interleave'],
                    [{ kind: 'thermal', every: 16, steps: 1, repose_deg: 40 }],
                  ),
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

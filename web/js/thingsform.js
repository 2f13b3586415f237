// Trees and rocks: the part of the panel for the tables `[[scatter]]` of a recipe.

import { el } from './ui.js';
import { numberRow, switchRow } from './forms.js';
import { cellM, recipe } from './editor.js';
import { change } from './changes.js';
import * as R from './recipe.js';

/** What can be switched on, and how it then stands. Other tables of a recipe stay as they are. */
const KINDS = [
  ['trees', 'Trees', 6, { on: { forest: 1, grass: 0.03 }, slope_deg: [0, 38], shape: 'tree' }],
  ['bushes', 'Bushes', 4, { on: { forest: 0.2, grass: 0.05 }, shape: 'bush' }],
  [
    'rocks',
    'Rocks',
    12,
    { on: { scree: 0.5, rock: 0.1, gravel: 0.02 }, size: [0.5, 2.5], shape: 'rock' },
  ],
  ['grass', 'Grass', 2, { on: { grass: 1, wet: 0.5 }, slope_deg: [0, 40], shape: 'grass' }],
];

/** Ids of the rows, and what the palette finds them by. */
export const THINGS_ROWS = KINDS.map(([name, label]) => [
  `things-${name}`,
  label,
  'scatter things: places as CSV and glTF, and for engines',
]);

/**
 * Puts a table in the place of the one of its name, or takes that away.
 */
function put(name, table, label, panel) {
  const r = recipe(),
    now = r.scatter ?? [],
    known = now.some((one) => one.name === name);
  const all = table
    ? known
      ? now.map((one) => (one.name === name ? table : one))
      : [...now, table]
    : now.filter((one) => one.name !== name);
  const { scatter: _, ...rest } = r;
  const next = all.length ? { ...rest, scatter: all, materials: r.materials ?? {} } : rest;
  change(next, label, panel);
}

export function thingsRows(r) {
  const least = cellM() / 2,
    extent = Math.max(...R.sizeOf(r)) * cellM();
  return [
    el('h2', {}, 'Trees and rocks'),
    ...KINDS.flatMap(([name, label, usual, rest]) => {
      const table = (r.scatter ?? []).find((one) => one.name === name),
        id = `things-${name}`;
      const fresh = () => ({
        name,
        ...rest,
        // A land may have some 16 million points in all.
        distance_m: Number(Math.max(usual, cellM(), extent / 800).toPrecision(3)),
        formats: ['csv', 'glb'],
      });
      return [
        switchRow({
          id,
          label,
          checked: table,
          onchange: (on) => put(name, on ? fresh() : null, label.toLowerCase(), true),
        }),
        table
          ? numberRow({
              id: `${id}-distance`,
              label: 'Apart',
              unit: 'm',
              value: table.distance_m ?? 8,
              low: least,
              high: 20 * Math.max(usual, least),
              min: least,
              text: 'Metres between any two, at least',
              oninput: (v) =>
                v >= least && put(name, { ...table, distance_m: v }, `${name} apart`, false),
            })
          : null,
      ];
    }),
  ];
}

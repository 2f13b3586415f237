// The water of a land: the part of the panel for the table `[water]` of a recipe.

import { el } from './ui.js';
import { choice, field, numberRow, switchRow } from './forms.js';
import { cellM, recipe } from './editor.js';
import { set } from './changes.js';
import * as R from './recipe.js';

/** Ids of the rows, and what the palette finds them by. */
export const WATER_ROWS = [
  ['rivers-from', 'Rivers from', 'the catchment from which on there is a river'],
  ['runoff', 'Runoff', 'rain that rivers carry: wider and deeper rivers'],
  ['river-width', 'River width', 'of a river with 1 cubic metre a second'],
  ['river-depth', 'River depth', 'of a river with 1 cubic metre a second'],
  ['lakes', 'Lakes', 'fill or breach depressions'],
  ['evaporation', 'Evaporation', 'lakes without an outlet'],
  ['carve', 'Carve beds', 'cut the beds of rivers into the land'],
];

/** Where rivers begin if the recipe does not say, in km²: as the service has it. */
function usualArea(r) {
  const [width, height] = R.sizeOf(r),
    cells = r.endless ? 1e6 : width * height;
  return (Math.max(cells / 1000, 100) * cellM() ** 2) / 1e6;
}

const change = (key, value, panel = false) =>
  set(['water'], { ...R.waterOf(recipe()), [key]: value }, `water ${key}`, panel);

export function waterRows(r) {
  const water = R.waterOf(r),
    usual = usualArea(r),
    own = water.channel_area_km2 !== undefined,
    [width, depth] = water.law === 'moody-troutman' ? [7.2, 0.27] : [5, 0.3];
  const row = (id, key, unit, usually, high, text) =>
    numberRow({
      id,
      label: WATER_ROWS.find(([known]) => known === id)[1],
      unit,
      value: water[key] ?? usually,
      low: 0,
      high,
      min: 0,
      text,
      oninput: (v) => v >= 0 && change(key, v),
    });
  return [
    el('h2', {}, 'Water'),
    numberRow({
      id: 'rivers-from',
      label: 'Rivers from',
      unit: 'km²',
      value: water.channel_area_km2 ?? Number(usual.toPrecision(3)),
      low: usual / 10,
      high: usual * 20,
      text: 'Where this area drains through a place, a river begins',
      oninput: (v) => v > 0 && change('channel_area_km2', v),
    }),
    own
      ? el(
          'div.chips',
          {},
          el(
            'button.chip',
            { type: 'button', onclick: () => change('channel_area_km2', undefined, true) },
            'Rivers by the size of the land',
          ),
        )
      : null,
    row('runoff', 'runoff_mm', 'mm', 500, 3000, 'Water that runs off in a year'),
    row('river-width', 'width_m', 'm', width, 100, 'The width of a river of 1 m³/s'),
    row('river-depth', 'depth_m', 'm', depth, 10, 'The mean depth of a river of 1 m³/s'),
    field(
      'Lakes',
      'lakes',
      choice(
        'lakes',
        water.depressions ?? 'fill',
        [
          ['fill', 'Depressions are lakes'],
          ['breach', 'Outlets are cut'],
        ],
        (v) => change('depressions', v),
      ),
    ),
    row('evaporation', 'evaporation_mm', 'mm', 0, 3000, 'Water that lakes lose in a year'),
    switchRow({
      id: 'carve',
      label: 'Carve beds',
      checked: water.carve,
      text: 'Cut the beds of rivers into the land',
      onchange: (on) => change('carve', on),
    }),
  ];
}

// What changes the recipe as a whole, and what follows from another one.

import * as R from './recipe.js';
import { view } from './base.js';
import { nextSeed, toast, words } from './ui.js';
import { on, tell } from './signals.js';
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
  lift,
  live,
  mode,
  openSea,
  recipe,
  shown,
} from './editor.js';

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
    if (mode === 'live' && at === 1)
      lift(before, [0, 0, live.grid.width - 1, live.grid.height - 1]);
  }
  changedRecipe();
}

/** Everything that follows from another recipe. */
export function changedRecipe(panel = true) {
  view.u.uDry.value = (recipe().stage ?? []).some((s) => s.kind === 'wind') ? 1 : 0;
  const sea = R.seaOf(recipe());
  if (shown)
    view.setLand({
      extent: extentOf(current().grid),
      sea,
      ocean: openSea(shown, current().grid, sea),
    });
  follow();
  tell('kept');
  tell('controls');
  if (panel) tell('panel');
}

export function set(path, value, label, panel = false) {
  change(R.withValue(recipe(), path, value), label ?? words(String(path.at(-1))), panel);
}

/** Another recipe; changes with one label that follow each other are one step of the history. */
export function change(recipe, label, panel = false) {
  history.push(recipe, label, true);
  changedRecipe(panel);
}

export function reseed() {
  set(['seed'], nextSeed(recipe().seed ?? 0), 'seed', true);
  toast(`Seed ${recipe().seed}`);
}
on('recipe', changedRecipe);

// Projects: new ones, files that are opened or dropped, what is kept in the browser, links.

import * as R from './recipe.js';
import * as api from './api.js';
import { $, view } from './base.js';
import { dropProject, packed, projects, saveProject } from './store.js';
import { copy, el, iconButton, said, toast } from './ui.js';
import { set } from './changes.js';
import { on } from './signals.js';
import {
  brush,
  examples,
  history,
  look,
  openProject,
  openRecipe,
  presets,
  project,
  recipe,
  run,
  takePicture,
} from './editor.js';

export function openNew() {
  const host = $('new');
  const start = (name, r) => {
    host.close();
    openRecipe(r, name);
  };
  const flat = {
    schema: 2,
    name: 'flat',
    seed: 1,
    width: 1025,
    height: 1025,
    spacing_m: 10,
    levels: 'auto',
    stage: [{ kind: 'flat', height_m: 0 }, presets.find((p) => p.name === 'deep').stage_by_level],
    output: { format: 'tif' },
  };
  const pick = el('input', {
    type: 'file',
    hidden: true,
    onchange: (e) => {
      host.close();
      if (e.target.files[0]) openFile(e.target.files[0]);
    },
  });
  host.replaceChildren(
    el(
      'div.inner',
      {},
      el(
        'div.dialog-head',
        {},
        el('h1', {}, 'New land'),
        iconButton('close', 'Close', () => host.close()),
      ),
      el('h2', {}, 'Begin with'),
      el(
        'div.gallery',
        {},
        el(
          'button',
          { type: 'button', onclick: () => start('flat', R.withWater(flat)) },
          el('b', {}, 'Flat ground'),
          el('span', {}, 'Draw everything yourself.'),
        ),
        el(
          'button',
          { type: 'button', onclick: () => pick.click() },
          el('b', {}, 'A file …'),
          el(
            'span',
            {},
            'A height map (PNG, TIFF, EXR, NPY, ASC, HGT) or a recipe. Or drop it on the page.',
          ),
        ),
        pick,
        examples.map((x) =>
          el(
            'button',
            { type: 'button', onclick: () => start(x.name, R.withWater(x.recipe)) },
            el('img', {
              src: `lands/${x.name}.jpg`,
              alt: '',
              loading: 'lazy',
              width: 320,
              height: 200,
            }),
            el('b', {}, x.name),
            el('span', {}, x.text),
          ),
        ),
      ),
      el('h2', {}, 'Kept in this browser'),
      el('div.gallery', { id: 'kept' }),
    ),
  );
  projects().then(
    (list) =>
      $('kept').replaceChildren(
        ...(list.length
          ? list.map((p) =>
              el(
                'button',
                {
                  type: 'button',
                  onclick: () => {
                    host.close();
                    openProject(p);
                  },
                },
                el('b', {}, p.name),
                el(
                  'span',
                  {},
                  `${p.history.entries.length - 1} changes, ${new Date(p.updated).toLocaleString()}`,
                ),
                el(
                  'span.with-button',
                  {},
                  el(
                    'span.chip',
                    {
                      role: 'button',
                      tabindex: '0',
                      onclick: async (e) => {
                        e.stopPropagation();
                        await dropProject(p.id);
                        openNew();
                      },
                    },
                    'Forget',
                  ),
                ),
              ),
            )
          : [el('p.hint', {}, 'Nothing yet.')]),
      ),
    () => {},
  );
  if (!host.open) host.showModal();
}

const lookNow = () => ({ look, brush, eye: view.getEye(), sun: view.sun });
let keeping = 0;
function kept() {
  if (!project.id) return;
  clearTimeout(keeping);
  keeping = setTimeout(keep, 250);
}
on('kept', kept);
async function keep() {
  clearTimeout(keeping);
  try {
    await saveProject({
      id: project.id,
      name: project.name,
      job: project.job,
      of: run?.recipe ?? null,
      history: { entries: history.entries, at: history.at },
      look: JSON.parse(JSON.stringify(lookNow())),
    });
    localStorage.setItem('thalweg-project', project.id);
  } catch (error) {
    if (!keep.told) {
      keep.told = true;
      toast(`This browser keeps no projects: ${error.message}`, 'bad');
    }
  }
}
addEventListener('pagehide', keep);
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') keep();
});

/** What is said of a recipe whose files are on the service alone. */
export function sayFiles() {
  if (R.hasFiles(recipe()))
    toast('Its files are on this service alone: Take away, Recipe and files, has them too');
}

export async function share() {
  const link = new URL(
    `#land=${await packed({ recipe: recipe(), name: project.name, eye: view.getEye(), sun: view.sun, look })}`,
    location.href.split('#')[0],
  );
  await copy(link.href, 'Link');
  sayFiles();
}

async function openFile(file) {
  try {
    if (/\.(toml|json)$/i.test(file.name)) {
      const text = await file.text();
      openRecipe(
        /\.json$/i.test(file.name) ? api.parsed(text) : await api.fromToml(text),
        file.name.replace(/\.\w+$/, ''),
      );
      return;
    }
    toast(`Reading ${file.name}`);
    const input = await api.upload(file);
    const { schema = 2, seed = 1 } = recipe();
    const name = file.name.replace(/\.\w+$/, '');
    openRecipe(
      R.withWater({
        schema,
        seed,
        name: name.replace(/[^\w.-]+/g, '-'),
        input: { upload: input.digest },
        ...(Math.min(input.width, input.height) >= 64 ? { levels: 'auto' } : {}),
        stage: [presets[0].stage_by_level],
        output: { format: 'tif' },
      }),
      name,
    );
  } catch (error) {
    toast(said(error), 'bad');
  }
}
let dragged = 0;
addEventListener('dragenter', (e) => {
  if (e.dataTransfer?.types.includes('Files')) {
    dragged++;
    $('drop').hidden = false;
  }
});
addEventListener('dragleave', () => {
  if (--dragged <= 0) {
    dragged = 0;
    $('drop').hidden = true;
  }
});
addEventListener('dragover', (e) => e.preventDefault());
addEventListener('drop', (e) => {
  e.preventDefault();
  dragged = 0;
  $('drop').hidden = true;
  const f = e.dataTransfer.files[0];
  if (!f) return;
  if (brush.tool === 'stamp' && !/\.(toml|json)$/i.test(f.name)) takePicture(f);
  else openFile(f);
});
$('name').addEventListener('change', (e) => {
  project.name = e.target.value.trim() || 'land';
  e.target.value = project.name;
  set(['name'], project.name.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'land', 'name');
});

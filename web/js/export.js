// What one takes away: the recipe, maps, pictures, a time-lapse.

import * as R from './recipe.js';
import * as api from './api.js';
import { $, view } from './base.js';
import { copy, el, icon, metres, said, save, toast, words } from './ui.js';
import { choice, field } from './forms.js';
import { set } from './changes.js';
import { canFilm, film } from './film.js';
import { tell } from './signals.js';
import { catalogue, project, recipe, run } from './editor.js';
import { sayFiles, share } from './projects.js';

/** A link to a file of a result; with a token the page fetches it. */
const download = (href, name, text) =>
  el(
    'a.button',
    {
      href,
      download: name,
      onclick: async (e) => {
        if (!api.hasToken() && !api.isPage) return;
        e.preventDefault();
        try {
          save(await api.file(href), name);
        } catch (error) {
          toast(said(error), 'bad');
        }
      },
    },
    icon('down'),
    text,
  );

/** The run that makes a time-lapse: its job, and how far it is. */
let lapse = null;
const FRAMES = 48;
/** Pixels of the longer side: of a film, and of an animated PNG, which keeps every pixel. */
const SIDES = { webm: 1080, apng: 360 };
const timelapseLabel = () =>
  lapse
    ? [icon('stop'), `${Math.round(lapse.fraction * 100)} %: cancel`]
    : [icon('down'), `Time-lapse of ${FRAMES} pictures`];
function showLapse(now) {
  lapse = now;
  $('timelapse')?.replaceChildren(...timelapseLabel());
}
async function timelapse() {
  if (lapse) {
    await api.cancelJob(lapse.id);
    return;
  }
  const kind = canFilm() ? 'webm' : 'apng',
    name = `${project.name}-timelapse.${kind}`,
    { id } = await api.startJob(recipe(), { frames: FRAMES, frame_size: SIDES[kind] });
  showLapse({ id, fraction: 0 });
  const end = async (j) => {
    try {
      if (j.state === 'failed') throw new api.Problem(j.error ?? {}, 0);
      if (j.state === 'succeeded')
        save(
          kind === 'webm'
            ? await film(j.result, (fraction) => showLapse({ id, fraction }))
            : await api.file(`v1/results/${j.result.digest}/timelapse.apng`),
          name,
        );
    } catch (error) {
      toast(said(error), 'bad');
    } finally {
      showLapse(null);
    }
  };
  api.follow(id, {
    progress: ({ fraction }) => showLapse({ id, fraction }),
    end,
    lost: (error) => {
      showLapse(null);
      toast(said(error), 'bad');
    },
  });
}

const FORMATS = [
  ['tif', 'GeoTIFF'],
  ['png', 'PNG, 16 bits'],
  ['exr', 'OpenEXR'],
  ['npy', 'NumPy'],
  ['r16', 'raw, 16 bits'],
  ['r32', 'raw, floats'],
  ['asc', 'ASCII grid'],
];
let format = 'tif';

export async function copyToml() {
  await copy(await api.toToml(recipe()), 'Recipe');
  sayFiles();
}
export async function copyCommand() {
  const r = recipe(),
    name = r.name ?? project.name;
  if (!R.hasFiles(r)) return copy(R.asCommand(await api.toToml(r), name), 'Command');
  save(await api.toArchive(r), R.archiveOf(name));
  await copy(R.asCommandOfArchive(name), 'Command');
  toast(`It runs where ${R.archiveOf(name)} is saved: the recipe and its files`);
}
export const copyCurl = async () =>
  copy(R.asCurl(await api.toToml(recipe()), document.baseURI, api.hasToken()), 'curl');
/** The recipe as a file, with the files that it names. */
async function saveRecipe() {
  const r = recipe();
  if (R.hasFiles(r)) save(await api.toArchive(r), R.archiveOf(r.name ?? project.name));
  else save(new Blob([await api.toToml(r)], { type: 'application/toml' }), `${project.name}.toml`);
}

export function takePage() {
  const r = recipe(),
    fresh = run?.done && R.same(run.recipe, r),
    result = fresh ? run.result : null;
  const maps = r.output?.maps ?? ['height'];
  const guard = (f) => async () => {
    try {
      await f();
    } catch (error) {
      toast(said(error), 'bad');
    }
  };
  return [
    el('div.problem', { id: 'problem', role: 'alert', hidden: true }),
    el('h2', {}, 'The recipe'),
    el(
      'div.triple',
      {},
      el(
        'button.button',
        { type: 'button', id: 'copy-toml', onclick: guard(copyToml) },
        icon('copy'),
        'TOML',
      ),
      el(
        'button.button',
        {
          type: 'button',
          id: 'copy-command',
          onclick: guard(copyCommand),
        },
        icon('copy'),
        'Command',
      ),
      el(
        'button.button',
        {
          type: 'button',
          id: 'copy-curl',
          disabled: api.isPage,
          title: api.isPage ? 'There is no service here that curl could ask' : null,
          onclick: guard(copyCurl),
        },
        icon('copy'),
        'curl',
      ),
    ),
    el(
      'div.pair.space',
      {},
      el(
        'button.button',
        {
          type: 'button',
          id: 'save-toml',
          onclick: guard(saveRecipe),
        },
        icon('down'),
        R.hasFiles(r) ? 'Recipe and files' : 'Recipe file',
      ),
      el(
        'button.button',
        { type: 'button', id: 'copy-link', onclick: share },
        icon('link'),
        'Link',
      ),
    ),
    el('p.hint', {}, 'The same recipe gives the same bytes on every device.'),
    el('h2', {}, 'Maps'),
    result
      ? el(
          'table.facts',
          {},
          el(
            'tbody',
            {},
            [
              ['Size', `${result.width} × ${result.height}, ${metres(result.spacing_m)}`],
              ['Heights', result.range_m.map((v) => metres(v)).join(' to ')],
              ['Digest', `${result.digest.slice(0, 16)}…`],
            ].map(([a, b]) => el('tr', {}, el('th', { scope: 'row' }, a), el('td', {}, b))),
          ),
        )
      : el('p.hint', {}, 'Press Simulate: the maps of the whole land are here then.'),
    result
      ? field(
          'Format',
          'format',
          choice('format', format, FORMATS, (v) => {
            format = v;
            tell('panel');
          }),
        )
      : null,
    result
      ? el(
          'div.pair',
          {},
          result.fields.map((f) =>
            download(
              `v1/results/${result.digest}/fields/${f}.${format}`,
              `${project.name}-${f}.${format}`,
              words(f),
            ),
          ),
        )
      : null,
    result
      ? download(
          `v1/results/${result.digest}/bundle.zip`,
          `${project.name}.zip`,
          'Everything, as a bundle',
        )
      : null,
    el('h2', {}, 'For an engine'),
    field(
      'Program',
      'program',
      choice(
        'program',
        r.output?.program ?? '',
        [['', 'None'], ...catalogue.programs.map((name) => [name, words(name)])],
        (name) => set(['output', 'program'], name || undefined, 'program', true),
      ),
    ),
    r.output?.program
      ? el(
          'p.hint',
          {},
          `Simulate: the bundle then has a folder ${r.output.program} with the files that it ` +
            'imports, and a README.txt with the numbers to type.',
        )
      : null,
    el('h2', {}, 'A picture'),
    el(
      'div.pair',
      {},
      el(
        'button.button',
        {
          type: 'button',
          id: 'picture',
          onclick: guard(async () =>
            save(
              await view.picture(view.host.clientWidth * 2, view.host.clientHeight * 2),
              `${project.name}.png`,
            ),
          ),
        },
        icon('image'),
        'This view',
      ),
      el(
        'button.button',
        {
          type: 'button',
          onclick: guard(async () =>
            save(await view.picture(3840, 2160), `${project.name}-4k.png`),
          ),
        },
        icon('image'),
        '3840 × 2160',
      ),
    ),
    el('h2', {}, 'A time-lapse'),
    el(
      'button.button.full',
      { type: 'button', id: 'timelapse', onclick: guard(timelapse) },
      ...timelapseLabel(),
    ),
    el(
      'p.hint',
      {},
      canFilm()
        ? 'The land is made once more, with pictures on the way: a film (WebM) of six seconds.'
        : 'The land is made once more, with pictures on the way: an animated PNG.',
    ),
    el('h2', {}, 'Maps of the next run'),
    el(
      'div.chips',
      {},
      catalogue.fields.map(({ name: m, text }) =>
        el(
          'button.chip',
          {
            type: 'button',
            title: text.replaceAll('`', ''),
            'aria-pressed': String(maps.includes(m)),
            onclick: () => {
              set(
                ['output', 'maps'],
                maps.includes(m) ? maps.filter((x) => x !== m) : [...maps, m],
                'maps',
                true,
              );
            },
          },
          words(m),
        ),
      ),
    ),
  ];
}

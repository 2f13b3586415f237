// What answers the editor's requests where there is no service: the module, in workers of the page.
// The answers are those of `thalweg serve`, whose routes docs/service.md describes.

import { Service, cases, compare } from '../thalweg/index.js';

/** Whether the page is its own service. */
export const isPage = true;

/** How long the first land has the host and the processor for itself, ms. */
const QUIET = 4000;
if ('serviceWorker' in navigator)
  setTimeout(
    () =>
      navigator.serviceWorker.register('sw.js').catch(() => {
        // Without it the page works as long as its host can be reached.
      }),
    QUIET,
  );

/** Where lands are made: what a person chose, kept in this browser. */
const DEVICE = 'thalweg-device';
export const devices = {
  all: [
    ['auto', 'What is best here'],
    ['cpu', 'The processor'],
    ['webgpu', 'The graphics card (WebGPU)'],
  ],
  get: () => localStorage.getItem(DEVICE) ?? 'auto',
  set: (name) => localStorage.setItem(DEVICE, name),
  /** Compares the card with the processor, by a recipe and by all fixed cases: a report. */
  async check(recipe) {
    const report = await compare(recipe, { size: 257 });
    const [own, card] = [await cases(), await cases({ device: 'webgpu' })];
    const differing = own.filter((line, i) => line !== card[i]);
    return {
      ...report,
      equal: report.equal && !differing.length,
      cases: own.length,
      differing,
    };
  },
};

/** Workers that are ready, so that one that was ended is missed for as short as can be. */
const ready = [];
const warm = () => ready.push(Service.open());
async function take() {
  const next = ready.shift() ?? Service.open();
  if (!ready.length) warm();
  return next;
}

/** The worker for short questions. */
let short = null;
async function ask(request, options) {
  if (!short || (await short).isEnded) short = take();
  return (await short).ask(request, options);
}

const json = (value, status = 200) =>
  new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json' },
  });
const problem = (told) => json(told, told.status);
const missing = (detail) =>
  problem({ type: 'urn:thalweg:problem:missing', title: 'Not Found', status: 404, detail });

/** An answer of the module as one of HTTP. */
function answered({ json: value, problem: told, media_type, values }, headers = {}) {
  if (told) return problem(told);
  if (media_type)
    return new Response(values, { headers: { 'content-type': media_type, ...headers } });
  return json(value);
}
/** What the module could not say as a problem: it broke, or the page stopped it. */
const broken = (error) => ({
  type: 'urn:thalweg:problem:fault',
  title: 'Internal Server Error',
  status: 500,
  detail: error.message,
});

// -------------------------------------------------------------------------------------- previews

/** A record of a preview: the length of a header, the header, and the maps. */
function record(head, values) {
  const text = new TextEncoder().encode(JSON.stringify(head));
  const bytes = new Uint8Array(4 + text.length + (values?.byteLength ?? 0));
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  if (values) bytes.set(new Uint8Array(values.buffer), 4 + text.length);
  return bytes;
}

/** The worker of previews, which is ended with a preview that nobody waits for any more. */
let drawer = null;
async function preview(recipe, asked, signal) {
  if (!drawer || (await drawer).isEnded) drawer = take();
  const service = await drawer;
  const stop = new AbortController();
  signal?.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
  const request = {
    of: 'preview',
    recipe,
    cells: Number(asked.get('cells') ?? 512),
    fields: asked.get('fields'),
    draft: asked.get('draft') === 'true',
  };
  return new Promise((resolve) => {
    let body = null;
    // The first record is the answer; before it a problem is.
    const begin = () => {
      const stream = new ReadableStream({
        start: (controller) => (body = controller),
        cancel: () => stop.abort(new DOMException('cancelled', 'AbortError')),
      });
      resolve(new Response(stream, { headers: { 'content-type': 'application/octet-stream' } }));
    };
    const told = ({ record: head }, values) => {
      if (!body) begin();
      body.enqueue(record(head, values));
    };
    const end = (wrong) => {
      if (!body && wrong) return resolve(problem(wrong));
      if (!body) begin();
      if (wrong) body.enqueue(record({ error: wrong }, null));
      body.close();
    };
    // It takes as long to begin threads as such a land takes.
    const threads = request.cells < 200 ? 1 : null;
    service.ask(request, { threads, told, signal: stop.signal }).then(
      ({ problem: wrong }) => end(wrong),
      (error) => {
        if (!stop.signal.aborted) end(broken(error));
        else if (!body) resolve(Promise.reject(error));
        else body.error(error);
      },
    );
  });
}

// ------------------------------------------------------------------------------------------ jobs

const jobs = new Map();
/** Results that can be asked for: what they are, their recipes, and the workers that hold them. */
const results = new Map();
/** Workers that hold results; a result without one is made again when more of it is wanted. */
const HELD_MAX = 2;
const hasEnded = (job) => !['queued', 'running'].includes(job.form.state);

function happened(job, kind, data) {
  // Of progress the last is enough.
  if (kind === 'progress') job.events = job.events.filter((event) => event.kind !== 'progress');
  const event = { number: ++job.count, kind, data };
  job.events.push(event);
  for (const each of job.watchers) each(event);
}

function ended(job, state, more) {
  Object.assign(job.form, { state, ended_at: Math.floor(Date.now() / 1000), ...more });
  if (state === 'succeeded')
    job.form.progress = { fraction: 1, stage: null, level: null, step: 0, steps: 0, eta_s: null };
  happened(job, 'job', job.form);
  happened(job, 'end', job.form);
}

async function start(recipe, asked) {
  // A recipe that is wrong has no job.
  const about = await ask({ of: 'recipe', recipe, toml: false });
  if (about.problem) return problem(about.problem);
  const now = Math.floor(Date.now() / 1000);
  const form = {
    id: String(Date.now()),
    state: 'running',
    name: about.json.name,
    recipe_digest: about.json.digest,
    submitted_at: now,
    started_at: now,
    ended_at: null,
    progress: null,
    levels: [],
    result: null,
    error: null,
  };
  const job = { form, events: [], count: 0, watchers: new Set(), levels: new Map() };
  jobs.set(form.id, job);
  happened(job, 'job', form);
  make(job, recipe, asked);
  return json(form, 202);
}

async function make(job, recipe, asked) {
  const { form } = job;
  const frames = asked.has('frames') ? Number(asked.get('frames')) : null;
  const told = ({ progress, level }, values) => {
    if (progress) {
      form.progress = progress;
      happened(job, 'progress', progress);
    }
    if (level) {
      job.levels.set(String(level.level), { level, values });
      form.levels.push({ ...level, href: `/v1/jobs/${form.id}/levels/${level.level}/height.r32` });
      happened(job, 'level', form.levels.at(-1));
    }
  };
  try {
    job.service = await take();
    const side = Number(asked.get('frame_size') ?? 1080);
    const { json: result, problem: wrong } = await job.service.ask(
      { of: 'job', recipe, frames, side },
      { device: devices.get(), told },
    );
    if (hasEnded(job)) return;
    if (wrong) {
      job.service.end();
      ended(job, 'failed', { error: wrong });
      return;
    }
    const href = `/v1/results/${result.digest}/`;
    for (const file of result.files) file.href = href + file.name;
    hold(result, recipe, frames, job.service);
    // A film can be made again, and is looked at once.
    if (frames === null) await keep(job, result, recipe).catch(() => {});
    ended(job, 'succeeded', { result: { ...result, href } });
  } catch (error) {
    if (!hasEnded(job)) ended(job, 'failed', { error: broken(error) });
  }
}

function cancel(job) {
  if (!hasEnded(job)) {
    job.service?.end();
    ended(job, 'cancelled');
  }
  return json(job.form);
}

/** The events of a job, as a stream of lines. */
function events(job, after) {
  const text = new TextEncoder();
  let watch = null;
  const stream = new ReadableStream({
    start(body) {
      watch = ({ number, kind, data }) => {
        if (number <= after) return;
        body.enqueue(
          text.encode(`id: ${number}\nevent: ${kind}\ndata: ${JSON.stringify(data)}\n\n`),
        );
        if (kind !== 'end') return;
        job.watchers.delete(watch);
        body.close();
      };
      job.watchers.add(watch);
      for (const event of [...job.events]) watch(event);
    },
    cancel: () => job.watchers.delete(watch),
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

const sizes = ({ width, height, spacing_m }) => ({
  'thalweg-width': width,
  'thalweg-height': height,
  'thalweg-spacing': spacing_m,
});

/** Notes which worker has a result, and ends those that have held one for longest. */
function hold(result, recipe, frames, service) {
  const known = results.get(result.digest);
  if (known?.service !== service) known?.service?.end();
  results.delete(result.digest);
  results.set(result.digest, { result, recipe, frames, service });
  const held = [...results.values()].filter((one) => one.service);
  for (const one of held.slice(0, -HELD_MAX)) {
    one.service.end();
    one.service = null;
  }
}

/** The worker that has a result. After a reload there is none: the recipe gives the same bytes. */
async function holder(found) {
  if (found.service) return found.service;
  const service = await take();
  const { recipe, frames } = found;
  const { json: again } = await service.ask({ of: 'job', recipe, frames, side: 1080 });
  if (again?.digest !== found.result.digest) {
    service.end();
    throw new Error('this version makes another land of the recipe: simulate it again');
  }
  hold(found.result, recipe, frames, service);
  return service;
}

async function ofJob(id, rest, method, headers) {
  const job = jobs.get(id) ?? (await kept(id).catch(() => null));
  if (!job) return missing('there is no such job');
  if (method === 'DELETE') return cancel(job);
  if (rest === 'events') return events(job, Number(headers['last-event-id'] ?? 0));
  const [, number] = rest?.match(/^levels\/(-?\d+)\/height\.r32$/) ?? [];
  if (number === undefined) return json(job.form);
  const found = job.levels.get(number);
  if (!found) return missing('there is no such level');
  return new Response(found.values, { headers: sizes(found.level) });
}

async function ofResult(digest, name) {
  const found = results.get(digest);
  if (!found) return missing('there is no such result, or not any more: run its recipe again');
  const { result } = found;
  const [, map] = name.match(/^fields\/(.+)$/) ?? [];
  const [, picture] = name.match(/^timelapse\/(\d+)\.png$/) ?? [];
  const stored = map && !found.service ? await read(`${digest}-${map}`).catch(() => null) : null;
  if (stored) return new Response(stored, { headers: sizes(result) });
  try {
    const service = await holder(found);
    if (map) return answered(await service.ask({ of: 'field', name: map }), sizes(result));
    const file = picture ? `frames/${picture.padStart(4, '0')}.png` : name;
    const answer = await service.ask({ of: 'file', name: file });
    return answered(answer, { 'content-length': answer.bytes ?? 0 });
  } catch (error) {
    return problem(broken(error));
  }
}

// ------------------------------------------------------------------------------- what is kept

/** Runs that are kept when the page is closed; of older ones only the recipe is. */
const KEPT_MAX = 6;
const folder = async () =>
  (await navigator.storage.getDirectory()).getDirectoryHandle('runs', { create: true });

async function write(name, data) {
  const file = await (await folder()).getFileHandle(name, { create: true });
  const to = await file.createWritable();
  await to.write(data);
  await to.close();
}
const read = async (name) => (await (await folder()).getFileHandle(name)).getFile();

/** Keeps a run: its levels, and its maps as floats. What names them comes last. */
async function keep(job, result, recipe) {
  const { form } = job;
  for (const [number, { values }] of job.levels) await write(`${form.id}-${number}.r32`, values);
  for (const map of result.fields) {
    const { values } = await job.service.ask({ of: 'field', name: `${map}.r32` });
    await write(`${result.digest}-${map}.r32`, values);
  }
  await write(`${form.id}.json`, JSON.stringify({ form, result, recipe }));
  await forget();
}

/** Removes the oldest runs, and maps of no run. */
async function forget() {
  const all = await folder(),
    names = [];
  for await (const name of all.keys()) names.push(name);
  const ids = names.filter((name) => name.endsWith('.json')).map((name) => parseInt(name));
  const stay = ids
    .sort((a, b) => a - b)
    .slice(-KEPT_MAX)
    .map(String);
  const digests = [];
  for (const id of stay)
    digests.push(JSON.parse(await (await read(`${id}.json`)).text()).result.digest);
  for (const name of names) {
    const [owner] = name.split(/[-.]/);
    if (!stay.includes(owner) && !digests.includes(owner)) await all.removeEntry(name);
  }
}

/** A run that an earlier page has kept. */
async function kept(id) {
  if (!/^\d+$/.test(id)) return null;
  const { form, result, recipe } = JSON.parse(await (await read(`${id}.json`)).text());
  const job = { form, events: [], count: 0, watchers: new Set(), levels: new Map() };
  for (const level of form.levels) {
    const file = await read(`${id}-${level.level}.r32`);
    job.levels.set(String(level.level), { level, values: await file.arrayBuffer() });
  }
  jobs.set(id, job);
  if (!results.has(result.digest)) hold(result, recipe, null, null);
  ended(job, 'succeeded', { result: { ...result, href: `/v1/results/${result.digest}/` } });
  return job;
}

// ---------------------------------------------------------------------------------------- routes

/** Answers a request as the service would. */
export async function send(path, { method = 'GET', body = null, headers = {}, signal } = {}) {
  const { pathname, searchParams: asked } = new URL(path.replace(/^\//, ''), 'http://page/');
  const [, kind, id, rest] = pathname.match(/^\/v1\/(\w+)(?:\/([^/]*)(?:\/(.*))?)?$/) ?? [];
  signal?.throwIfAborted();
  switch (kind) {
    case 'stages':
    case 'presets':
    case 'examples':
      return answered(await ask({ of: 'tables', name: kind }));
    case 'recipes':
      return answered(
        await ask({ of: 'recipe', recipe: body, toml: /toml/.test(headers.accept ?? '') }),
      );
    case 'preview':
      return preview(body, asked, signal);
    case 'sheet': {
      const number = (name) => (asked.has(name) ? Number(asked.get(name)) : null);
      const [cells, count, seed] = ['cells', 'count', 'seed'].map(number);
      const colour = asked.get('colour');
      return answered(await ask({ of: 'sheet', recipe: body, cells, count, seed, colour }));
    }
    case 'dungeons':
      return answered(
        await ask({ of: 'dungeon', settings: body, format: asked.get('format') ?? 'json' }),
      );
    case 'jobs':
      return id ? ofJob(id, rest, method, headers) : start(body, asked);
    case 'results':
      return ofResult(id, rest ?? '');
    case 'inputs':
      return problem({
        type: 'urn:thalweg:problem:page',
        title: 'Not Implemented',
        status: 501,
        detail: 'A page reads no files yet: open this one with thalweg serve',
      });
    default:
      return missing(`${pathname}: there is no such address`);
  }
}

warm();

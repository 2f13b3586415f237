// What answers the editor's requests where there is no service: the module, in workers of the page.
// The answers are those of `thalweg serve`, whose routes docs/service.md describes.

import { Service, cases, compare } from '../thalweg/index.js';

/** Whether the page is its own service. */
export const isPage = true;

/** How long the first land has the host and the processor for itself, ms. */
const QUIET = 4000;
setTimeout(() => {
  navigator.serviceWorker?.register('sw.js').catch(() => {
    // Without it the page works as long as its host can be reached.
  });
  if (!ready.files.length) warm('files');
}, QUIET);

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

/**
 * Workers that are ready, by their modules. The first land waits for the module that makes lands,
 * which is half as large as the one that reads and writes files, too. A worker that is ready
 * replaces one that was ended.
 */
const ready = { lands: [], files: [] };
function warm(module) {
  const opened = Service.open({ files: module === 'files' });
  // One that did not start is not taken later, when it might.
  opened.catch(() => (ready[module] = ready[module].filter((one) => one !== opened)));
  ready[module].push(opened);
}
async function take(module) {
  if (!ready[module].length) warm(module);
  const next = ready[module].shift();
  if (!ready[module].length) warm(module);
  return next;
}

/** The worker for a kind of questions, or another one where it was ended or did not start. */
const lasting = {};
function worker(kind, module) {
  const own = `${kind}, ${module}`;
  const known = lasting[own] ?? Promise.resolve(null);
  const isGone = (service) => !service || service.isEnded;
  const other = () => take(module);
  lasting[own] = known.then((service) => (isGone(service) ? other() : service), other);
  return lasting[own];
}

/** What a module without files answers where it would need them. */
const NOT_IMPLEMENTED = 501;
/** Asks the worker for a kind of questions, with the files that the request names. */
async function askFor(kind, request, options) {
  const files = await filesOf(request.recipe);
  const by = async (module) => {
    const service = await worker(kind, module);
    options.signal?.throwIfAborted();
    return service.ask(request, { files, ...options });
  };
  const answer = files.length ? null : await by('lands');
  return answer && answer.problem?.status !== NOT_IMPLEMENTED ? answer : by('files');
}
const ask = (request) => askFor('short', request, {});

const json = (value, status = 200) =>
  new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json' },
  });
const problem = (told) => json(told, told.status);
const missing = (detail) =>
  problem({ type: 'urn:thalweg:problem:missing', title: 'Not Found', status: 404, detail });

/** An answer of the module as one of HTTP. */
function answered({ json: value, problem: told, media_type, values, ...about }, headers = {}) {
  if (told) return problem(told);
  if (media_type)
    return new Response(values, { headers: { 'content-type': media_type, ...headers } });
  if (values) return new Response(values, { headers: { ...sizes(about), ...headers } });
  return json(value);
}
/** The problem of a module that broke. */
const broken = (error) => ({
  type: 'urn:thalweg:problem:fault',
  title: 'Internal Server Error',
  status: 500,
  detail: error.message,
});

// ----------------------------------------------------------------------------------------- files

/** Files for which the browser has no room, by their digests: names and bytes. */
const inputs = new Map();
const inputFolder = async () =>
  (await navigator.storage.getDirectory()).getDirectoryHandle('inputs', { create: true });

/** Takes a file: what the service says of it. It is kept in the browser, if there is room. */
async function takeIn(query, file) {
  const name = new URLSearchParams(query).get('name') ?? '';
  const service = await worker('short', 'files');
  const { json: about, problem: told } = await service.ask(
    { of: 'input', query },
    { files: [[name, file]] },
  );
  if (told) return problem(told);
  const { extension, ...rest } = about;
  const own = `${about.digest}.${extension}`;
  // Without room it is kept as long as the page is: as bytes, since the file itself may change.
  await keepInput(own, file).catch(async () =>
    inputs.set(about.digest, [own, new Blob([await file.arrayBuffer()])]),
  );
  return json(rest);
}

/** Files that are kept when the page is closed. */
const INPUTS_MAX = 24;

/** Keeps a file, and removes those that were opened before the last of them. */
async function keepInput(own, file) {
  const folder = await inputFolder(),
    all = [];
  await write(folder, own, file);
  for await (const [name, handle] of folder.entries())
    all.push([name, (await handle.getFile()).lastModified]);
  all.sort(([, a], [, b]) => b - a);
  for (const [name] of all.slice(INPUTS_MAX)) await folder.removeEntry(name);
}

/** A file by its digest: its name and what is in it. */
async function input(digest) {
  if (inputs.has(digest)) return inputs.get(digest);
  const folder = await inputFolder();
  for await (const name of folder.keys())
    if (name.startsWith(`${digest}.`))
      return [name, await (await folder.getFileHandle(name)).getFile()];
  return null;
}

/** The heights of a file. */
async function heights(digest) {
  const file = await input(digest).catch(() => null);
  const files = file ? [file] : [];
  const service = await worker('short', 'files');
  return answered(await service.ask({ of: 'heights', digest }, { files }));
}

/** The files that a recipe names, in JSON or TOML: its reader says which of them is missing. */
async function filesOf(recipe) {
  const named = (recipe ?? '').matchAll(/upload"?\s*[:=]\s*"([0-9a-f]{64})"/g);
  const digests = new Set(Array.from(named, ([, digest]) => digest));
  const found = [];
  for (const digest of digests) {
    const file = await input(digest).catch(() => null);
    if (file) found.push(file);
  }
  return found;
}

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

/** A preview. Its worker is ended with a preview that nobody waits for any more. */
function preview(recipe, query, signal) {
  const stop = new AbortController();
  signal?.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
  const request = { of: 'preview', recipe, query };
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
    const cells = Number(new URLSearchParams(query).get('cells') ?? 512);
    const threads = cells < 200 ? 1 : null;
    askFor('preview', request, { threads, told, signal: stop.signal }).then(
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

async function start(recipe, query) {
  // What may not run has no job.
  const { json: about, problem: told } = await ask({ of: 'submit', recipe, query });
  if (told) return problem(told);
  const now = Math.floor(Date.now() / 1000);
  const form = {
    id: String(Date.now()),
    state: 'running',
    name: about.name,
    recipe_digest: about.digest,
    submitted_at: now,
    started_at: now,
    ended_at: null,
    progress: null,
    levels: [],
    result: null,
    error: null,
  };
  const job = { form, events: [], count: 0, watchers: new Set(), levels: new Map() };
  job.stop = new AbortController();
  jobs.set(form.id, job);
  // Only the last that ended stay in memory; an older one is read back if it was kept.
  const canGo = (one) => hasEnded(one) && (one.isKept || one.form.state !== 'succeeded');
  for (const [id] of [...jobs].filter(([, one]) => canGo(one)).slice(0, -KEPT_MAX)) jobs.delete(id);
  happened(job, 'job', form);
  make(job, recipe, query);
  return json(form, 202);
}

async function make(job, recipe, query) {
  const { form } = job;
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
    const service = await take('files');
    if (hasEnded(job)) {
      ready.files.push(service);
      return;
    }
    job.service = service;
    const files = await filesOf(recipe);
    const { json: result, problem: wrong } = await job.service.ask(
      { of: 'job', recipe, query },
      { device: devices.get(), files, told, signal: job.stop.signal },
    );
    if (hasEnded(job)) return;
    if (wrong) {
      job.service.end();
      ended(job, 'failed', { error: wrong });
      return;
    }
    const href = `/v1/results/${result.digest}/`;
    for (const file of result.files) file.href = href + file.name;
    hold({ result, recipe, query }, job.service);
    // A film can be made again, and is looked at once.
    if (result.frames === null) job.isKept = await keep(job, result, recipe, query);
    if (!hasEnded(job)) ended(job, 'succeeded', { result: { ...result, href } });
  } catch (error) {
    job.service?.end();
    if (!hasEnded(job)) ended(job, 'failed', { error: broken(error) });
  }
}

function cancel(job) {
  if (!hasEnded(job)) {
    ended(job, 'cancelled');
    job.stop.abort();
  }
  return json(job.form);
}

/** The events of a job, as a stream of lines. */
function events(job, after, signal) {
  const text = new TextEncoder();
  let watch = null;
  const stream = new ReadableStream({
    start(body) {
      signal?.addEventListener('abort', () => {
        if (job.watchers.delete(watch)) body.error(signal.reason);
      });
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
function hold(found, service) {
  const { digest } = found.result;
  const known = results.get(digest);
  if (known?.service !== service) known?.service?.end();
  results.delete(digest);
  results.set(digest, { ...found, service });
  const held = [...results.values()].filter((one) => one.service);
  for (const one of held.slice(0, -HELD_MAX)) {
    one.service.end();
    one.service = null;
  }
}

/** The worker that has a result. After a reload there is none: the recipe gives the same bytes. */
async function holder(found) {
  if (found.service && !found.service.isEnded) return found.service;
  found.making ??= again(found).finally(() => (found.making = null));
  return found.making;
}
async function again(found) {
  const service = await take('files');
  const { result, recipe, query } = found;
  const files = await filesOf(recipe);
  const made = await service.ask({ of: 'job', recipe, query }, { files });
  if (made.json?.digest === result.digest) {
    hold({ result, recipe, query }, service);
    return service;
  }
  service.end();
  const other = 'this version makes another land of the recipe: simulate it again';
  throw new Error(made.problem?.detail ?? other);
}

async function ofJob(id, rest, { method, headers, signal }) {
  const job = jobs.get(id) ?? (await kept(id).catch(() => null));
  if (!job) return missing('there is no such job');
  if (method === 'DELETE') return cancel(job);
  if (rest === 'events') return events(job, Number(headers['last-event-id'] ?? 0), signal);
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
  const own = map ?? name;
  const stored = found.service ? null : await read(`${digest}-${own}`).catch(() => null);
  if (stored)
    return new Response(stored, { headers: { ...sizes(result), 'content-length': stored.size } });
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

async function write(folder, name, data) {
  const file = await folder.getFileHandle(name, { create: true });
  const to = await file.createWritable();
  await to.write(data);
  await to.close();
}
const read = async (name) => (await (await folder()).getFileHandle(name)).getFile();

/** Largest table of things that is kept, in bytes. */
const TABLE_MAX = 1 << 23;

/**
 * Keeps a run, if there is room: its levels, its maps as floats, and the places of things. Whether
 * it could.
 */
async function keep(job, result, recipe, query) {
  const { form } = job,
    { digest } = result;
  const all = async () => {
    const runs = await folder();
    for (const [number, { values }] of job.levels)
      await write(runs, `${form.id}-${number}.r32`, values);
    for (const map of result.fields) {
      const { values } = await job.service.ask({ of: 'field', name: `${map}.r32` });
      await write(runs, `${digest}-${map}.r32`, values);
    }
    for (const { name, bytes } of result.files) {
      if (!/^scatter_.*\.csv$/.test(name) || bytes > TABLE_MAX) continue;
      const { values } = await job.service.ask({ of: 'file', name });
      await write(runs, `${digest}-${name}`, values);
    }
    // What names them comes last.
    await write(runs, `${form.id}.json`, JSON.stringify({ form, result, recipe, query }));
  };
  // One tab at a time, since files of no run are removed.
  const alone = (work) => navigator.locks.request('thalweg-runs', work);
  try {
    await alone(async () => {
      await forget(KEPT_MAX - 1);
      await all().catch(async () => {
        // The older runs may leave room.
        await forget(0);
        await all();
      });
    });
    return true;
  } catch {
    await alone(() => forget(KEPT_MAX)).catch(() => {});
    return false;
  }
}

/** Removes the oldest runs but `most`, and maps of no run. */
async function forget(most) {
  const all = await folder(),
    names = [];
  for await (const name of all.keys()) names.push(name);
  const ids = names.filter((name) => name.endsWith('.json')).map((name) => parseInt(name));
  const stay = ids
    .sort((a, b) => b - a)
    .slice(0, most)
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
  const { form, result, recipe, query = '' } = JSON.parse(await (await read(`${id}.json`)).text());
  const job = { form, events: [], count: 0, watchers: new Set(), levels: new Map(), isKept: true };
  for (const level of form.levels) {
    const file = await read(`${id}-${level.level}.r32`);
    job.levels.set(String(level.level), { level, values: await file.arrayBuffer() });
  }
  jobs.set(id, job);
  if (!results.has(result.digest)) hold({ result, recipe, query }, null);
  ended(job, 'succeeded', { result: { ...result, href: `/v1/results/${result.digest}/` } });
  return job;
}

// ---------------------------------------------------------------------------------------- routes

/** Answers a request as the service would. */
export async function send(path, { method = 'GET', body = null, headers = {}, signal } = {}) {
  const { pathname, search } = new URL(path.replace(/^\//, ''), 'http://page/');
  const [, kind, id, rest] = pathname.match(/^\/v1\/(\w+)(?:\/([^/]*)(?:\/(.*))?)?$/) ?? [];
  const query = search.slice(1);
  signal?.throwIfAborted();
  switch (kind) {
    case 'stages':
    case 'presets':
    case 'examples':
      return answered(await ask({ of: 'tables', name: kind }));
    case 'recipes':
      return answered(await ask({ of: 'recipe', recipe: body, accept: headers.accept ?? '' }));
    case 'preview':
      return preview(body, query, signal);
    case 'sheet':
      return answered(await ask({ of: 'sheet', recipe: body, query }));
    case 'dungeons':
      return answered(await ask({ of: 'dungeon', settings: body, query }));
    case 'jobs':
      return id ? ofJob(id, rest, { method, headers, signal }) : start(body, query);
    case 'results':
      return ofResult(id, rest ?? '');
    case 'inputs':
      return id ? heights(id) : takeIn(query, body);
    default:
      return missing(`${pathname}: there is no such address`);
  }
}

warm('lands');

// The service's HTTP interface, as promises and streams.

import { send } from './back.js';
import { askToken } from './token.js';

export { isPage } from './back.js';

/** What the service says is wrong: RFC 9457. `errors` point into the recipe. */
export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || body.title || `The service answered ${status}`);
    this.title = body.title || '';
    this.status = body.status || status;
    this.errors = body.errors || [];
  }
}

async function checked(response) {
  if (response.ok) return response;
  let body = {};
  try {
    body = await response.json();
  } catch {
    body = { detail: `The service answered ${response.status} ${response.statusText}` };
  }
  throw new Problem(body, response.status);
}

/** The token of a service that asks for one: for this window only. */
const KEY = 'thalweg-token';
export const hasToken = () => !!sessionStorage.getItem(KEY);

/** A question that several requests wait for. */
let asking = null;
const get = async (path, options = {}) => {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = token
      ? { ...options.headers, authorization: `Bearer ${token}` }
      : options.headers;
    const response = await send(path, { ...options, headers });
    if (response.status !== 401) return checked(response);
    // Another request may have been told the token meanwhile.
    if (token !== sessionStorage.getItem(KEY)) continue;
    asking ??= askToken(token !== null).then((given) => {
      sessionStorage.setItem(KEY, given);
      asking = null;
    });
    await asking;
  }
};
const post = (path, body, more = {}) =>
  get(path, {
    method: 'POST',
    body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
    ...more,
    headers: { 'content-type': 'application/json', ...more.headers },
  });

/**
 * JSON with seeds that JavaScript's numbers cannot hold as text, which recipes take, too. (A string
 * has `\"seed\"` where a key has `"seed"`.)
 */
export const parsed = (text) =>
  JSON.parse(text.replace(/("seed"\s*:\s*)(\d{16,20})(?=\s*[,}])/g, '$1"$2"'));
export const json = async (path) => parsed(await (await get(path)).text());
export const stages = () => json('v1/stages');
export const presets = () => json('v1/presets');
export const examples = () => json('v1/examples');
export const checkRecipe = async (recipe, signal) =>
  (await post('v1/recipes', recipe, { headers: { accept: 'application/json' }, signal })).json();
export const toToml = async (recipe) =>
  (await post('v1/recipes', recipe, { headers: { accept: 'application/toml' } })).text();
/** The recipe and the files that it names, as an archive. */
export const toArchive = async (recipe) =>
  (await post('v1/recipes', recipe, { headers: { accept: 'application/zip' } })).blob();
export const fromToml = async (text) =>
  parsed(
    await (
      await post('v1/recipes', text, {
        headers: { 'content-type': 'application/toml', accept: 'application/json' },
      })
    ).text(),
  ).json;
/** A small picture of a recipe's land with another seed, as from the air. */
export const picture = async (recipe, { seed, cells, signal }) =>
  (
    await post(`v1/sheet?count=1&colour=ground&cells=${cells}&seed=${seed}`, recipe, { signal })
  ).blob();
/** Starts a job; with `frames` it leaves a time-lapse of so many pictures, too. */
export const startJob = async (recipe, asked = {}) =>
  (await post(`v1/jobs?${new URLSearchParams(asked)}`, recipe)).json();
export const cancelJob = async (id) => (await get(`v1/jobs/${id}`, { method: 'DELETE' })).json();
export const dungeon = (settings, format = 'json') =>
  post(`v1/dungeons?format=${format}`, settings);
export const upload = async (file) =>
  (
    await get(`v1/inputs?name=${encodeURIComponent(file.name)}`, {
      method: 'POST',
      body: file,
      headers: { 'content-type': 'application/octet-stream' },
    })
  ).json();

/** Samples of 32 bits, little-endian as all devices are that have WebGL. */
export async function samples(path, signal) {
  const response = await get(path, { signal });
  const data = new Float32Array(await response.arrayBuffer());
  const number = (name) => Number(response.headers.get(name));
  return {
    data,
    width: number('thalweg-width'),
    height: number('thalweg-height'),
    spacing_m: number('thalweg-spacing'),
  };
}

/**
 * The levels of a recipe as they are made, from the coarsest on. Each is the header of its record
 * with the samples of each field
 * under `data`.
 */
export async function* preview(recipe, { cells, fields, signal }) {
  const response = await post(`v1/preview?cells=${cells}&fields=${fields.join(',')}`, recipe, {
    signal,
  });
  const reader = response.body.getReader();
  let held = [],
    have = 0;
  const pull = async (bytes) => {
    while (have < bytes) {
      const { done, value } = await reader.read();
      if (done) return null;
      held.push(value);
      have += value.length;
    }
    const out = new Uint8Array(bytes);
    let at = 0;
    while (at < bytes) {
      const first = held[0],
        take = Math.min(first.length, bytes - at);
      out.set(first.subarray(0, take), at);
      at += take;
      if (take === first.length) held.shift();
      else held[0] = first.subarray(take);
    }
    have -= bytes;
    return out;
  };
  try {
    for (;;) {
      const length = await pull(4);
      if (!length) return;
      const header = JSON.parse(
        new TextDecoder().decode(await pull(new DataView(length.buffer).getUint32(0, true))),
      );
      if (header.error) throw new Problem(header.error, header.error.status);
      header.data = {};
      for (const field of header.fields)
        header.data[field] = new Float32Array(
          (await pull(header.width * header.height * 4)).buffer,
        );
      yield header;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** A text of a result; null if it is longer than that many bytes. */
export async function text(path, most) {
  const stop = new AbortController(),
    response = await get(path, { signal: stop.signal });
  if (Number(response.headers.get('content-length')) <= most) return response.text();
  stop.abort();
  return null;
}

/** A file of a result, for a link that cannot carry the token. */
export const file = async (path) => (await get(path)).blob();

/**
 * Follows a job to its end: `on` has a function for each kind of event. When the connection breaks
 * it goes on where it was, as soon as the
 * service answers again: `on.waiting` is told whether it waits. Answers a function that stops
 * following. (Not an EventSource, which can
 * send no token.)
 */
export function follow(id, on) {
  const stop = new AbortController();
  let last = null,
    tries = 0;
  const read = async () => {
    const response = await get(`v1/jobs/${id}/events`, {
      signal: stop.signal,
      headers: { accept: 'text/event-stream', ...(last ? { 'last-event-id': last } : {}) },
    });
    tries = 0;
    on.waiting?.(false);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = '',
      kind = 'message',
      data = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      const lines = (held + value).split(/\r?\n/);
      held = lines.pop();
      for (const line of lines) {
        const [, name, text] = line.match(/^(\w+):? ?(.*)$/) ?? [];
        if (name === 'event') kind = text;
        else if (name === 'data') data += text;
        else if (name === 'id') last = text;
        else if (line === '' && data) {
          on[kind]?.(JSON.parse(data));
          if (kind === 'end') {
            reader.cancel().catch(() => {});
            return true;
          }
          kind = 'message';
          data = '';
        }
      }
    }
  };
  (async () => {
    while (!stop.signal.aborted) {
      try {
        if (await read()) return;
      } catch (error) {
        if (stop.signal.aborted) return;
        // What the service refuses it will refuse again, unless it has not quite begun or is about
        // to end.
        if (error.status && error.status !== 503) {
          on.lost?.(error);
          return;
        }
        if (++tries > 1) on.waiting?.(true);
      }
      await new Promise((done) => setTimeout(done, Math.min(250 * 2 ** tries, 4000)));
    }
  })();
  return () => stop.abort();
}

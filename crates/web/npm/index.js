// thalweg in pages and in Node: docs/browser.md of the project is the manual.

import { begin, isNode } from './port.js';

/** The library's error: `code`, and for a recipe `pointer`, `field`, `given` and `allowed`. */
export class ThalwegError extends Error {
  constructor({ message, ...data }) {
    super(message);
    this.name = 'ThalwegError';
    Object.assign(this, data);
  }
}

/** Threads share memory, which a page may do where it is isolated from other sites. */
const hasThreads = isNode || globalThis.crossOriginIsolated === true;
const cores = async () =>
  isNode ? (await import('node:os')).availableParallelism() : (navigator.hardwareConcurrency ?? 1);

const compiled = new Map();
/** A module, compiled once. */
function moduleOf(file) {
  const compile = async () => {
    const url = new URL(file, import.meta.url);
    if (isNode) {
      const { readFile } = await import('node:fs/promises');
      return WebAssembly.compile(await readFile(url));
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    // A file host that does not know the type is no reason to fail.
    return /wasm/.test(response.headers.get('content-type') ?? '')
      ? WebAssembly.compileStreaming(response)
      : WebAssembly.compile(await response.arrayBuffer());
  };
  if (!compiled.has(file)) {
    const made = compile();
    compiled.set(file, made);
    made.catch(() => compiled.delete(file));
  }
  return compiled.get(file);
}

/** A recipe as JSON, with numbers of any length. */
const written = (value) =>
  JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `@${v}@` : v)).replace(
    /"@(-?\d+)@"/g,
    '$1',
  );

/** A worker with an instance of the module, which makes one land at a time. */
class Bench {
  static idle = [];
  static free =
    globalThis.FinalizationRegistry && new FinalizationRegistry((bench) => bench.rest());

  /** A bench whose module makes lands, and also reads and writes files where `files` says so. */
  static async take(files = false) {
    Bench.idle = Bench.idle.filter((bench) => !bench.isEnded);
    const has = (kind) => Bench.idle.findLastIndex((bench) => bench.files === kind);
    const found = has(false) >= 0 && !files ? has(false) : has(true);
    if (found >= 0) return Bench.idle.splice(found, 1)[0];
    const bench = new Bench();
    bench.files = files;
    bench.module = await moduleOf(
      `./thalweg${files ? '-files' : ''}${hasThreads ? '-threads' : ''}.wasm`,
    );
    bench.worker = await begin(
      new URL('./worker.js', import.meta.url),
      (message) => bench.hear(message),
      (error) => bench.fail(error),
    );
    bench.worker.postMessage({ module: bench.module, threads: hasThreads });
    return bench;
  }

  threads = [];
  resting = [];

  /** Begins a thread of the module, in a worker that rests or in a new one. */
  async thread(thread, memory) {
    let worker = this.resting.pop();
    if (!worker) {
      worker = await begin(
        new URL('./thread.js', import.meta.url),
        () => this.resting.push(worker),
        (error) => this.fail(error),
      );
      this.threads.push(worker);
      if (this.isEnded) worker.terminate();
      worker.postMessage({ module: this.module, memory });
    }
    worker.postMessage({ thread });
  }

  waiting = new Map();
  asked = 0;

  /**
   * Asks the module; `heights` and `files` go with the question, and `told` hears what happens
   * meanwhile.
   */
  ask(question, { heights = null, files = null, wants = null, told = null, signal = null } = {}) {
    return new Promise((resolve, reject) => {
      if (this.isEnded) {
        reject(new Error('the worker has ended'));
        return;
      }
      const id = ++this.asked;
      const stop = () => {
        reject(signal.reason);
        this.end();
      };
      if (signal?.aborted) {
        stop();
        return;
      }
      signal?.addEventListener('abort', stop, { once: true });
      const done = () => {
        signal?.removeEventListener('abort', stop);
        this.waiting.delete(id);
        if (isNode && !this.waiting.size) this.worker.unref();
      };
      this.waiting.set(id, { resolve, reject, told, done });
      if (isNode) this.worker.ref();
      this.worker.postMessage({ id, question, heights, files, wants });
    });
  }

  hear({ id, ok, error, told, values, broken, thread, memory }) {
    if (thread) {
      this.thread(thread, memory).catch((error) => this.fail(error));
      return;
    }
    const one = this.waiting.get(id);
    if (!one) return;
    if (told) {
      one.told?.(told, values);
      return;
    }
    one.done();
    if (broken) this.end();
    if (error) one.reject(new ThalwegError(error));
    else one.resolve(values ? { ...ok, values } : ok);
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.end();
  }

  /** It waits for another land, unless enough others do. */
  rest() {
    if (this.isEnded || Bench.idle.includes(this)) return;
    Bench.idle.push(this);
    if (Bench.idle.length <= 4) return;
    // One that has files can do what another one can, too.
    const least = Bench.idle.find((bench) => !bench.files) ?? Bench.idle[0];
    Bench.idle = Bench.idle.filter((bench) => bench !== least);
    least.end();
  }

  end() {
    this.isEnded = true;
    for (const worker of [this.worker, ...this.threads]) worker.terminate();
    for (const { reject, done } of [...this.waiting.values()]) {
      done();
      reject(new Error('the worker has ended'));
    }
  }
}

/** Asks something that leaves no land. */
async function asked(question, options) {
  const bench = await Bench.take();
  try {
    return await bench.ask(question, options);
  } finally {
    bench.rest();
  }
}

const textOf = (recipe) => (typeof recipe === 'string' ? recipe : written(recipe));

async function wanted(recipe, options) {
  const { seed, size, extent_m, relief, set, part, level, heights, threads } = options;
  return {
    recipe: textOf(recipe),
    name: options.name ?? 'land',
    seed: seed === undefined ? null : String(seed),
    size: typeof size === 'number' ? [size, size] : (size ?? null),
    extent_m: extent_m ?? null,
    relief: relief ?? null,
    set: set ?? [],
    part: part ? [part.x, part.y, part.width, part.height] : null,
    level: level ?? null,
    heights: heights ? [heights.width, heights.height, heights.spacing_m] : null,
    threads: threads ?? (hasThreads ? await cores() : 1),
  };
}

/** A land that was made. */
export class Land {
  #bench;

  constructor(bench, about) {
    this.#bench = bench;
    Object.assign(this, about);
    this.seed = BigInt(about.seed);
    Bench.free?.register(this, bench, this);
  }

  /**
   * The values of a map, in its unit, row by row from the north: `{ width, height, spacing_m,
   * values, missing }`.
   */
  async map(name) {
    if (!this.#bench) throw new Error('the land was closed');
    const { count: _, ...map } = await this.#bench.ask({ do: 'map', name });
    return map;
  }

  /** BLAKE3 of the exact words of a map: the same on every device. */
  async digestOf(name) {
    if (!this.#bench) throw new Error('the land was closed');
    return this.#bench.ask({ do: 'digest', name });
  }

  /** Ends its use: the worker and its memory serve the next land. */
  close() {
    Bench.free?.unregister(this);
    this.#bench?.rest();
    this.#bench = null;
  }
}

/**
 * Makes the land of a recipe: TOML, JSON, or an object. `files` has the bytes of the files that it
 * names, by their names.
 */
export async function run(recipe, options = {}) {
  const { device = 'auto', signal = null, onProgress = null, onLevel = null, heights } = options;
  if (!['auto', 'cpu', 'webgpu'].includes(device))
    throw new ThalwegError({
      code: 'param',
      message: `device = ${device}: allowed auto, cpu, webgpu`,
      field: 'device',
    });
  signal?.throwIfAborted();
  const question = { do: 'run', ...(await wanted(recipe, options)), levels: !!onLevel };
  const told = ({ progress, level }, values) => {
    if (progress) onProgress?.(progress);
    if (level) onLevel?.({ ...level, values });
  };
  const bench = await Bench.take(!!options.files);
  try {
    const wants = isNode && device === 'auto' ? 'cpu' : device;
    const about = await bench.ask(question, {
      heights: heights?.values ?? null,
      files: options.files ? Object.entries(options.files) : null,
      wants,
      told,
      signal,
    });
    return new Land(bench, about);
  } catch (error) {
    bench.rest();
    throw error;
  }
}

/** The recipe with every setting spelled out; an error says what is wrong with it. */
export const check = async (recipe, options = {}) =>
  asked({ do: 'check', ...(await wanted(recipe, options)) }, { signal: options.signal });

/** The recipes and presets that come with the library. */
export const catalogue = () => asked({ do: 'catalogue' });

/**
 * Runs small cases of every stage and returns lines of stage, case and digest. On every device they
 * are those of the project's tests/vectors.txt.
 */
export const cases = ({ device = 'cpu', signal } = {}) =>
  asked({ do: 'cases' }, { wants: device, signal });

/**
 * A worker that answers as `thalweg serve` does, for the editor in a page: requests are those of
 * service.rs and results.rs in crates/web/src, and the result of a job stays with its worker.
 */
export class Service {
  #bench;

  /** Opens one. Only with `files` it reads and writes them; else it answers 501 instead. */
  static async open({ files = false } = {}) {
    const service = new Service();
    service.#bench = await Bench.take(files);
    return service;
  }

  /**
   * Asks. `files` are the names and bytes of those that the request names, and `told` hears what
   * happens meanwhile. Aborting ends the worker.
   */
  async ask(request, { device = 'cpu', threads = null, files, told = null, signal = null } = {}) {
    const on = { threads: hasThreads ? (threads ?? (await cores())) : 1 };
    const wants = isNode && device === 'auto' ? 'cpu' : device;
    return this.#bench.ask({ do: 'service', ...request, on }, { files, wants, told, signal });
  }

  get isEnded() {
    return this.#bench.isEnded;
  }

  /** Ends the worker and its work. */
  end() {
    this.#bench.end();
  }
}

/** The version of the library. */
export const version = async () => (await asked({ do: 'version' })).version;

/**
 * A window of a land, such as one of an endless world: a land of its own whose bytes are those that
 * the whole has there. `x` and `y` are the column and row of its north-west cell.
 */
export const window = (recipe, { x, y, width, height, ...options }) =>
  run(recipe, { ...options, part: { x, y, width, height } });

/**
 * Makes a land by the module and by the page's WebGPU, and says where they differ: a report to
 * send. `equal` is whether all maps have the same words.
 */
export async function compare(recipe, options = {}) {
  const lands = [];
  try {
    for (const device of ['cpu', 'webgpu']) lands.push(await run(recipe, { ...options, device }));
    const maps = [];
    for (const name of lands[0].maps) {
      const [cpu, webgpu] = [await lands[0].digestOf(name), await lands[1].digestOf(name)];
      maps.push({ name, cpu, webgpu, equal: cpu === webgpu });
    }
    return {
      equal: maps.every(({ equal }) => equal),
      devices: lands.map(({ device }) => device),
      version: await version(),
      agent: globalThis.navigator?.userAgent ?? `Node ${process.version}`,
      maps,
    };
  } finally {
    lands.forEach((land) => land.close());
  }
}

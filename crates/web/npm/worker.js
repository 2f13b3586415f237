// The module in a worker: it answers one question at a time, and makes one land at a time.

import { WAITS, about, calls } from './calls.js';
import { open } from './gpu.js';
import { Partner } from './partner.js';
import { port } from './port.js';
import { complete, wasi } from './wasi.js';

const { send, hear } = await port();
/** Whether functions of the module may wait: JavaScript Promise Integration. */
const canSuspend = 'Suspending' in WebAssembly;

let exports = null,
  memory = null,
  host = null,
  gpu = null,
  partner = null,
  asked = 0;

const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
const floats = (at, count) => new Float32Array(memory.buffer, at, count);
// A copy, since what is shared cannot be decoded.
const text = (at, length) => new TextDecoder().decode(bytes(at, length).slice());

const page = {
  tell(at, length, first, count) {
    const told = JSON.parse(text(at, length));
    const values = count ? floats(first, count).slice() : null;
    send({ id: asked, told, values }, values ? [values.buffer] : []);
    return 0;
  },
};

/** The names of functions by which the module drives the page's device. */
const CALLS = Object.keys(calls());
/**
 * Gives the module its functions of the device. They wait for it by JavaScript Promise Integration;
 * or in a worker of the device's own, whose memory is the module's; or fail.
 */
function connect() {
  const own = calls(
    () => memory,
    () => gpu,
  );
  for (const name of CALLS)
    if (canSuspend)
      page[name] = WAITS.has(name) ? new WebAssembly.Suspending(own[name]) : own[name];
    else page[name] = (...numbers) => partner?.call(name, numbers) ?? -1;
}

/** Opens the page's WebGPU: what is known of it, or a text that says why there is none. */
async function device() {
  if (canSuspend) {
    if (!gpu || gpu.fault) gpu = await open();
    return typeof gpu === 'string' ? gpu : about(gpu);
  }
  if (!host)
    return 'this browser has no JavaScript Promise Integration, and the page is not isolated';
  partner ??= await Partner.begin(memory);
  return partner.open();
}

async function answer({ id, question, heights, files, wants }) {
  asked = id;
  let webgpu = null,
    why = null;
  if (wants && wants !== 'cpu') {
    const opened = await device();
    if (typeof opened === 'string') why = opened;
    // A software driver is slower than the module itself.
    else if (wants === 'auto' && opened.isSoftware) why = `${opened.name} is a software driver`;
    else webgpu = opened;
    if (why && wants === 'webgpu') return { error: { code: 'device', message: why } };
  }
  const ask = async (webgpu) => {
    for (const [, data] of files ?? []) {
      // A blob is read when it is needed; a second executor reads it again.
      const read = new Uint8Array(data instanceof Blob ? await data.arrayBuffer() : data);
      bytes(exports.file_room(read.length), read.length).set(read);
    }
    if (heights) floats(exports.heights(heights.length), heights.length).set(heights);
    const full = question.on
      ? { ...question, on: { ...question.on, webgpu } }
      : { ...question, webgpu };
    if (files) full.files = files.map(([name]) => name);
    const said = new TextEncoder().encode(JSON.stringify(full));
    bytes(exports.room(said.length), said.length).set(said);
    const length =
      webgpu && canSuspend ? await WebAssembly.promising(exports.ask)() : exports.ask();
    return JSON.parse(text(exports.answer(), length));
  };
  let said = await ask(webgpu);
  // Only a device that nobody named is replaced.
  const wrong = said.error?.code ?? said.ok?.problem?.type.split(':').pop();
  if (webgpu && wants === 'auto' && ['device', 'limit'].includes(wrong)) {
    why = said.error?.message ?? said.ok.problem.detail;
    page.gpu_clear();
    said = await ask(null);
  }
  if (said.ok && why) said.ok.instead = why;
  // Lists have functions of such names.
  if (Number.isInteger(said.ok?.count))
    said.values = floats(exports.values(), said.ok.count).slice();
  if (Number.isInteger(said.ok?.bytes)) said.values = bytes(exports.file(), said.ok.bytes).slice();
  return said;
}

/** Pages of memory: at first, and what 32 bits can address. */
const PAGES = [256, 65536];

async function start({ module, threads }) {
  connect();
  if (!threads) {
    ({ exports } = await WebAssembly.instantiate(module, complete(module, { page })));
    ({ memory } = exports);
    return;
  }
  memory = new WebAssembly.Memory({ initial: PAGES[0], maximum: PAGES[1], shared: true });
  let last = 0;
  // This worker is busy until the threads have done their work, so another one begins them.
  const spawn = (what) => {
    send({ thread: [++last, what], memory });
    return last;
  };
  host = wasi(memory, spawn);
  const imports = complete(module, { ...host.imports, page });
  ({ exports } = await WebAssembly.instantiate(module, imports));
  exports._initialize();
}

async function heard(message) {
  if (message.module) {
    await start(message);
    return;
  }
  let said;
  try {
    said = await answer(message);
  } catch (error) {
    // A panic: what the module holds is no longer to be trusted.
    const what = host?.said().trim() || String(error.message ?? error);
    said = { error: { code: 'internal', message: what }, broken: true };
  }
  send({ id: message.id, ...said }, said.values ? [said.values.buffer] : []);
}

let last = Promise.resolve();
hear((message) => (last = last.then(() => heard(message))));

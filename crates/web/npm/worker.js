// The module in a worker: it answers one question at a time, and makes one land at a time.

import { open } from './gpu.js';
import { port } from './port.js';
import { complete, wasi } from './wasi.js';

const { send, hear } = await port();
/** Whether functions of the module may wait: JavaScript Promise Integration. */
const canWait = 'Suspending' in WebAssembly;

let exports = null,
  memory = null,
  host = null,
  gpu = null,
  asked = 0;

const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
const floats = (at, count) => new Float32Array(memory.buffer, at, count);
const words = (at, count) => new Int32Array(memory.buffer, at, count);
// A copy, since what is shared cannot be decoded.
const text = (at, length) => new TextDecoder().decode(bytes(at, length).slice());

/** Functions that the module calls. Those of the device return 0, or −1 once it has failed. */
const guarded = (work) =>
  async function (...args) {
    try {
      return (await work(...args)) ?? 0;
    } catch (error) {
      gpu.fault ??= String(error.message ?? error);
      return -1;
    }
  };
const waits = (work) => (canWait ? new WebAssembly.Suspending(guarded(work)) : () => -1);
const page = {
  tell(at, length, first, count) {
    const told = JSON.parse(text(at, length));
    const values = count ? floats(first, count).slice() : null;
    send({ id: asked, told, values }, values ? [values.buffer] : []);
    return 0;
  },
  gpu_begin: waits((at, length, first, count) =>
    gpu.begin(JSON.parse(text(at, length)), bytes(first, count).slice()),
  ),
  gpu_run: waits((from, to) => gpu.run(from, to)),
  gpu_write: waits((at, length, first, count) =>
    gpu.write(text(at, length), words(first, count).slice()),
  ),
  gpu_read: waits(async (at, length, first, count) => {
    const read = await gpu.read(text(at, length));
    words(first, count).set(read.subarray(0, count));
  }),
  gpu_end: () => gpu.end(),
  gpu_clear: () => gpu.clear(),
  gpu_size: (at, length) => gpu.size(text(at, length)),
  gpu_fault(at, most) {
    const said = new TextEncoder().encode(gpu.fault ?? 'the device failed').subarray(0, most);
    bytes(at, said.length).set(said);
    return said.length;
  },
};

/** Opens the page's WebGPU; a text that says why there is none. */
async function device() {
  if (!canWait) return 'this browser has no JavaScript Promise Integration';
  if (gpu && !gpu.fault) return gpu;
  gpu = await open();
  return gpu;
}

async function answer({ id, question, heights, wants }) {
  asked = id;
  let webgpu = null,
    why = null;
  if (wants && wants !== 'cpu') {
    const opened = await device();
    if (typeof opened === 'string') why = opened;
    // A software driver is slower than the module itself.
    else if (wants === 'auto' && opened.isSoftware) why = `${opened.name} is a software driver`;
    else webgpu = { name: opened.name, largest_bytes: opened.largest, workgroup: opened.workgroup };
    if (why && wants === 'webgpu') return { error: { code: 'device', message: why } };
  }
  const ask = async (webgpu) => {
    if (heights) floats(exports.heights(heights.length), heights.length).set(heights);
    const full = question.on
      ? { ...question, on: { ...question.on, webgpu } }
      : { ...question, webgpu };
    const said = new TextEncoder().encode(JSON.stringify(full));
    bytes(exports.room(said.length), said.length).set(said);
    const length = webgpu ? await WebAssembly.promising(exports.ask)() : exports.ask();
    return JSON.parse(text(exports.answer(), length));
  };
  let said = await ask(webgpu);
  // Only a device that nobody named is replaced.
  const wrong = said.error?.code ?? said.ok?.problem?.type.split(':').pop();
  if (webgpu && wants === 'auto' && ['device', 'limit'].includes(wrong)) {
    why = said.error?.message ?? said.ok.problem.detail;
    gpu.clear();
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

// The module in a worker: it answers one question at a time, and makes one land at a time.

import { open } from './gpu.js';

const isNode = globalThis.process?.versions?.node !== undefined;
const port = isNode ? (await import('node:worker_threads')).parentPort : globalThis;
/** Whether functions of the module may wait: JavaScript Promise Integration. */
const canWait = 'Suspending' in WebAssembly;

let exports = null,
  gpu = null,
  asked = 0;

const bytes = (at, length) => new Uint8Array(exports.memory.buffer, at, length);
const floats = (at, count) => new Float32Array(exports.memory.buffer, at, count);
const words = (at, count) => new Int32Array(exports.memory.buffer, at, count);
const text = (at, length) => new TextDecoder().decode(bytes(at, length));

/** What the module calls. Functions of the device answer 0, or −1 once it has failed. */
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
    port.postMessage({ id: asked, told, values }, values ? [values.buffer] : []);
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
    const said = new TextEncoder().encode(question.replace('"webgpu":null', () => `"webgpu":${JSON.stringify(webgpu)}`));
    bytes(exports.room(said.length), said.length).set(said);
    const length = webgpu ? await WebAssembly.promising(exports.ask)() : exports.ask();
    return JSON.parse(text(exports.answer(), length));
  };
  let said = await ask(webgpu);
  // Only a device that nobody named is replaced.
  if (webgpu && wants === 'auto' && ['device', 'limit'].includes(said.error?.code)) {
    why = said.error.message;
    gpu.clear();
    said = await ask(null);
  }
  if (said.ok && why) said.ok.instead = why;
  if (said.ok?.count) said.ok.values = floats(exports.values(), said.ok.count).slice();
  return said;
}

async function heard(message) {
  if (message.module) {
    ({ exports } = await WebAssembly.instantiate(message.module, { page }));
    return;
  }
  let said;
  try {
    said = await answer(message);
  } catch (error) {
    // A panic: what the module holds is no longer to be trusted.
    said = { error: { code: 'internal', message: String(error.message ?? error) }, broken: true };
  }
  const values = said.ok?.values;
  port.postMessage({ id: message.id, ...said }, values ? [values.buffer] : []);
}

let last = Promise.resolve();
const queue = (message) => (last = last.then(() => heard(message)));
if (isNode) port.on('message', queue);
else port.addEventListener('message', (event) => queue(event.data));

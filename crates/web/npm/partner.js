// A worker that has the page's WebGPU, for a module that cannot be suspended: the module's worker
// asks, and sleeps until the answer lies in memory that the two share.

import { begin } from './port.js';

/** In what both share: whether the answer is there, and the answer. */
const [IS_THERE, ANSWER] = [0, 1];

/** The module's side. */
export class Partner {
  static async begin(memory) {
    const partner = new Partner();
    partner.shared = new Int32Array(new SharedArrayBuffer(8));
    // Its answers come here only while the module's worker is awake.
    const hear = (message) => partner.heard?.(message);
    const fail = ({ message }) => partner.heard?.(message);
    partner.worker = await begin(new URL('./device.js', import.meta.url), hear, fail);
    partner.worker.postMessage({ memory, shared: partner.shared });
    return partner;
  }

  /** Opens a device, unless a good one is open: what is known of it, or why there is none. */
  open() {
    const answer = new Promise((resolve) => (this.heard = resolve));
    this.worker.postMessage({ opens: true });
    return answer;
  }

  /** Has a function of the device done, and sleeps meanwhile. */
  call(name, numbers) {
    Atomics.store(this.shared, IS_THERE, 0);
    this.worker.postMessage({ name, numbers });
    Atomics.wait(this.shared, IS_THERE, 0);
    return Atomics.load(this.shared, ANSWER);
  }
}

/** The device's side. */
export function answered(shared, number) {
  Atomics.store(shared, ANSWER, number);
  Atomics.store(shared, IS_THERE, 1);
  Atomics.notify(shared, IS_THERE);
}

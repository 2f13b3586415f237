// The few functions of WASI that the module with threads asks for.

/** WASI's number for a file that is not open: a page has none. */
const BADF = 8;

/**
 * Imports of a module, those that `known` lacks as functions that return a number. Dependencies ask
 * for files, and for random numbers to encrypt archives with, which nothing here uses.
 */
export function complete(module, known) {
  const all = { ...known };
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== 'function' || known[from]?.[name]) continue;
    all[from] = { ...all[from], [name]: () => BADF };
  }
  return all;
}

/** @param spawn starts a thread: it gets the address of its task, and returns its number */
export function wasi(memory, spawn) {
  const view = () => new DataView(memory.buffer);
  let said = '';
  return {
    /** The last text that the module wrote, such as the message of a panic. */
    said: () => said,
    imports: {
      env: { memory },
      wasi: { 'thread-spawn': spawn },
      wasi_snapshot_preview1: {
        random_get(at, length) {
          // No random number decides anything, and shared memory cannot be filled in place.
          const bytes = crypto.getRandomValues(new Uint8Array(length));
          new Uint8Array(memory.buffer, at, length).set(bytes);
          return 0;
        },
        environ_get: () => 0,
        environ_sizes_get(count, bytes) {
          view().setUint32(count, 0, true);
          view().setUint32(bytes, 0, true);
          return 0;
        },
        clock_time_get(_, __, at) {
          const now = performance.timeOrigin + performance.now();
          view().setBigUint64(at, BigInt(Math.round(now * 1e6)), true);
          return 0;
        },
        fd_write(_, pieces, count, written) {
          let bytes = 0,
            text = '';
          for (let i = 0; i < count; i++) {
            const at = view().getUint32(pieces + 8 * i, true),
              length = view().getUint32(pieces + 8 * i + 4, true);
            text += new TextDecoder().decode(new Uint8Array(memory.buffer, at, length).slice());
            bytes += length;
          }
          said = (said + text).slice(-2000);
          view().setUint32(written, bytes, true);
          return 0;
        },
        proc_exit(code) {
          throw new Error(said.trim() || `the module ended with ${code}`);
        },
        sched_yield: () => 0,
      },
    },
  };
}

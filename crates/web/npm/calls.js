// The functions by which the module drives the page's WebGPU, as crates/web/src/page.rs declares
// them.

/** Those that wait for the device. */
export const WAITS = new Set(['gpu_begin', 'gpu_run', 'gpu_write', 'gpu_read']);

/** The name and the limits of a device. */
export const about = ({ name, isSoftware, largest, workgroup }) => ({
  name,
  isSoftware,
  largest_bytes: largest,
  workgroup,
});

/**
 * The functions, of the memory of the module and of its device, which may change. They return
 * numbers; those that wait return 0 or more, or −1 once the device has failed.
 */
export function calls(memory, gpu) {
  const bytes = (at, length) => new Uint8Array(memory().buffer, at, length);
  const words = (at, count) => new Int32Array(memory().buffer, at, count);
  // A copy, since what is shared cannot be decoded.
  const text = (at, length) => new TextDecoder().decode(bytes(at, length).slice());
  const guarded = (work) =>
    async function (...numbers) {
      try {
        return (await work(...numbers)) ?? 0;
      } catch (error) {
        gpu().fault ??= String(error.message ?? error);
        return -1;
      }
    };
  return {
    gpu_begin: guarded((at, length, first, count) =>
      gpu().begin(JSON.parse(text(at, length)), bytes(first, count).slice()),
    ),
    gpu_run: guarded((from, to) => gpu().run(from, to)),
    gpu_write: guarded((at, length, first, count) =>
      gpu().write(text(at, length), words(first, count).slice()),
    ),
    gpu_read: guarded(async (at, length, first, count) => {
      const read = await gpu().read(text(at, length));
      words(first, count).set(read.subarray(0, count));
    }),
    gpu_end: () => gpu().end(),
    gpu_clear: () => gpu().clear(),
    gpu_size: (at, length) => gpu().size(text(at, length)),
    gpu_fault(at, most) {
      const said = new TextEncoder().encode(gpu().fault ?? 'the device failed').subarray(0, most);
      bytes(at, said.length).set(said);
      return said.length;
    },
  };
}

// A thread of the module with threads. It shares the memory of the worker that began it, and may
// serve for several threads, one after the other.

import { port } from './port.js';
import { complete, wasi } from './wasi.js';

const { send, hear } = await port();
let instance = null;

hear(async ({ module, memory, thread }) => {
  if (module) {
    // A thread begins none itself, and calls nothing of the page.
    const none = () => {
      throw new Error('a thread called the page');
    };
    const page = Object.fromEntries(
      WebAssembly.Module.imports(module)
        .filter((one) => one.module === 'page')
        .map(({ name }) => [name, none]),
    );
    const host = wasi(memory, () => -1);
    instance = WebAssembly.instantiate(module, complete(module, { ...host.imports, page }));
  }
  if (thread) {
    (await instance).exports.wasi_thread_start(...thread);
    send({ rests: true });
  }
});

// How workers and who began them talk, in a page and in Node.

export const isNode = globalThis.process?.versions?.node !== undefined;

/** Begins a worker; `hear` gets its messages and `fail` what ends it. */
export async function begin(url, hear, fail) {
  if (isNode) {
    const { Worker } = await import('node:worker_threads');
    // Options of the program, such as --input-type, are not for workers.
    const worker = new Worker(url, { execArgv: [] });
    worker.on('message', hear);
    worker.on('error', fail);
    // A program may end while workers wait for questions.
    worker.unref();
    return worker;
  }
  const worker = new Worker(url, { type: 'module' });
  worker.addEventListener('message', ({ data }) => hear(data));
  worker.addEventListener('error', ({ message }) =>
    fail(new Error(message || `${url}: the worker did not start`)),
  );
  return worker;
}

/** In a worker: sends to who began it, and hears from there. */
export async function port() {
  if (isNode) {
    const { parentPort } = await import('node:worker_threads');
    return {
      send: (message, moved) => parentPort.postMessage(message, moved),
      hear: (each) => parentPort.on('message', each),
    };
  }
  return {
    send: (message, moved) => globalThis.postMessage(message, moved),
    hear: (each) => globalThis.addEventListener('message', ({ data }) => each(data)),
  };
}

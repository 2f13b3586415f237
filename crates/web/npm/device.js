// The worker of partner.js that has the page's WebGPU.

import { about, calls } from './calls.js';
import { open } from './gpu.js';
import { answered } from './partner.js';
import { port } from './port.js';

const { send, hear } = await port();
let memory = null,
  shared = null,
  gpu = null;
const own = calls(
  () => memory,
  () => gpu,
);

hear(async (message) => {
  if (message.memory) ({ memory, shared } = message);
  if (message.opens) {
    if (!gpu || typeof gpu === 'string' || gpu.fault) gpu = await open();
    send(typeof gpu === 'string' ? gpu : about(gpu));
  }
  if (!message.name) return;
  let number = -1;
  try {
    number = (await own[message.name](...message.numbers)) ?? 0;
  } finally {
    // Whatever happens: the module's worker sleeps until then.
    answered(shared, number);
  }
});

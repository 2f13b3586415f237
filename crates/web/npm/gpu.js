// Plans of passes on the page's WebGPU. What a plan is, the library says; its shaders are WGSL.

/** Bytes from the uniform data of a pass to that of the next, and of its part for `params`. */
const STRIDE = 512,
  PARAMS = 256;
/** Most passes that go together, and how long they should take, ms. */
const MOST = 256,
  SLICE = 40;

/** A device; or a text that says why there is none. */
export async function open() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) return 'this browser has no WebGPU, or no adapter for it';
  const { maxStorageBufferBindingSize, maxBufferSize, maxStorageBuffersPerShaderStage } =
    adapter.limits;
  const device = await adapter.requestDevice({
    requiredLimits: {
      maxStorageBufferBindingSize,
      maxBufferSize,
      maxStorageBuffersPerShaderStage,
    },
  });
  return new Gpu(device, adapter.info ?? {});
}

class Gpu {
  constructor(device, info) {
    this.device = device;
    const { vendor, architecture, description } = info;
    const model = [vendor, architecture].filter(Boolean).join(' ');
    this.name = `WebGPU: ${description || model || 'a device'}`;
    this.isSoftware = !!info.isFallbackAdapter || /swiftshader|llvmpipe/i.test(this.name);
    this.largest = Math.min(device.limits.maxStorageBufferBindingSize, device.limits.maxBufferSize);
    this.workgroup = 256;
    /** Why the device failed; it cannot be used any more then. */
    this.fault = null;
    device.lost.then(({ message }) => (this.fault ??= `the device was lost: ${message}`));
    device.addEventListener('uncapturederror', ({ error }) => (this.fault ??= error.message));
    this.held = new Map();
    this.modules = new Map();
    this.kernels = new Map();
    this.uniforms = device.createBuffer({
      size: 2 * MOST * STRIDE,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    this.part = 0;
    this.flying = [];
    /** Invocations that go together. */
    this.portion = 1 << 20;
    this.ids = new WeakMap();
    this.next = 0;
  }

  check() {
    if (this.fault) throw new Error(this.fault);
  }

  /** Buffers of these words, or an error where there is no memory for them. */
  async made(sizes) {
    this.device.pushErrorScope('out-of-memory');
    const buffers = sizes.map((count) =>
      this.device.createBuffer({
        size: Math.max(4, count * 4),
        usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
      }),
    );
    if (await this.device.popErrorScope()) {
      const bytes = 4 * sizes.reduce((sum, count) => sum + count, 0);
      throw new Error(`no memory for buffers of ${bytes >> 20} MiB: make the land smaller`);
    }
    return buffers;
  }

  drop(name) {
    this.held.get(name)?.destroy();
    this.held.delete(name);
  }

  async begin(plan, data) {
    this.check();
    this.plan = plan;
    this.data = data;
    const taken = plan.buffers
      .filter(({ fill }) => fill.from)
      .map(({ name, fill }) => {
        const buffer = this.held.get(fill.from);
        this.held.delete(fill.from);
        return [name, buffer];
      });
    const fresh = plan.buffers.filter(({ fill }) => fill !== 'keep' && !fill.from);
    for (const { name, keep } of fresh) {
      this.drop(name);
      if (keep) this.drop(keep);
    }
    const buffers = await this.made(fresh.map(({ words }) => words));
    fresh.forEach(({ name, words, fill }, i) => {
      this.held.set(name, buffers[i]);
      if (fill.at !== undefined)
        this.device.queue.writeBuffer(buffers[i], 0, data, fill.at, words * 4);
      // New buffers hold zeros.
      else if (fill !== 0)
        this.device.queue.writeBuffer(buffers[i], 0, new Int32Array(words).fill(fill));
    });
    for (const [name, buffer] of taken) this.held.set(name, buffer);
  }

  /** Runs passes from one on, and says which is the next. */
  async run(from, to) {
    this.check();
    const { plan, data, device } = this;
    const passes = [];
    let invocations = 0;
    for (let i = from; i < to && passes.length < MOST; i++) {
      const [, , , first, end] = plan.passes[i];
      if (passes.length && invocations + end - first > this.portion) break;
      invocations += end - first;
      passes.push(plan.passes[i]);
    }
    const base = this.part * MOST * STRIDE;
    this.part = 1 - this.part;
    const structs = new Uint8Array(passes.length * STRIDE),
      view = new Uint32Array(structs.buffer);
    const encoder = device.createCommandEncoder(),
      compute = encoder.beginComputePass();
    passes.forEach(([number, at, length, first, end, swaps], i) => {
      structs.set(data.subarray(at, at + length), i * STRIDE);
      view.set([first, end], (i * STRIDE + PARAMS) / 4);
      const groups = Math.ceil((end - first) / this.workgroup);
      if (groups) {
        const kernel = this.kernel(plan.kernels[number]),
          wide = Math.min(groups, 65535);
        compute.setPipeline(kernel.pipeline);
        compute.setBindGroup(0, this.group(kernel), kernel.offsets.fill(base + i * STRIDE));
        compute.dispatchWorkgroups(wide, Math.ceil(groups / wide));
      }
      for (const [a, b] of swaps) {
        const one = this.held.get(a);
        this.held.set(a, this.held.get(b));
        this.held.set(b, one);
      }
    });
    compute.end();
    device.queue.writeBuffer(this.uniforms, base, structs);
    const begun = performance.now();
    device.queue.submit([encoder.finish()]);
    this.flying.push(device.queue.onSubmittedWorkDone());
    // One is under way while the next is written.
    if (this.flying.length > 1) {
      await this.flying.shift();
      const took = Math.max(performance.now() - begun, 1);
      this.portion = Math.max(this.portion * Math.min(Math.max(SLICE / took, 0.5), 2), 1024);
    }
    this.check();
    return from + passes.length;
  }

  /** Kernels are made once for all plans. */
  kernel({ shader, entry, reads, owns, adds, constant }) {
    const code = this.plan.shaders[shader],
      key = `${entry} ${JSON.stringify(constant)} ${code}`;
    const known = this.kernels.get(key);
    if (known) return known;
    const slots = new Map();
    for (const [, slot, name] of code.matchAll(/@binding\((\d+)\)\s*var<[^>]*>\s*(\w+)/g))
      slots.set(name, Number(slot));
    const bindings = [
      ['params', 'uniform'],
      ['dispatch', 'uniform'],
      ...reads.map((name) => [name, 'read-only-storage', name]),
      ...owns.map((name) => [`own_${name}`, 'storage', name]),
      ...adds.map((name) => [`add_${name}`, 'storage', name]),
    ]
      .filter(([variable]) => slots.has(variable))
      .map(([variable, type, buffer]) => ({ slot: slots.get(variable), variable, type, buffer }))
      .sort((a, b) => a.slot - b.slot);
    const layout = this.device.createBindGroupLayout({
      entries: bindings.map(({ slot, type }) => ({
        binding: slot,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type, hasDynamicOffset: type === 'uniform' },
      })),
    });
    if (!this.modules.has(code)) this.modules.set(code, this.device.createShaderModule({ code }));
    const pipeline = this.device.createComputePipeline({
      layout: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: {
        module: this.modules.get(code),
        entryPoint: entry,
        constants: constant ? { [constant[0]]: constant[1] } : {},
      },
    });
    const count = bindings.filter(({ type }) => type === 'uniform').length;
    const kernel = { bindings, layout, pipeline, groups: new Map(), offsets: Array(count).fill(0) };
    this.kernels.set(key, kernel);
    return kernel;
  }

  id(buffer) {
    if (!this.ids.has(buffer)) this.ids.set(buffer, ++this.next);
    return this.ids.get(buffer);
  }

  group({ bindings, layout, groups }) {
    const buffers = bindings
        .filter(({ buffer }) => buffer)
        .map(({ buffer }) => this.held.get(buffer)),
      key = buffers.map((buffer) => this.id(buffer)).join();
    if (!groups.has(key)) {
      // Groups of buffers that are gone are never used again.
      if (groups.size > 64) groups.clear();
      const uniform = { params: [0, PARAMS], dispatch: [PARAMS, 16] };
      const entries = bindings.map(({ slot, variable, buffer }) => {
        const [offset, size] = uniform[variable] ?? [];
        const resource = buffer
          ? { buffer: this.held.get(buffer) }
          : { buffer: this.uniforms, offset, size };
        return { binding: slot, resource };
      });
      groups.set(key, this.device.createBindGroup({ layout, entries }));
    }
    return groups.get(key);
  }

  end() {
    for (const { name, keep } of this.plan.buffers) {
      const buffer = this.held.get(name);
      this.held.delete(name);
      if (keep) this.held.set(keep, buffer);
      else buffer?.destroy();
    }
  }

  clear() {
    for (const name of [...this.held.keys()]) this.drop(name);
  }

  async write(name, words) {
    this.check();
    this.drop(name);
    const [buffer] = await this.made([words.length]);
    this.device.queue.writeBuffer(buffer, 0, words);
    this.held.set(name, buffer);
  }

  size(name) {
    return (this.held.get(name)?.size ?? -4) / 4;
  }

  async read(name) {
    this.check();
    const buffer = this.held.get(name),
      copy = this.device.createBuffer({
        size: buffer.size,
        usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
      }),
      encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, buffer.size);
    this.device.queue.submit([encoder.finish()]);
    await copy.mapAsync(GPUMapMode.READ);
    const words = new Int32Array(copy.getMappedRange().slice(0));
    copy.destroy();
    this.check();
    return words;
  }
}

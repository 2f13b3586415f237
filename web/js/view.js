// The land in three dimensions: what is drawn, from where, and what lies under the pointer. It
// knows nothing of recipes.

import * as T from '../vendor/three.min.js';
import * as glsl from './glsl.js';
import { meshOf } from './things.js';

const SIDE = 10; // scene units of the land's longer side
const radians = (degrees) => (degrees * Math.PI) / 180;
const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
const smooth = (a, b, v) => {
  const t = clamp((v - a) / (b - a), 0, 1);
  return t * t * (3 - 2 * t);
};
const mix = (a, b, t) => a.map((v, i) => v + (b[i] - v) * t);

/** Noise that repeats, in four channels: three to tilt normals by, one to mix colours by. */
function noiseTexture() {
  const n = 32;
  const data = new Uint8Array(n * n * n * 4);
  let s = 0x9e3779b9;
  for (let i = 0; i < data.length; i++) {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    data[i] = s >>> 24;
  }
  const texture = new T.Data3DTexture(data, n, n, n);
  texture.format = T.RGBAFormat;
  texture.type = T.UnsignedByteType;
  texture.wrapS = texture.wrapT = texture.wrapR = T.RepeatWrapping;
  texture.magFilter = T.LinearFilter;
  texture.minFilter = T.LinearMipmapLinearFilter;
  texture.generateMipmaps = true;
  texture.needsUpdate = true;
  return texture;
}

function floatTexture(data, width, height, linear) {
  const t = new T.DataTexture(data, width, height, T.RedFormat, T.FloatType);
  t.magFilter = t.minFilter = linear ? T.LinearFilter : T.NearestFilter;
  t.unpackAlignment = 4;
  t.needsUpdate = true;
  return t;
}

function byteTexture(data, width, height) {
  const t = new T.DataTexture(data, width, height, T.RGBAFormat, T.UnsignedByteType);
  t.magFilter = t.minFilter = T.LinearFilter;
  t.needsUpdate = true;
  return t;
}

/** One state of the land on the device: before, or after. */
class Side {
  constructor(linear) {
    this.linear = linear;
    this.data = new Float32Array(4);
    this.width = this.height = 2;
    this.heights = floatTexture(this.data, 2, 2, linear);
    this.fields = byteTexture(new Uint8Array(4), 1, 1);
    this.biome = byteTexture(new Uint8Array([128, 128, 128, 255]), 1, 1);
    this.light = new T.WebGLRenderTarget(4, 4, {
      minFilter: T.LinearFilter,
      magFilter: T.LinearFilter,
      depthBuffer: false,
    });
    this.lakes = floatTexture(new Float32Array(1), 1, 1, false);
    this.rivers = byteTexture(new Uint8Array([0, 128, 128, 255]), 1, 1);
    this.materials = [0, 1].map(() => byteTexture(new Uint8Array(4), 1, 1));
    this.hasFlow = this.hasMoved = this.hasBiome = this.hasWater = this.hasMaterials = 0;
    this.dirty = true;
  }

  setHeights(data, width, height) {
    if (data !== this.data || width !== this.width || height !== this.height) {
      if (width === this.width && height === this.height) {
        this.heights.image.data = data;
      } else {
        this.heights.dispose();
        this.heights = floatTexture(data, width, height, this.linear);
      }
      this.data = data;
      this.width = width;
      this.height = height;
    }
    this.heights.needsUpdate = true;
    this.dirty = true;
  }

  setFields(rgba, width, height, has) {
    if (this.fields.image.width === width && this.fields.image.height === height) {
      this.fields.image.data = rgba;
    } else {
      this.fields.dispose();
      this.fields = byteTexture(rgba, width, height);
    }
    this.fields.needsUpdate = true;
    Object.assign(this, has);
  }

  /** Levels of lakes in metres, on the grid of the heights, and the picture of its rivers. */
  setWater(lakes, width, height, rivers) {
    this.lakes.dispose();
    this.lakes = floatTexture(lakes, width, height, false);
    this.rivers.dispose();
    this.rivers = byteTexture(rivers.data, rivers.width, rivers.height);
    this.rivers.generateMipmaps = true;
    this.rivers.minFilter = T.LinearMipmapLinearFilter;
    this.rivers.anisotropy = 4;
    this.hasWater = 1;
  }

  /** Weights of materials, four to a picture. */
  setMaterials(pictures, width, height) {
    this.materials.forEach((texture) => texture.dispose());
    this.materials = pictures.map((rgba) => byteTexture(rgba, width, height));
    this.hasMaterials = 1;
  }

  setBiome(rgba, width, height) {
    this.biome.dispose();
    this.biome = byteTexture(rgba, width, height);
    this.hasBiome = 1;
  }
}

export class View {
  /** @param {HTMLElement} host the element that the picture fills */
  constructor(host) {
    this.host = host;
    this.renderer = new T.WebGLRenderer({ antialias: true, powerPreference: 'high-performance' });
    const gl = this.renderer.getContext();
    const info = gl.getExtension('WEBGL_debug_renderer_info');
    this.device = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : 'WebGL2';
    this.software = /swiftshader|llvmpipe|software|basic render/i.test(this.device);
    this.linear = !!gl.getExtension('OES_texture_float_linear');
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'application');
    host.append(this.canvas);

    this.camera = new T.PerspectiveCamera(32, 1, 0.02, 400);
    this.eye = { azimuth: 202, tilt: 31, distance: 17, target: new T.Vector3(0, 0, 0) };
    this.goal = { ...this.eye, target: this.eye.target.clone() };
    this.inset = { left: 0, right: 0, bottom: 0, top: 0 };
    this.sun = { azimuth: 305, tilt: 30 };
    this.exaggeration = 1;
    this.metre = 1;
    this.extent = [1, 1];
    this.range = [0, 1];
    this.sea = null;
    this.ocean = false;
    this.animate = !this.software;
    this.compare = null;
    this.scale = Math.min(devicePixelRatio || 1, this.software ? 1 : 2);
    this.quality = 1;
    this.frames = [];
    this.listeners = [];

    this.after = new Side(this.linear);
    this.before = new Side(this.linear);

    this.u = {};
    for (const [name, value] of Object.entries({
      uHeight: null,
      uDim: new T.Vector2(2, 2),
      uExtent: new T.Vector2(10, 10),
      uVert: 1,
      uLinear: this.linear ? 1 : 0,
      uSun: new T.Vector3(0, 1, 0),
      uSunColour: new T.Vector3(),
      uZenith: new T.Vector3(),
      uHorizon: new T.Vector3(),
      uGround: new T.Vector3(),
      uLight: null,
      uFields: null,
      uBiome: null,
      uMaterials: null,
      uMoreMaterials: null,
      uHasMaterials: 0,
      uNoise: noiseTexture(),
      uEye: new T.Vector3(),
      uHaze: 0.012,
      uHasFlow: 0,
      uHasMoved: 0,
      uHasBiome: 0,
      uLakes: null,
      uRivers: null,
      uHasWater: 0,
      uRange: new T.Vector2(0, 1),
      uSea: -1e9,
      uHasSea: 0,
      uOverlay: 0,
      uContour: 0,
      uMetre: 1,
      uDetail: 1,
      uBrush: new T.Vector4(),
      uBrushColour: new T.Vector3(1, 1, 1),
      uMask: new T.Vector3(1, 0.4, 0.1),
      uMasked: 0,
      uBottom: -1,
      uOpen: 0,
      uDry: 0,
      uReach: new T.Vector2(5, 5),
      uTime: 0,
      uClear: 30,
      uBack: new T.Matrix4(),
      uDirections: this.software ? 8 : 16,
      uSteps: this.software ? 28 : 64,
    }))
      this.u[name] = { value };

    const material = (vertexShader, fragmentShader, more = {}) =>
      new T.RawShaderMaterial({
        vertexShader,
        fragmentShader,
        glslVersion: T.GLSL3,
        uniforms: this.u,
        side: T.DoubleSide,
        ...more,
      });
    const mesh = (geometry, m, order) => {
      const made = new T.Mesh(geometry, m);
      made.frustumCulled = false;
      made.matrixAutoUpdate = false;
      made.renderOrder = order;
      return made;
    };
    const screen = new T.BufferGeometry();
    screen.setAttribute(
      'position',
      new T.BufferAttribute(new Float32Array([-1, -1, 0, 3, -1, 0, -1, 3, 0]), 3),
    );
    const flat = new T.BufferGeometry();
    flat.setAttribute(
      'position',
      new T.BufferAttribute(new Float32Array([-1, 0, -1, 1, 0, -1, 1, 0, 1, -1, 0, 1]), 3),
    );
    flat.setIndex([0, 2, 1, 0, 3, 2]);

    this.scene = new T.Scene();
    this.sky = mesh(
      screen,
      material(glsl.skyVertex, glsl.skyFragment, { depthTest: false, depthWrite: false }),
      -5,
    );
    // A processor draws small triangles slowly. Light is by the heights, not by the mesh.
    const cells = this.software ? 128 : 512;
    this.terrain = mesh(View.grid(cells), material(glsl.terrainVertex, glsl.terrainFragment), 0);
    this.sides = mesh(View.ribbon(cells), material(glsl.sideVertex, glsl.sideFragment), 1);
    this.waterSides = mesh(
      View.ribbon(cells),
      material(glsl.waterSideVertex, glsl.waterSideFragment, {
        transparent: true,
        depthWrite: false,
      }),
      3,
    );
    this.water = mesh(
      flat,
      material(glsl.waterVertex, glsl.waterFragment, { transparent: true, depthWrite: false }),
      4,
    );
    this.scene.add(this.sky, this.terrain, this.sides, this.waterSides, this.water);
    this.thingMaterial = material(glsl.thingVertex, glsl.thingFragment);
    this.things = new T.Group();
    this.showsThings = true;
    this.scene.add(this.things);
    this.mesh = mesh;
    this.lightScene = new T.Scene();
    this.lightScene.add(
      mesh(
        screen,
        material(glsl.lightVertex, glsl.lightFragment, {
          depthTest: false,
          depthWrite: false,
          blending: T.NoBlending,
        }),
        0,
      ),
    );
    this.noCamera = new T.Camera();

    // Drivers take long for shaders, and the page would wait for them with the first picture.
    this.isReady = false;
    const things = this.mesh(new T.InstancedBufferGeometry(), this.thingMaterial, 2);
    this.things.add(things);
    const ready = [
      this.renderer.compileAsync(this.scene, this.camera),
      this.renderer.compileAsync(this.lightScene, this.noCamera),
    ];
    this.things.remove(things);
    this.ready = Promise.all(ready).then(() => {
      this.isReady = true;
      this.resize();
    });
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
    this.setSun(this.sun.azimuth, this.sun.tilt);
    this.last = performance.now();
    this.wake = true;
    const loop = (now) => {
      this.tick(now);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
    this.canvas.addEventListener('webglcontextrestored', () => {
      this.isReady = true;
      this.after.dirty = this.before.dirty = true;
      this.draw();
    });
  }

  static grid(n) {
    const geometry = new T.BufferGeometry();
    const at = new Float32Array((n + 1) * (n + 1) * 2);
    for (let y = 0, i = 0; y <= n; y++)
      for (let x = 0; x <= n; x++) {
        at[i++] = x / n;
        at[i++] = y / n;
      }
    const index = new Uint32Array(n * n * 6);
    for (let y = 0, i = 0; y < n; y++)
      for (let x = 0; x < n; x++) {
        const a = y * (n + 1) + x,
          b = a + n + 1;
        index[i++] = a;
        index[i++] = b;
        index[i++] = a + 1;
        index[i++] = a + 1;
        index[i++] = b;
        index[i++] = b + 1;
      }
    geometry.setAttribute('grid', new T.BufferAttribute(at, 2));
    geometry.setIndex(new T.BufferAttribute(index, 1));
    return geometry;
  }

  static ribbon(n) {
    const geometry = new T.BufferGeometry();
    const at = [],
      index = [];
    for (const place of [(t) => [t, 0], (t) => [1, t], (t) => [1 - t, 1], (t) => [0, 1 - t]]) {
      const first = at.length / 3;
      for (let i = 0; i <= n; i++) at.push(...place(i / n), 0, ...place(i / n), 1);
      for (let i = 0; i < n; i++) {
        const a = first + i * 2;
        index.push(a, a + 1, a + 2, a + 2, a + 1, a + 3);
      }
    }
    geometry.setAttribute('place', new T.BufferAttribute(new Float32Array(at), 3));
    geometry.setIndex(new T.BufferAttribute(new Uint32Array(index), 1));
    return geometry;
  }

  /** Asks for another picture. */
  draw() {
    this.wake = true;
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.host;
    if (!w || !h) return;
    this.renderer.setPixelRatio(this.scale * this.quality);
    this.renderer.setSize(w, h);
    this.camera.aspect = w / h;
    // A canvas of another size is empty: nobody should see that.
    if (this.noCamera) this.render(w, h);
    this.draw();
  }

  /** What the panels cover, so that the land is in the middle of the rest. */
  setInset(inset) {
    this.inset = inset;
    this.draw();
  }

  setLand({ extent, sea, ocean }) {
    const longest = Math.max(...extent);
    this.extent = extent;
    this.metre = SIDE / longest;
    this.sea = sea;
    this.ocean = ocean;
    this.u.uExtent.value.set(extent[0] * this.metre, extent[1] * this.metre);
    this.draw();
  }

  /**
   * What stands on the land: of each kind the shape and its places, four numbers each, as
   * `placesOf` has them.
   */
  setThings(kinds) {
    for (const old of [...this.things.children]) {
      old.geometry.dispose();
      this.things.remove(old);
    }
    for (const { shape, places } of kinds) {
      const { position, shade } = meshOf(shape),
        geometry = new T.InstancedBufferGeometry();
      geometry.setAttribute('position', new T.BufferAttribute(position, 3));
      geometry.setAttribute('shade', new T.BufferAttribute(shade, 3));
      geometry.setAttribute('place', new T.InstancedBufferAttribute(places, 4));
      this.things.add(this.mesh(geometry, this.thingMaterial, 2));
    }
    this.draw();
  }

  setRange(low, high) {
    this.range = [low, high];
    this.draw();
  }

  setSun(azimuth, tilt) {
    this.sun = { azimuth: ((azimuth % 360) + 360) % 360, tilt: clamp(tilt, 3, 88) };
    const a = radians(this.sun.azimuth),
      t = radians(this.sun.tilt);
    this.u.uSun.value.set(Math.sin(a) * Math.cos(t), Math.sin(t), -Math.cos(a) * Math.cos(t));
    this.after.dirty = this.before.dirty = true;
    this.light();
    this.draw();
  }

  setDark(dark) {
    this.dark = dark;
    this.light();
    this.draw();
  }

  light() {
    const day = smooth(0.02, 0.55, Math.sin(radians(this.sun.tilt)));
    const dim = this.dark ? 0.62 : 1;
    const set = (u, c, k = 1) => u.value.set(c[0] * k, c[1] * k, c[2] * k);
    set(this.u.uSunColour, mix([1.05, 0.5, 0.22], [1.06, 0.97, 0.86], day));
    set(this.u.uZenith, mix([0.1, 0.14, 0.3], [0.13, 0.29, 0.6], day), this.dark ? 0.55 : 1);
    set(this.u.uHorizon, mix([0.66, 0.44, 0.34], [0.56, 0.67, 0.78], day), dim);
    set(this.u.uGround, mix([0.34, 0.27, 0.26], [0.38, 0.47, 0.56], day), this.dark ? 0.13 : 0.92);
  }

  place(camera) {
    const { azimuth, tilt, distance, target } = this.eye;
    const a = radians(azimuth),
      t = radians(tilt);
    camera.position.set(
      target.x + distance * Math.cos(t) * Math.sin(a),
      target.y + distance * Math.sin(t),
      target.z - distance * Math.cos(t) * Math.cos(a),
    );
    // Never below the ground.
    const ground = this.heightAtScene(camera.position.x, camera.position.z);
    const floor = (ground === null ? -1e9 : ground * this.u.uVert.value) + 0.12;
    const sea = this.sea === null ? -1e9 : this.sea * this.u.uVert.value + 0.05;
    camera.position.y = Math.max(camera.position.y, floor, sea);
    camera.up.set(0, 1, 0);
    camera.lookAt(target);
    camera.near = Math.max(0.01, distance * 0.01);
    camera.far = 400;
    const w = this.host.clientWidth,
      h = this.host.clientHeight,
      i = this.inset;
    camera.setViewOffset(w, h, -(i.left - i.right) / 2, -(i.top - i.bottom) / 2, w, h);
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }

  /** The heights in metres under a place of the scene, or null beside the land. */
  heightAtScene(x, z) {
    return this.heightAt(x / this.u.uExtent.value.x + 0.5, z / this.u.uExtent.value.y + 0.5);
  }

  heightAt(gx, gy) {
    if (!(gx >= 0 && gx <= 1 && gy >= 0 && gy <= 1)) return null;
    const { data, width, height } = this.after;
    const x = gx * (width - 1),
      y = gy * (height - 1);
    const i = Math.min(Math.floor(x), width - 2),
      j = Math.min(Math.floor(y), height - 2),
      fx = x - i,
      fy = y - j,
      k = j * width + i;
    return (
      (data[k] * (1 - fx) + data[k + 1] * fx) * (1 - fy) +
      (data[k + width] * (1 - fx) + data[k + width + 1] * fx) * fy
    );
  }

  /**
   * The place on the land under a point of the window: 0 to 1 each way, metres, and the height; or
   * null.
   */
  pick(clientX, clientY) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((clientX - box.left) / box.width) * 2 - 1,
      y = 1 - ((clientY - box.top) / box.height) * 2;
    this.place(this.camera);
    const from = this.camera.position.clone();
    const d = new T.Vector3(x, y, 0.5).unproject(this.camera).sub(from).normalize();
    const ex = this.u.uExtent.value.x,
      ey = this.u.uExtent.value.y,
      v = this.u.uVert.value;
    // Where the ray is over the land.
    let near = 0,
      far = 200;
    for (const [p, q, half] of [
      [from.x, d.x, ex / 2],
      [from.z, d.z, ey / 2],
    ]) {
      if (Math.abs(q) < 1e-9) {
        if (Math.abs(p) > half) return null;
        continue;
      }
      const a = (-half - p) / q,
        b = (half - p) / q;
      near = Math.max(near, Math.min(a, b));
      far = Math.min(far, Math.max(a, b));
    }
    if (near >= far) return null;
    const clear = (t) =>
      from.y +
      d.y * t -
      (this.heightAt(
        clamp((from.x + d.x * t) / ex + 0.5, 0, 1),
        clamp((from.z + d.z * t) / ey + 0.5, 0, 1),
      ) ?? 0) *
        v;
    const steps = 700,
      step = (far - near) / steps;
    let t = near,
      hit = clear(near) <= 0 ? near : null;
    for (let i = 0; i < steps && hit === null; i++, t += step) {
      if (clear(t + step) <= 0) {
        let a = t,
          b = t + step;
        for (let k = 0; k < 14; k++) {
          const m = (a + b) / 2;
          if (clear(m) > 0) a = m;
          else b = m;
        }
        hit = b;
      }
    }
    if (hit === null) return null;
    const gx = clamp((from.x + d.x * hit) / ex + 0.5, 0, 1),
      gy = clamp((from.z + d.z * hit) / ey + 0.5, 0, 1);
    return {
      gx,
      gy,
      x_m: gx * this.extent[0],
      y_m: gy * this.extent[1],
      height_m: this.heightAt(gx, gy),
      distance: hit,
    };
  }

  /** Where a place on the land appears, in pixels of the window. */
  project(gx, gy) {
    this.place(this.camera);
    const p = new T.Vector3(
      (gx - 0.5) * this.u.uExtent.value.x,
      (this.heightAt(gx, gy) ?? 0) * this.u.uVert.value,
      (gy - 0.5) * this.u.uExtent.value.y,
    ).project(this.camera);
    const box = this.canvas.getBoundingClientRect();
    return [box.left + ((p.x + 1) / 2) * box.width, box.top + ((1 - p.y) / 2) * box.height];
  }

  orbit(dx, dy) {
    this.goal.azimuth += dx * 0.28;
    this.goal.tilt = clamp(this.goal.tilt + dy * 0.22, 4, 89);
    this.draw();
  }

  pan(dx, dy) {
    const a = radians(this.goal.azimuth),
      k = this.goal.distance * 0.0011;
    this.goal.target.x += (Math.cos(a) * dx + Math.sin(a) * -dy) * k;
    this.goal.target.z += (Math.sin(a) * dx - Math.cos(a) * -dy) * k;
    const half = 0.75 * SIDE;
    this.goal.target.x = clamp(this.goal.target.x, -half, half);
    this.goal.target.z = clamp(this.goal.target.z, -half, half);
    this.draw();
  }

  zoom(factor, clientX, clientY) {
    const to = clamp(this.goal.distance * factor, 0.6, 60),
      f = to / this.goal.distance;
    const at = clientX === undefined ? null : this.pick(clientX, clientY);
    if (at && f < 1) {
      const p = new T.Vector3(
        (at.gx - 0.5) * this.u.uExtent.value.x,
        at.height_m * this.u.uVert.value,
        (at.gy - 0.5) * this.u.uExtent.value.y,
      );
      this.goal.target.lerp(p, 1 - f);
    }
    this.goal.distance = to;
    this.draw();
  }

  /** Shows the land as a whole. */
  home(at = {}) {
    const vert = this.metre * this.exaggeration,
      open = this.sea !== null && this.ocean;
    const level = open ? this.sea * vert : (this.range[0] * 0.7 + this.range[1] * 0.3) * vert;
    // An island may fill the view; a block with sides is seen whole, and from higher up.
    const spread = Math.hypot(this.u.uExtent.value.x, this.u.uExtent.value.y) / (SIDE * Math.SQRT2);
    Object.assign(this.goal, {
      azimuth: 205,
      tilt: open ? 27 : 34,
      distance: (open ? 12.2 : 18.4) * Math.max(spread, 0.6),
      ...at,
    });
    this.goal.target = new T.Vector3(0, level, open ? 0.25 : 0.1);
    this.draw();
  }

  setEye(eye) {
    Object.assign(this.goal, { azimuth: eye.azimuth, tilt: eye.tilt, distance: eye.distance });
    this.goal.target = new T.Vector3(...eye.target);
    this.jump();
  }

  getEye() {
    const r = (v) => Math.round(v * 1000) / 1000;
    return {
      azimuth: r(this.goal.azimuth),
      tilt: r(this.goal.tilt),
      distance: r(this.goal.distance),
      target: this.goal.target.toArray().map(r),
    };
  }

  jump() {
    Object.assign(this.eye, this.goal, { target: this.goal.target.clone() });
    this.draw();
  }

  use(side) {
    const u = this.u;
    u.uHeight.value = side.heights;
    u.uDim.value.set(side.width, side.height);
    u.uLight.value = side.light.texture;
    u.uFields.value = side.fields;
    u.uBiome.value = side.biome;
    u.uHasFlow.value = side.hasFlow;
    u.uHasMoved.value = side.hasMoved;
    u.uHasBiome.value = side.hasBiome;
    [u.uMaterials.value, u.uMoreMaterials.value] = side.materials;
    u.uHasMaterials.value = side.hasMaterials;
    u.uLakes.value = side.lakes;
    u.uRivers.value = side.rivers;
    u.uHasWater.value = side.hasWater;
  }

  shade(side) {
    if (!side.dirty) return;
    side.dirty = false;
    const cap = this.software ? 400 : 1024;
    const w = Math.min(side.width, cap),
      h = Math.min(side.height, cap);
    if (side.light.width !== w || side.light.height !== h) side.light.setSize(w, h);
    this.use(side);
    this.u.uLight.value = null;
    this.renderer.setRenderTarget(side.light);
    this.renderer.render(this.lightScene, this.noCamera);
    this.renderer.setRenderTarget(null);
  }

  update() {
    const u = this.u;
    u.uMetre.value = this.metre;
    const vert = this.metre * this.exaggeration;
    if (u.uVert.value !== vert) {
      u.uVert.value = vert;
      this.after.dirty = this.before.dirty = true;
    }
    u.uRange.value.set(...this.range);
    const has = this.sea !== null;
    u.uHasSea.value = has ? 1 : 0;
    u.uSea.value = has ? this.sea : -1e9;
    u.uClear.value = Math.max((this.range[1] - (has ? this.sea : this.range[0])) * 0.055, 2);
    u.uBottom.value = this.range[0] * vert - 0.34;
    const open = has && this.ocean;
    u.uReach.value.set(open ? 180 : u.uExtent.value.x / 2, open ? 180 : u.uExtent.value.y / 2);
    u.uHaze.value = open ? 0.0125 : 0.009;
    u.uOpen.value = open ? 1 : 0;
    this.water.visible = has;
    this.waterSides.visible = has && !open;
    this.sides.visible = !open;
    this.things.visible = this.showsThings && u.uOverlay.value === 0;
  }

  render(width, height) {
    if (!this.isReady) return;
    this.update();
    this.place(this.camera);
    const u = this.u,
      r = this.renderer;
    u.uEye.value.copy(this.camera.position);
    u.uBack.value.copy(this.camera.matrixWorld).multiply(this.camera.projectionMatrixInverse);
    // Directions only: without the place of the eye.
    const m = new T.Matrix4().copy(this.camera.matrixWorld).setPosition(0, 0, 0);
    u.uBack.value.copy(m).multiply(this.camera.projectionMatrixInverse);
    this.shade(this.after);
    if (this.compare !== null) this.shade(this.before);
    r.setScissorTest(false);
    if (this.compare === null) {
      this.use(this.after);
      r.render(this.scene, this.camera);
      return;
    }
    const at = Math.round(width * clamp(this.compare, 0, 1));
    r.setScissorTest(true);
    if (at > 0) {
      r.setScissor(0, 0, at, height);
      this.use(this.before);
      const { visible } = this.things;
      this.things.visible = false;
      r.render(this.scene, this.camera);
      this.things.visible = visible;
    }
    if (at < width) {
      r.setScissor(at, 0, width - at, height);
      this.use(this.after);
      r.render(this.scene, this.camera);
    }
    r.setScissorTest(false);
  }

  tick(now) {
    const dt = Math.min((now - this.last) / 1000, 0.1);
    this.last = now;
    const e = this.eye,
      g = this.goal,
      k = this.still ? 1 : 1 - Math.exp(-dt * 14);
    const gap =
      Math.abs(g.azimuth - e.azimuth) * 0.05 +
      Math.abs(g.tilt - e.tilt) * 0.05 +
      Math.abs(g.distance - e.distance) / e.distance +
      g.target.distanceTo(e.target);
    if (gap > 1e-4) {
      e.azimuth += (g.azimuth - e.azimuth) * k;
      e.tilt += (g.tilt - e.tilt) * k;
      e.distance += (g.distance - e.distance) * k;
      e.target.lerp(g.target, k);
      this.wake = true;
    }
    const waves = this.animate && this.sea !== null && document.visibilityState === 'visible';
    if (waves) this.u.uTime.value += dt;
    if (!this.wake && !waves) {
      this.frames.length = 0;
      return;
    }
    if (!this.isReady) return;
    this.wake = false;
    const size = this.renderer.getSize(new T.Vector2());
    this.render(size.x, size.y);
    for (const f of this.listeners) f();
    this.adapt(now);
  }

  /** Fewer pixels where the device is slow, and more again where it is quick. */
  adapt(now) {
    if (this.pinned) return;
    this.frames.push(now);
    if (this.frames.length < 12) return;
    const mean = (this.frames.at(-1) - this.frames[0]) / (this.frames.length - 1);
    this.frames.length = 0;
    this.pace = mean;
    let q = this.quality;
    if (mean > 40) q = Math.max(0.5, q * 0.8);
    else if (mean < 19) q = Math.min(1, q * 1.15);
    if (Math.abs(q - this.quality) > 0.02) {
      this.quality = q;
      this.resize();
    }
    if (mean > 60 && this.animate) this.animate = false;
  }

  /** A picture of the view, as PNG. */
  async picture(width, height) {
    await this.ready;
    const old = this.renderer.getSize(new T.Vector2()),
      ratio = this.renderer.getPixelRatio(),
      brush = this.u.uBrush.value.z,
      inset = this.inset,
      aspect = this.camera.aspect;
    this.renderer.setPixelRatio(1);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.u.uBrush.value.z = 0;
    this.inset = { left: 0, right: 0, top: 0, bottom: 0 };
    this.render(width, height);
    const done = new Promise((resolve) => this.canvas.toBlob(resolve, 'image/png'));
    this.renderer.setPixelRatio(ratio);
    this.inset = inset;
    this.camera.aspect = aspect;
    this.u.uBrush.value.z = brush;
    this.renderer.setSize(old.x, old.y);
    this.draw();
    return done;
  }
}

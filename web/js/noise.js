// The engine's fractal value noise, for brushes that act at once: what
// crates/core/src/stage/octaves.rs and arith.rs say, in the same integers.

const MASK = (1n << 64n) - 1n;
const OCTAVES = 4,
  GAIN = 0.5,
  FEATURE_MAX = 32768;

/** The key of an octave under a seed: the steps of SplitMix64. */
function key(seed, octave) {
  let z = (BigInt(seed) + (BigInt(octave) + 1n) * 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  z ^= z >> 31n;
  return [Number(z & 0xffffffffn), Number(z >> 32n)];
}

function mix(n) {
  n = Math.imul(n ^ (n >>> 16), 0x7feb352d);
  n = Math.imul(n ^ (n >>> 15), 0x846ca68b);
  return n ^ (n >>> 16);
}
const corner = ([low, high], x, y) => mix((mix(x ^ low) + y) ^ high) >>> 16;
const near = (a, b, f) => a + Math.floor(((b - a) * f + 32768) / 65536);
function smooth(t) {
  const square = Math.floor((t * t) / 65536);
  return 3 * square - 2 * Math.floor((square * t) / 65536);
}

/** The noise with features of so many cells, as a function of a cell of the world: 0 to 1. */
export function noiseOf(seed, feature) {
  const octaves = [];
  let sum = 0;
  for (let n = 0, weight = 1; n < OCTAVES; n++, weight *= GAIN) sum += weight;
  for (let n = 0, weight = 1; n < OCTAVES; n++, weight *= GAIN) {
    const size = Math.max(Math.min(Math.max(Math.round(feature), 1), FEATURE_MAX) >> n, 1);
    octaves.push({ key: key(seed, n), size, weight: Math.trunc((weight / sum) * 65536) });
  }
  return (x, y) => {
    let all = 0;
    for (const { key, size, weight } of octaves) {
      const cx = Math.floor(x / size),
        cy = Math.floor(y / size);
      const fx = smooth(Math.floor(((x - cx * size) * 65536) / size)),
        fy = smooth(Math.floor(((y - cy * size) * 65536) / size));
      const top = near(corner(key, cx, cy), corner(key, cx + 1, cy), fx),
        low = near(corner(key, cx, cy + 1), corner(key, cx + 1, cy + 1), fx);
      all += Math.floor((near(top, low, fy) * weight) / 65536);
    }
    return all / 65536;
  };
}

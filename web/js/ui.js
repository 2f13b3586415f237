// Pieces of pages: elements, icons, messages, and what all pages share.

/** An element: `el('button.primary', { type: 'button', onclick }, 'text', child)`. */
export function el(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split('.');
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== 'string') node[key] = value;
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const PATHS = {
  look: 'M12 5C7 5 3.2 8.6 2 12c1.2 3.4 5 7 10 7s8.8-3.6 10-7c-1.2-3.4-5-7-10-7zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  raise: 'M2 20c5 0 5-9 10-9s5 9 10 9M12 8V2M9 4.5 12 1.8l3 2.7',
  lower: 'M2 9c5 0 5 10 10 10s5-10 10-10M12 3v8M9 8.5 12 11.2l3-2.7',
  flatten: 'M2 17h20M12 4v8M9 9.5l3 2.7 3-2.7M5 17c0-3 14-3 14 0',
  smooth: 'M2 16c3-8 6-8 10-2s7 4 10-4M2 20h20',
  ramp: 'M2 20h20V7zM7 12l9-5.5M12.5 6H16.3V9.6',
  stamp:
    'M3 21h18M5 17h14v-3c0-1-1-2-2-2h-3c-1 0-1-2 0-4a3.400 3.400 0 1 0-4 0c1 2 1 4 0 4H7c-1 0-2 1-2 2z',
  noise: 'M2 15l3-5 2.5 4L11 6l2.5 8 2.5-5 2 4 4-7M2 20h20',
  lake: 'M3 12c0-4 4-7 9-7s9 2 9 6-3 8-9 8-9-3-9-7zM7 11c2-1.500 3 1.500 5 0s3 1.500 5 0M8 15c2-1.500 3 1.500 5 0',
  river: 'M6 3c-2 4 5 5 6 8s-6 5-3 10M11 3c-1 4 5 5 6 8s-5 5-2 10',
  hardness: 'M4 19 2.5 13 7 6l7-2 6.5 5L22 16l-5 4zM7 6l3 7 10.5-4M10 13l-6 6M10 13l7 7',
  rain: 'M7 15a4.5 4.5 0 0 1 .5-9A6 6 0 0 1 19 8a3.6 3.6 0 0 1-1 7zM8 18l-1 3M12.5 18l-1 3M17 18l-1 3',
  vegetation: 'M12 22V9M12 14C6 14 4 10 4 5c5 0 8 3 8 9zM12 17c0-5 3-7 8-7 0 5-3 7-8 7z',
  uplift: 'M2 20h20M5 16l7-9 7 9M12 5V1.500M9.5 4 12 1.500 14.5 4',
  undo: 'M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3',
  redo: 'M15 14l5-5-5-5M20 9H10a6 6 0 0 0 0 12h3',
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6 6h12v12H6z',
  dice: 'M4 4v5h5M20 20v-5h-5M4.6 9A8 8 0 0 1 19.4 8.500M19.4 15a8 8 0 0 1-14.8.5',
  variants: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  link: 'M10 14a4.5 4.5 0 0 0 6.4 0l3.2-3.2a4.5 4.5 0 0 0-6.4-6.4L12 5.6M14 10a4.5 4.5 0 0 0-6.4 0l-3.2 3.2a4.5 4.5 0 0 0 6.4 6.4L12 18.4',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.8 1.8M17.2 17.2 19 19M19 5l-1.8 1.8M6.8 17.2 5 19',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  compare: 'M12 2v20M3 6h6v12H3zM15 6h6v12h-6z',
  home: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  down: 'M12 3v12M7 11l5 5 5-5M4 20h16',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  plus: 'M12 5v14M5 12h14',
  close: 'M5 5l14 14M19 5 5 19',
  chevron: 'M8 5l7 7-7 7',
  up: 'M6 15l6-6 6 6',
  dn: 'M6 9l6 6 6-6',
  check: 'M4 12.5 9.5 18 20 6.5',
  keys: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M17 14h.01M7 14h7',
  image: 'M3 5h18v14H3zM3 16l5-5 4 4 3-3 6 5M15.5 9h.01',
  file: 'M6 2h8l5 5v15H6zM14 2v5h5',
  panel: 'M3 4h18v16H3zM15 4v16',
  bin: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14',
  level: 'M4 18h4v3H4zM10 12h4v9h-4zM16 5h4v16h-4z',
};
export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  for (const [k, v] of [
    ['viewBox', '0 0 24 24'],
    ['aria-hidden', 'true'],
    ['class', 'icon'],
  ])
    svg.setAttribute(k, v);
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}

export const iconButton = (name, label, onclick, keys) =>
  el(
    'button.icon-button',
    {
      type: 'button',
      'aria-label': label,
      title: keys ? `${label} (${keys})` : label,
      onclick,
    },
    icon(name),
  );

/**
 * A seed as a recipe takes it: whole numbers to 2⁶⁴, those that JavaScript's numbers cannot hold as
 * text. Null for what is none.
 */
export function seedOf(text) {
  if (!/^\d{1,20}$/.test(text)) return null;
  const seed = BigInt(text);
  if (seed >= 1n << 64n) return null;
  return seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : String(seed);
}
export const nextSeed = (seed) => seedOf(String((BigInt(seed) + 1n) % (1n << 64n)));

/** The field of a seed, with a button for the next one. */
export function seedRow(seed, onchange, another) {
  const oninput = (e) => {
    const given = seedOf(e.target.value);
    e.target.setAttribute('aria-invalid', String(given === null));
    if (given !== null) onchange(given);
  };
  const title = 'A whole number, 0 to 18446744073709551615';
  return el(
    'div.row.wide',
    {},
    el('label', { for: 'seed' }, 'Seed'),
    el(
      'span.with-button',
      {},
      el('input', {
        id: 'seed',
        type: 'text',
        inputmode: 'numeric',
        spellcheck: 'false',
        value: String(seed),
        title,
        oninput,
      }),
      iconButton('dice', 'Another seed', another, 'N'),
    ),
  );
}

/** A line that comes and goes, and is read aloud. */
export function toast(text, kind = 'note') {
  const host = document.getElementById('toasts');
  const line = el(`div.toast.${kind}`, {}, text);
  host.append(line);
  setTimeout(
    () => {
      line.classList.add('gone');
      setTimeout(() => line.remove(), 400);
    },
    kind === 'bad' ? 9000 : 3500,
  );
}

export const said = (error) =>
  error.errors?.length ? error.errors.map((e) => e.detail).join('\n') : error.message;

export function theme(on) {
  const media = matchMedia('(prefers-color-scheme: light)');
  const now = () => localStorage.getItem('thalweg-theme') ?? (media.matches ? 'light' : 'dark');
  const set = () => {
    document.documentElement.dataset.theme = now();
    on?.(now() === 'dark');
  };
  media.addEventListener('change', set);
  set();
  return () => {
    localStorage.setItem('thalweg-theme', now() === 'dark' ? 'light' : 'dark');
    set();
  };
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea.offscreen', { value: text });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(`${what} copied`);
}

export function save(blob, name) {
  const a = el('a', { href: URL.createObjectURL(blob), download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(a.href), 30000);
}

export const metres = (m) => {
  const a = Math.abs(m);
  if (a >= 100000) return `${(m / 1000).toFixed(0)} km`;
  if (a >= 1000) return `${(m / 1000).toFixed(2)} km`;
  return `${m.toFixed(a < 10 ? 2 : a < 100 ? 1 : 0)} m`;
};
export const bytes = (n) =>
  n >= 1048576
    ? `${(n / 1048576).toFixed(1)} MiB`
    : n >= 1024
      ? `${(n / 1024).toFixed(0)} KiB`
      : `${n} B`;
export const seconds = (s) =>
  s >= 90
    ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`
    : s >= 10
      ? `${Math.round(s)} s`
      : `${s.toFixed(1)} s`;
/** Names of settings and maps as people read them. */
export const words = (name) => {
  const t = name.replace(/_(m|deg)$/, '').replaceAll('_', ' ');
  return t[0].toUpperCase() + t.slice(1);
};

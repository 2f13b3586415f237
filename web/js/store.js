// What is kept: the history of a project, projects in the browser, and links that hold a land.

import { parsed } from './api.js';

/**
 * Recipes one after another, with where one stands. Undo has no end: entries share what did not
 * change.
 */
export class History {
  constructor(recipe) {
    this.entries = [{ recipe, label: 'start' }];
    this.at = 0;
    this.when = 0;
  }

  get recipe() {
    return this.entries[this.at].recipe;
  }

  /**
   * Another recipe. Changes with the same label at short intervals, as a slider makes, are one
   * entry.
   */
  push(recipe, label, joins = false) {
    const now = Date.now();
    if (joins && this.at && this.entries[this.at].label === label && now - this.when < 1500) {
      this.entries.length = this.at + 1;
      this.entries[this.at] = { recipe, label };
    } else {
      this.entries.length = ++this.at;
      this.entries.push({ recipe, label });
    }
    this.when = now;
  }

  get canUndo() {
    return this.at > 0;
  }
  get canRedo() {
    return this.at < this.entries.length - 1;
  }
  undo() {
    if (!this.canUndo) return null;
    this.when = 0;
    return this.entries[this.at--].label;
  }
  redo() {
    if (!this.canRedo) return null;
    this.when = 0;
    return this.entries[++this.at].label;
  }
}

const asked = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

let opened;
function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('thalweg', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('projects', { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}
const store = async (mode) =>
  (await database()).transaction('projects', mode).objectStore('projects');

export const projects = async () =>
  (await asked((await store('readonly')).getAll())).sort((a, b) => b.updated - a.updated);
export const saveProject = async (project) =>
  asked((await store('readwrite')).put({ ...project, updated: Date.now() }));
export const dropProject = async (id) => asked((await store('readwrite')).delete(id));

export const newId = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

/**
 * Whether this tab alone has a project open: it gives up the one that it had. Where a browser has
 * no locks (a page that comes neither by TLS nor
 * from this machine), nobody knows.
 */
export async function claimed(id) {
  if (!navigator.locks) return true;
  claimed.release?.();
  claimed.release = null;
  // A page that is loaded again may come before the old one has gone.
  const again = sessionStorage.getItem('thalweg-project') === id;
  sessionStorage.setItem('thalweg-project', id);
  return new Promise((resolve) => {
    const held = (lock) => {
      resolve(!!lock);
      return lock && new Promise((release) => (claimed.release = release));
    };
    const options = again ? { signal: AbortSignal.timeout(1000) } : { ifAvailable: true };
    navigator.locks.request(`thalweg-project-${id}`, options, held).catch(() => resolve(false));
  });
}

async function through(bytes, stream) {
  return new Uint8Array(
    await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer(),
  );
}

/** A value as the fragment of a link: JSON, deflated, in the alphabet of addresses. */
export async function packed(value) {
  const bytes = await through(
    new TextEncoder().encode(JSON.stringify(value)),
    new CompressionStream('deflate-raw'),
  );
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000)
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

export async function unpacked(text) {
  const raw = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = await through(
    Uint8Array.from(raw, (c) => c.charCodeAt(0)),
    new DecompressionStream('deflate-raw'),
  );
  return parsed(new TextDecoder().decode(bytes));
}

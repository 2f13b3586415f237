// Pointers on the land: drawing, turning, what lies under them; scale bar and compass.

import { $, view } from './base.js';
import { el, metres } from './ui.js';
import {
  begin,
  brush,
  cancelStroke,
  current,
  end,
  extend,
  extentOf,
  fieldsShown,
  ring,
  stroke,
} from './editor.js';
import { tell } from './signals.js';

const pointers = new Map();
let gesture = null,
  lastMove = 0;
export const canvas = view.canvas;
/** The keys that change what a drag does. */
export const held = { space: false };
canvas.setAttribute(
  'aria-label',
  'The land. Arrow keys turn the view, or move the brush when one is chosen; Enter applies it; Page Up and Page Down come nearer and go away.',
);
canvas.addEventListener('contextmenu', (e) => e.preventDefault());
canvas.addEventListener('pointerdown', (e) => {
  canvas.setPointerCapture(e.pointerId);
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
  if (pointers.size === 2) {
    if (stroke && stroke.points.length < 4) {
      cancelStroke();
    } else end();
    gesture = 'two';
    return;
  }
  const place =
    e.button === 0 && brush.tool !== 'look' && !held.space ? view.pick(e.clientX, e.clientY) : null;
  if (place) {
    gesture = 'draw';
    ring(place);
    begin(e, place);
    return;
  }
  gesture =
    e.button === 1 || (e.shiftKey && (e.button === 2 || brush.tool === 'look')) ? 'pan' : 'orbit';
  $('view').classList.add('turning');
});
canvas.addEventListener('pointermove', (e) => {
  const last = pointers.get(e.pointerId);
  if (!last) {
    const now = performance.now();
    if (now - lastMove > (view.software ? 50 : 12)) {
      lastMove = now;
      const p = view.pick(e.clientX, e.clientY);
      ring(p);
      readout(p);
    }
    return;
  }
  const dx = e.clientX - last[0],
    dy = e.clientY - last[1];
  if (gesture === 'two' && pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== e.pointerId)[1];
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]),
      after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
    const turn =
      Math.atan2(e.clientY - other[1], e.clientX - other[0]) -
      Math.atan2(last[1] - other[1], last[0] - other[0]);
    view.zoom(before / Math.max(after, 1));
    view.pan(-dx / 2, -dy / 2);
    if (Math.abs(turn) < 0.5) view.orbit((turn * 180) / Math.PI / 0.28, 0);
  } else if (gesture === 'draw' && stroke) {
    const events = e.getCoalescedEvents?.() ?? [];
    const all = view.software || !events.length ? [e] : events;
    let place = null;
    for (const one of all) {
      const p = view.pick(one.clientX, one.clientY);
      if (p) {
        place = p;
        extend(one, p, one.pressure);
      }
    }
    if (place) {
      ring(place);
      readout(place);
    }
  } else if (gesture === 'orbit') view.orbit(dx, dy);
  else if (gesture === 'pan') view.pan(-dx, -dy);
  pointers.set(e.pointerId, [e.clientX, e.clientY]);
});
const up = (e) => {
  pointers.delete(e.pointerId);
  if (gesture === 'draw') end();
  if (gesture === 'orbit' || gesture === 'pan') tell('kept');
  if (!pointers.size) {
    gesture = null;
    $('view').classList.remove('turning');
  }
};
canvas.addEventListener('pointerup', up);
canvas.addEventListener('pointercancel', up);
canvas.addEventListener('pointerleave', () => {
  if (!pointers.size) {
    ring(null);
    readout(null);
  }
});
canvas.addEventListener(
  'wheel',
  (e) => {
    e.preventDefault();
    view.zoom(
      Math.exp(Math.max(-240, Math.min(240, e.deltaY * (e.deltaMode ? 30 : 1))) * 0.0014),
      e.clientX,
      e.clientY,
    );
    tell('kept');
  },
  { passive: false },
);

export function readout(p) {
  const host = $('readout');
  if (!p) {
    host.replaceChildren();
    return;
  }
  const f = fieldsShown?.frame,
    lines = [`${metres(p.x_m)} east, ${metres(p.y_m)} south`, `${p.height_m.toFixed(1)} m`];
  if (f) {
    const k = Math.round(p.gy * (f.height - 1)) * f.width + Math.round(p.gx * (f.width - 1));
    if (f.data.flow) lines.push(`flow ${Math.round(f.data.flow[k])}`);
    if (f.data.erosion)
      lines.push(
        `erosion ${f.data.erosion[k].toFixed(1)} m`,
        `deposition ${f.data.deposition[k].toFixed(1)} m`,
      );
    const s = 1 / (view.after.width - 1),
      h = (a, b) =>
        view.heightAt(
          Math.min(Math.max(p.gx + a * s, 0), 1),
          Math.min(Math.max(p.gy + b * s, 0), 1),
        );
    const cell = extentOf(current().grid)[0] * s * 2;
    lines.push(
      `slope ${((Math.atan(Math.hypot(h(1, 0) - h(-1, 0), h(0, 1) - h(0, -1)) / cell) * 180) / Math.PI).toFixed(0)}°`,
    );
  }
  host.replaceChildren(
    el('div', {}, lines.slice(0, 2).join(' · ')),
    el('div', {}, lines.slice(2).join(' · ')),
  );
}

view.listeners.push(() => {
  // A scale bar for what lies in the middle of the view, and the north.
  const perPixel =
    (2 * Math.tan((view.camera.fov * Math.PI) / 360) * view.eye.distance) /
    view.host.clientHeight /
    view.metre;
  let m = 10 ** Math.floor(Math.log10(perPixel * 150));
  for (const k of [5, 2])
    if (m * k <= perPixel * 150) {
      m *= k;
      break;
    }
  const bar = $('scalebar'),
    key = `${m}:${Math.round(m / perPixel)}`;
  if (bar.dataset.key !== key) {
    bar.dataset.key = key;
    bar.firstElementChild.textContent = metres(m).replace(/\.0+ /, ' ');
    bar.lastElementChild.style.width = `${m / perPixel}px`;
  }
  const turn = `rotate(${180 - view.eye.azimuth} 20 20)`,
    needle = $('compass').querySelector('g');
  if (needle.getAttribute('transform') !== turn) needle.setAttribute('transform', turn);
});
$('compass').addEventListener('click', () => {
  view.goal.azimuth = 180;
  view.draw();
  tell('kept');
});

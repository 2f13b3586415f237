// Forms for the settings of stages, made of what the service says about them.

import { parsed } from './api.js';
import { el, icon, iconButton, words } from './ui.js';

const isRamp = (v) => v !== null && typeof v === 'object' && !Array.isArray(v) && 'from' in v;
const nice = (v) => {
  const p = 10 ** Math.floor(Math.log10(v));
  return Math.ceil(v / p) * p;
};

/** Bounds that a slider is of use in. */
function bounds(p, value) {
  const low = p.min ?? -1e6,
    high = p.max ?? 1e6;
  if (high - low <= 100) return [low, high];
  const most = nice(Math.max(Math.abs(value || 0), Math.abs(p.default || 0), 1) * 2.5);
  return [
    Math.max(low, low < 0 && (value < 0 || p.default < 0) ? -most : Math.max(low, 0)),
    Math.min(high, most),
  ];
}

/** A switch with its label; `onchange` hears whether it is on. */
export function switchRow({ id, label, checked, text, onchange }) {
  return el(
    'div.row.wide',
    { title: text },
    el('label', { for: id }, label),
    el('input.switch', {
      id,
      type: 'checkbox',
      role: 'switch',
      checked: !!checked,
      onchange: (e) => onchange(e.target.checked),
    }),
  );
}

/** A number with a slider. */
export function numberRow({
  id,
  label,
  sub,
  value,
  text,
  unit,
  low,
  high,
  step,
  integer,
  min,
  max,
  oninput,
}) {
  const stepOf = () =>
    step ?? (integer ? 1 : 10 ** Math.floor(Math.log10(Math.max(high - low, 1e-6) / 100)));
  const shown = (v) => (integer ? String(Math.round(v)) : String(Number(Number(v).toPrecision(5))));
  const range = el('input', {
    type: 'range',
    min: String(low),
    max: String(high),
    step: String(stepOf()),
    tabindex: '-1',
    'aria-hidden': 'true',
  });
  const number = el('input.number', {
    type: 'number',
    id,
    step: 'any',
    min: min === undefined ? undefined : String(min),
    max: max === undefined ? undefined : String(max),
  });
  const fill = () =>
    range.style.setProperty('--at', `${((Number(range.value) - low) / (high - low)) * 100}%`);
  const set = (v) => {
    number.value = shown(v);
    range.value = v;
    fill();
  };
  set(value);
  range.addEventListener('input', () => {
    number.value = shown(range.value);
    fill();
    oninput(Number(number.value));
  });
  number.addEventListener('input', () => {
    if (number.value === '' || Number.isNaN(Number(number.value))) return;
    range.value = number.value;
    fill();
    oninput(integer ? Math.round(Number(number.value)) : Number(number.value));
  });
  const row = el(
    'div.row',
    { title: [text, unit].filter(Boolean).join(' – ') || undefined },
    el(
      'label',
      { for: id },
      label,
      sub ? el('span.unit', {}, sub) : unit && unit.length < 5 ? el('span.unit', {}, unit) : null,
    ),
    range,
    number,
  );
  row.set = set;
  /** Other ends of the slider. */
  row.limit = (from, to) => {
    [low, high] = [from, to];
    const value = number.value === '' ? range.value : number.value;
    Object.assign(range, { min: String(low), max: String(high), step: String(stepOf()), value });
    fill();
  };
  return row;
}

function parameterRow(p, value, id, byLevel, change) {
  const current = value ?? p.default;
  const label = words(p.name);
  const choices = p.choices?.length ? p.choices : p.type === 'switch' ? null : undefined;
  if (choices) {
    return el(
      'div.row.wide',
      { title: p.text },
      el('label', { for: id }, label),
      el(
        'select',
        { id, onchange: (e) => change(e.target.value) },
        choices.map((c) =>
          el(
            'option',
            { value: c, selected: String(c) === String(current) },
            String(c).replaceAll('_', ' '),
          ),
        ),
      ),
    );
  }
  if (choices === null) {
    return switchRow({ id, label, checked: current, text: p.text, onchange: change });
  }
  const integer = p.type === 'integer';
  if (integer || p.type === 'number') {
    const many = isRamp(current) || Array.isArray(current);
    const one = (v, name, sub, set, note) => {
      const [low, high] = bounds(p, v);
      return numberRow({
        id: sub ? `${id}-${sub}` : id,
        label: name,
        sub: note,
        value: v,
        text: p.text,
        unit: p.unit,
        low,
        high,
        integer,
        min: p.min,
        max: p.max,
        oninput: set,
      });
    };
    const toggle =
      byLevel && !Array.isArray(current)
        ? el(
            'button.mini',
            {
              type: 'button',
              'aria-pressed': String(isRamp(current)),
              title: 'Another value on each level, from the coarsest to the finest',
              'aria-label': `${label} by level`,
              onclick: () =>
                change(isRamp(current) ? current.to : { from: current, to: current }, true),
            },
            icon('level'),
          )
        : null;
    if (isRamp(current)) {
      const ends = [current.from, current.to];
      return el(
        'div.group',
        {},
        el(
          'div.with-button',
          {},
          one(
            current.from,
            label,
            'from',
            (v) => change({ from: (ends[0] = v), to: ends[1] }),
            'coarsest',
          ),
          toggle,
        ),
        one(current.to, '', 'to', (v) => change({ from: ends[0], to: (ends[1] = v) }), 'finest'),
      );
    }
    if (!many)
      return toggle
        ? el('div.with-button', {}, one(current ?? 0, label, '', change), toggle)
        : one(current ?? 0, label, '', change);
  }
  return el(
    'div.row.wide',
    { title: p.text },
    el('label', { for: id }, label),
    el('input', {
      id,
      type: 'text',
      spellcheck: 'false',
      value: typeof current === 'string' ? current : JSON.stringify(current ?? ''),
      onchange: (e) => {
        try {
          change(parsed(e.target.value));
        } catch {
          change(e.target.value);
        }
      },
    }),
  );
}

/** The settings of a stage: those that the recipe has, and the others behind a fold. */
export function stageForm({ stage, about, key, byLevel, open, onopen, onchange, onrefresh }) {
  const set = [],
    rest = [];
  for (const p of about?.parameters ?? []) {
    if (p.type === 'list' || p.name === 'stroke' || p.name === 'biome' || p.name === 'table')
      continue;
    const row = parameterRow(p, stage[p.name], `${key}-${p.name}`, byLevel, (v, again) => {
      onchange(p.name, v);
      if (again) onrefresh();
    });
    (p.name in stage ? set : rest).push(row);
  }
  const fold = rest.length
    ? el(
        'details.more',
        { open, ontoggle: (e) => onopen(e.target.open) },
        el(
          'summary',
          {},
          icon('chevron'),
          set.length ? `${rest.length} more settings` : `${rest.length} settings`,
        ),
        rest,
      )
    : null;
  return el('div.stage-form', {}, set, fold);
}

export const cardButtons = ({ up, down, remove, kind }) =>
  el(
    'span.card-buttons',
    {},
    up ? iconButton('up', `Move ${kind} up`, up) : null,
    down ? iconButton('dn', `Move ${kind} down`, down) : null,
    iconButton('bin', `Remove ${kind}`, remove),
  );

/** A row with its own input. */
export const field = (label, id, input) =>
  el('div.row.wide', {}, el('label', { for: id }, label), Object.assign(input, { id }));

/** A list of choices. */
export const choice = (id, now, options, onchange) =>
  el(
    'select',
    { id, onchange: (e) => onchange(e.target.value) },
    options.map(([v, t]) =>
      el('option', { value: String(v), selected: String(v) === String(now) }, t),
    ),
  );

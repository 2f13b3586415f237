// The command palette: finds every action and setting by its words.

import { el, icon } from './ui.js';

/**
 * How well words match a text: each must be there; an early and whole word counts more. Below 0 is
 * no match.
 */
function score(query, text) {
  let sum = 0;
  const low = text.toLowerCase();
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = low.indexOf(word);
    if (at < 0) return -1;
    sum += 10 - Math.min(at / 8, 6) + (at === 0 || low[at - 1] === ' ' ? 4 : 0);
  }
  return sum;
}

export function palette(dialog, commands) {
  const input = el('input', {
    type: 'search',
    placeholder: 'Search settings and actions',
    'aria-label': 'Search settings and actions',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'palette-list',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const list = el('ul', { id: 'palette-list', role: 'listbox' });
  let found = [],
    at = 0;
  const mark = () => {
    [...list.children].forEach((li, i) => li.setAttribute('aria-selected', String(i === at)));
    list.children[at]?.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', list.children[at]?.id ?? '');
  };
  const run = (command) => {
    dialog.close();
    command.run();
  };
  const show = () => {
    const all = commands()
      .map((c) => ({ c, s: score(input.value, `${c.title} ${c.group ?? ''} ${c.more ?? ''}`) }))
      .filter((x) => x.s >= 0);
    if (input.value) all.sort((a, b) => b.s - a.s);
    found = all.slice(0, 60).map((x) => x.c);
    at = 0;
    list.replaceChildren(
      ...found.map((c, i) =>
        el(
          'li',
          {
            id: `palette-${i}`,
            role: 'option',
            onclick: () => run(c),
            onpointermove: () => {
              if (at !== i) {
                at = i;
                mark();
              }
            },
          },
          el('span.group-name', {}, c.group ?? ''),
          el('span', {}, c.title),
          c.keys ? el('kbd', {}, c.keys) : null,
        ),
      ),
    );
    if (!found.length) list.append(el('li.none', {}, 'Nothing has these words'));
    mark();
  };
  input.addEventListener('input', show);
  dialog.addEventListener('keydown', (e) => {
    if (e.key === 'ArrowDown') at = Math.min(at + 1, found.length - 1);
    else if (e.key === 'ArrowUp') at = Math.max(at - 1, 0);
    else if (e.key === 'Enter' && found[at]) {
      e.preventDefault();
      run(found[at]);
      return;
    } else if (e.key === 'Escape') {
      // Else the first one would only empty the field.
      e.preventDefault();
      dialog.close();
      return;
    } else return;
    e.preventDefault();
    mark();
  });
  dialog.addEventListener('click', (e) => {
    if (e.target === dialog) dialog.close();
  });
  dialog.append(el('div.palette-head', {}, icon('search'), input), list);
  return () => {
    input.value = '';
    dialog.showModal();
    show();
    input.focus();
  };
}

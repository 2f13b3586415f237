// The token of a service that others can reach.

import { el } from './ui.js';

/** Asks for the token, and answers it. `again` says that the last one was not taken. */
export function askToken(again) {
  return new Promise((resolve) => {
    const input = el('input', {
      type: 'password',
      id: 'token',
      autocomplete: 'current-password',
      'aria-describedby': 'token-problem',
    });
    const problem = el(
      'div.problem',
      { id: 'token-problem', role: 'alert', hidden: !again },
      'The service does not take this token.',
    );
    const dialog = el(
      'dialog',
      { 'aria-label': 'Token', oncancel: (e) => e.preventDefault() },
      el(
        'form.inner',
        {
          onsubmit: (e) => {
            e.preventDefault();
            const given = input.value.trim();
            if (/^[!-~]{16,}$/.test(given)) {
              dialog.remove();
              resolve(given);
            } else {
              problem.hidden = false;
              problem.textContent = 'A token is 16 or more letters, digits and signs.';
            }
          },
        },
        el('h1', {}, 'Token'),
        el('p.hint', {}, 'This service asks for the token that it was started with.'),
        el('label.hidden', { for: 'token' }, 'Token'),
        input,
        problem,
        el('button.primary.space', {}, 'Go on'),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

// What all parts of the editor need: elements by their names, and the view.

import { View } from './view.js';

export const $ = (id) => document.getElementById(id);
export const view = new View($('view'));
window.thalweg = { view };

// Begins the editor: loads its parts, and then opens a land.

import './toolbar.js';
import './look.js';
import './panel.js';
import './timeline.js';
import './pointer.js';
import './keys.js';
import './projects.js';
import { firstTour } from './tour.js';
import { start } from './editor.js';

start().then(firstTour);

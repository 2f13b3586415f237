// A time-lapse as a film: the browser encodes it, where it can.

import * as api from './api.js';

const TYPE = 'video/webm';
/** Pictures a second, how long the last one stays, and the bits of a second. */
const PACE = 12,
  REST_MS = 1500,
  BITS = 8e6;

/** Whether this browser encodes films. */
export const canFilm = () =>
  typeof MediaRecorder === 'function' &&
  MediaRecorder.isTypeSupported(TYPE) &&
  'captureStream' in HTMLCanvasElement.prototype;

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * The pictures of a result's time-lapse as WebM: six seconds and at most some 6 MB. It is recorded
 * at its own pace. It calls `shown` with its progress, 0 to 1.
 */
export async function film(result, shown) {
  const pictures = [];
  for (let i = 0; i < result.frames; i++)
    pictures.push(
      await createImageBitmap(await api.file(`v1/results/${result.digest}/timelapse/${i}.png`)),
    );
  const canvas = document.createElement('canvas');
  // Encoders want even sides.
  canvas.width = pictures[0].width & ~1;
  canvas.height = pictures[0].height & ~1;
  const ink = canvas.getContext('2d'),
    stream = canvas.captureStream(0),
    [track] = stream.getVideoTracks(),
    recorder = new MediaRecorder(stream, { mimeType: TYPE, videoBitsPerSecond: BITS }),
    parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const ended = new Promise((done, failed) => {
    recorder.onstop = done;
    recorder.onerror = ({ error }) => failed(error);
  });
  recorder.start();
  for (const [i, picture] of pictures.entries()) {
    ink.drawImage(picture, 0, 0);
    track.requestFrame();
    shown((i + 1) / pictures.length);
    await wait(1000 / PACE);
  }
  await wait(REST_MS);
  track.requestFrame();
  recorder.stop();
  await ended;
  pictures.forEach((picture) => picture.close());
  return new Blob(parts, { type: TYPE });
}

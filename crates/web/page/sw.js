// This service worker keeps the page, which then works without its host. It also isolates the page
// from other sites, which lets the module use threads: from the second visit on, or from the first
// on a host that sends these two headers itself.

// Other folders of the same host have caches of their own.
const OWN = `thalweg-${new URL(self.registration.scope).pathname}-`;
const NAME = OWN + 'VERSION';
const FILES = [];

self.addEventListener('install', (event) => {
  // Without the cache of HTTP, whose files may be of another version.
  const all = FILES.map((file) => new Request(file, { cache: 'no-cache' }));
  // A later version waits until all pages of this one are closed.
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(all)));
});

self.addEventListener('activate', (event) => {
  const clean = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(OWN) && name !== NAME);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

async function answer(request) {
  const found = await caches.match(request, { ignoreSearch: true, cacheName: NAME });
  const response = found ?? (await fetch(request));
  const { body, status, statusText, headers } = response;
  // A redirect is the browser's to follow.
  if (!status) return response;
  const isolated = new Headers(headers);
  isolated.set('cross-origin-opener-policy', 'same-origin');
  isolated.set('cross-origin-embedder-policy', 'require-corp');
  isolated.set('cross-origin-resource-policy', 'same-origin');
  return new Response(body, { status, statusText, headers: isolated });
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const isOwn = request.method === 'GET' && new URL(request.url).origin === location.origin;
  if (isOwn) event.respondWith(answer(request));
});

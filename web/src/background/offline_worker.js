// Worker of the page. Keeps the page's own files for times without a connection, and never an answer of the API. Opens the
// chats of clicked notifications. The build replaces FILES, TEXTS and VERSION, so that a new build is a new worker with a new
// cache. TEXTS has the files of each language. The worker keeps those of the language in its own address.
const FILES = [];
const TEXTS = {};
const VERSION = "";
const LANGUAGE = new URL(self.location.href).searchParams.get("language");
const CACHE = `ebb-page-${VERSION}-${LANGUAGE}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(["/", ...FILES, ...(TEXTS[LANGUAGE] ?? TEXTS.en)]))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const former = (name) => name.startsWith("ebb-page-") && name !== CACHE;
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter(former).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== self.location.origin) return;
  if (pathname.startsWith("/assets/")) event.respondWith(kept(request));
  else if (request.mode === "navigate" && isPage(pathname)) event.respondWith(page(request));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data));
});

/** Show a chat in an open tab, or else in a new one. */
async function show(id) {
  const [tab] = await self.clients.matchAll({ type: "window" });
  if (tab === undefined) return self.clients.openWindow(`/c/${encodeURIComponent(id)}`);
  tab.postMessage({ open: id });
  return tab.focus();
}

/** Return whether a path is one of the page's own addresses. */
function isPage(pathname) {
  return pathname === "/" || pathname === "/live" || pathname === "/admin" || pathname.startsWith("/c/");
}

/** Return a file whose name changes with its content. */
async function kept(request) {
  const cache = await caches.open(CACHE);
  const found = await cache.match(request, { ignoreVary: true });
  if (found !== undefined) return found;
  const response = await fetch(request);
  if (response.ok && response.type === "basic") await cache.put(request, response.clone());
  return response;
}

/** Return the newest page, or the kept one if the server cannot be reached. */
async function page(request) {
  try {
    return await fetch(request);
  } catch (error) {
    const cache = await caches.open(CACHE);
    const found = await cache.match("/", { ignoreVary: true });
    if (found === undefined) throw error;
    return found;
  }
}

import type { Language } from "../i18n/languages";

/** Time from the call to the registration. The new worker reads and compiles the page's files, which would delay the first frames. */
const REST_MS = 3_000;

/**
 * Register the worker that keeps the page's own files, with its texts in one language, for times without a connection.
 * Browsers allow that in a secure context only. A server in development has no worker. Return the function that cancels
 * a registration that has not begun.
 */
export function registerOffline(language: Language): () => void {
  if (!import.meta.env.PROD || !isSecureContext || !("serviceWorker" in navigator)) return () => undefined;
  const timer = setTimeout(() => {
    navigator.serviceWorker.register(`/offline.js?language=${language}`, { updateViaCache: "none" }).catch(() => undefined);
  }, REST_MS);
  return () => clearTimeout(timer);
}

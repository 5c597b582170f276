import type { Language } from "../i18n/languages";

/**
 * Register the worker that keeps the page's own files, with its texts in one language, for times without a connection.
 * Browsers allow that in a secure context only. A server in development has no worker.
 */
export function registerOffline(language: Language): void {
  if (!import.meta.env.PROD || !isSecureContext || !("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register(`/offline.js?language=${language}`, { updateViaCache: "none" }).catch(() => undefined);
}

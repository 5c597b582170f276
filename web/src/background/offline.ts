import type { Language } from "../i18n/languages";

/** Time from the call to the registration. The new worker reads and compiles the page's files, which would delay the first frames. */
const REST_MS = 3_000;

/**
 * Return a function that registers the worker for a language: it keeps the page's own files, with its texts in that language, for
 * times without a connection. Browsers allow that in a secure context only. A server in development has no worker. The function
 * returns another one, which cancels a registration that has not begun. A language is registered once.
 */
export function offlineWorker(): (language: Language) => () => void {
  let registered: Language | null = null;
  return (language) => {
    if (!import.meta.env.PROD || !isSecureContext || !("serviceWorker" in navigator)) return () => undefined;
    if (language === registered) return () => undefined;
    const timer = setTimeout(() => {
      registered = language;
      navigator.serviceWorker.register(`/offline.js?language=${language}`, { updateViaCache: "none" }).catch(() => undefined);
    }, REST_MS);
    return () => clearTimeout(timer);
  };
}

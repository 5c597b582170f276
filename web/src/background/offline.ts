/**
 * Register the worker that keeps the page's own files for times without a connection. Browsers allow that in a secure
 * context only. A server in development has no worker.
 */
export function registerOffline(): void {
  if (!import.meta.env.PROD || !isSecureContext || !("serviceWorker" in navigator)) return;
  navigator.serviceWorker.register("/offline.js", { updateViaCache: "none" }).catch(() => undefined);
}

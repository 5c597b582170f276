/** Wait until the next frame is drawn. A hidden page draws none, and does not wait. */
export function afterFrame(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

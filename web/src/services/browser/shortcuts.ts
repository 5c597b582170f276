/** Action of a shortcut on the whole page. */
export type Shortcut = "palette" | "search" | "new" | "sidebar" | "help" | "live";

/** Name of the modifier key, as printed on the keyboard. */
export const CTRL = /Mac|iP(?:hone|ad|od)/.test(navigator.platform) ? "⌘" : "Ctrl";

/** Return whether a key belongs to an input method. Safari reports the last Enter of one with keyCode 229 alone. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Return the shortcut of a key press, with Ctrl or the command key. Keys count by their letter, in any layout. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (isComposing(event) || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  const key = event.key.toLowerCase();
  if (event.shiftKey) return ({ o: "new", l: "live", f: "search" } as const)[key] ?? null;
  return ({ k: "palette", b: "sidebar", "/": "help" } as const)[key] ?? null;
}

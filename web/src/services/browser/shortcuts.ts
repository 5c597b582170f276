/** Action of a shortcut on the whole page. */
export type Shortcut = "palette" | "search" | "new" | "sidebar" | "help" | "live";

/** Name of the modifier key, as printed on the keyboard. */
export const CTRL = /Mac|iP(?:hone|ad|od)/.test(navigator.platform) ? "⌘" : "Ctrl";

/** Return whether a key belongs to an input method. Safari reports the last Enter of one with keyCode 229 alone. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** A soft keyboard has no Shift+Enter, so Enter adds a line there and the button sends. */
export function hasSoftKeyboard(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}

/** Whether a key press in a field for a message sends it. */
export function isSending(event: KeyboardEvent): boolean {
  return event.key === "Enter" && !event.shiftKey && !isComposing(event) && !hasSoftKeyboard();
}

/** Return the shortcut of a key press, with Ctrl or the command key. Keys count by their letter, in any layout. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (isComposing(event) || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  const key = event.key.toLowerCase();
  if (event.shiftKey) return ({ o: "new", l: "live", f: "search" } as const)[key] ?? null;
  return ({ k: "palette", b: "sidebar", "/": "help" } as const)[key] ?? null;
}

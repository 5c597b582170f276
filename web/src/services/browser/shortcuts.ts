/** Action of a shortcut on the whole page. */
export type Shortcut = "palette" | "search" | "new" | "sidebar" | "live" | "help";

export const SHORTCUTS: readonly Shortcut[] = ["palette", "search", "new", "sidebar", "live", "help"];

/** Keys of each shortcut, pressed with Ctrl or the command key: "K", "Shift+F" or "/". */
export type ShortcutKeys = Readonly<Record<Shortcut, string>>;

export const DEFAULT_KEYS: ShortcutKeys = {
  palette: "K",
  search: "Shift+F",
  new: "Shift+O",
  sidebar: "B",
  live: "Shift+L",
  help: "/",
};

/** Keys that browsers, text fields or parts of the page use with Ctrl: a shortcut cannot have them. */
const OCCUPIED: ReadonlySet<string> = new Set(
  ["A", "C", "N", "Q", "T", "V", "W", "X", "Y", "Z"].flatMap((key) => [key, `Shift+${key}`]),
);

/** Name of the modifier key, as printed on the keyboard. */
export const CTRL = /Mac|iP(?:hone|ad|od)/.test(navigator.platform) ? "⌘" : "Ctrl";

/** Keys that find a text in the open chat. They cannot be changed: browsers have them for the same. */
export const FIND_KEYS: readonly string[] = [CTRL, "F"];

/** Return printed keys as screen readers know them: "Control+F". */
export function namedKeys(keys: readonly string[]): string {
  return keys.map((key) => ({ "⌘": "Meta", Ctrl: "Control" })[key] ?? key).join("+");
}

/** Return whether a key belongs to an input method. Safari reports the last Enter of one with keyCode 229 alone. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** A soft keyboard has no Shift+Enter, so Enter adds a line there and the button sends. */
export function hasSoftKeyboard(): boolean {
  return matchMedia("(pointer: coarse) and (hover: none)").matches;
}

/** Return the keys of a combination, as they are printed on the keyboard. */
export function printed(keys: string): string[] {
  return [CTRL, ...(keys.startsWith("Shift+") ? ["Shift", keys.slice("Shift+".length)] : [keys])];
}

/**
 * Return the keys that were pressed with Ctrl or the command key; null for keys that no shortcut can have.
 *
 * Letters count by the character, or in a layout without Latin letters by their place. For other characters, Shift
 * does not count, since layouts differ in the characters that need it.
 */
export function keysOf(event: KeyboardEvent): string | null {
  if (isComposing(event) || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  const key = /^[!-~]$/.test(event.key) ? event.key.toUpperCase() : /^Key[A-Z]$/.test(event.code) ? event.code.slice(3) : null;
  return key !== null && event.shiftKey && /[A-Z]/.test(key) ? `Shift+${key}` : key;
}

/** Return whether these keys belong to browsers, text fields or parts of the page. */
export function isOccupied(keys: string): boolean {
  return OCCUPIED.has(keys);
}

/** Return the shortcut of a key press. */
export function shortcutOf(event: KeyboardEvent, keys: ShortcutKeys): Shortcut | null {
  const pressed = keysOf(event);
  return pressed === null ? null : (SHORTCUTS.find((shortcut) => keys[shortcut] === pressed) ?? null);
}

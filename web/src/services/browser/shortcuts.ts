/** What a key combination asks of the page as a whole. */
export type Shortcut = "search" | "new" | "sidebar" | "help" | "live";

/** The key that goes with a letter, as its keyboard has it. */
export const CTRL = /Mac|iP(?:hone|ad|od)/.test(navigator.platform) ? "⌘" : "Ctrl";

/** The key belongs to an input method, which is writing a word. Safari reports its last Enter with keyCode 229 alone. */
export function composing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** On a Mac the command key stands for Ctrl. Letters count by what they write, so that any layout works. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (composing(event) || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  const key = event.key.toLowerCase();
  if (event.shiftKey) return ({ o: "new", l: "live" } as const)[key] ?? null;
  return ({ k: "search", b: "sidebar", "/": "help" } as const)[key] ?? null;
}

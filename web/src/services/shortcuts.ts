/** What a key combination asks of the page as a whole. */
export type Shortcut = "search" | "new" | "sidebar" | "help" | "live";

/** On a Mac the command key stands for Ctrl. Letters count by what they write, so that any layout works. */
export function shortcutOf(event: KeyboardEvent): Shortcut | null {
  if (event.isComposing || event.altKey || !(event.ctrlKey || event.metaKey)) return null;
  const key = event.key.toLowerCase();
  if (event.shiftKey) return ({ o: "new", l: "live" } as const)[key] ?? null;
  return ({ k: "search", b: "sidebar", "/": "help" } as const)[key] ?? null;
}

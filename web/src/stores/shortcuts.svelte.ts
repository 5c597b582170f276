import { DEFAULT_KEYS, isOccupied, SHORTCUTS, type Shortcut, type ShortcutKeys } from "../services/browser/shortcuts";
import { browserStorage } from "../services/browser_storage";

const STORED = "ebb-shortcuts";

/** The keys of the page's shortcuts in this browser. Only those that differ from the default are stored. */
export class Shortcuts {
  keys = $state.raw<ShortcutKeys>(stored());

  /** Whether any shortcut has other keys than by default. */
  get changed(): boolean {
    return SHORTCUTS.some((shortcut) => this.keys[shortcut] !== DEFAULT_KEYS[shortcut]);
  }

  /** Give a shortcut these keys. Return why this is impossible, and change nothing: the keys are occupied, or another shortcut's. */
  change(shortcut: Shortcut, keys: string): "occupied" | Shortcut | null {
    if (isOccupied(keys)) return "occupied";
    const other = SHORTCUTS.find((each) => each !== shortcut && this.keys[each] === keys);
    if (other !== undefined) return other;
    this.keys = { ...this.keys, [shortcut]: keys };
    const changed = SHORTCUTS.filter((each) => this.keys[each] !== DEFAULT_KEYS[each]);
    browserStorage.put(STORED, JSON.stringify(Object.fromEntries(changed.map((each) => [each, this.keys[each]]))));
    return null;
  }

  reset(): void {
    this.keys = DEFAULT_KEYS;
    browserStorage.put(STORED, null);
  }
}

/** Return the stored keys. A store that cannot be read, or names the same keys twice, counts as empty. */
function stored(): ShortcutKeys {
  let changes: Record<string, unknown>;
  try {
    changes = Object(JSON.parse(browserStorage.get(STORED) ?? "{}")) as Record<string, unknown>;
  } catch {
    return DEFAULT_KEYS;
  }
  const keys = { ...DEFAULT_KEYS };
  for (const shortcut of SHORTCUTS) {
    const given = changes[shortcut];
    if (typeof given === "string" && !isOccupied(given)) keys[shortcut] = given;
  }
  return new Set(Object.values(keys)).size === SHORTCUTS.length ? keys : DEFAULT_KEYS;
}

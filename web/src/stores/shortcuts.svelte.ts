import { t } from "../i18n/language.svelte";
import { CTRL, DEFAULT_KEYS, hasSoftKeyboard, isComposing, isOccupied, SHORTCUTS, type Shortcut, type ShortcutKeys } from "../services/browser/shortcuts";
import { browserStorage, whenStored } from "../services/browser_storage";

const STORED = "ebb-shortcuts";
const SENDING = "ebb-enter";

/** The keys of the page's shortcuts in this browser, and the one that sends. Only what differs from the default is stored. */
export class Shortcuts {
  keys = $state.raw<ShortcutKeys>(stored());
  /** Whether Enter sends a message, or saves an edited one. Otherwise Enter adds a line, and Ctrl+Enter sends. */
  enterSends = $state(storedSending());

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

  /** Follow the choice of other tabs. Return the function that stops this. */
  start(): () => void {
    return whenStored([SENDING], () => (this.enterSends = storedSending()));
  }

  sendWithEnter(sends: boolean): void {
    browserStorage.put(SENDING, sends ? null : "line");
    this.enterSends = storedSending();
  }

  /** Whether a key press in a field for a message sends it. */
  isSending(event: KeyboardEvent): boolean {
    if (event.key !== "Enter" || isComposing(event)) return false;
    return this.enterSends ? !event.shiftKey && !hasSoftKeyboard() : event.ctrlKey || event.metaKey;
  }

  /** Return the names of the keys that send and add a line, where Enter sends or else adds a line. */
  sendingKeys(enterSends = this.enterSends): readonly [send: string, newline: string] {
    const { enter, shiftEnter } = t().composer;
    return enterSends ? [enter, shiftEnter] : [`${CTRL}+${enter}`, enter];
  }

  reset(): void {
    this.keys = DEFAULT_KEYS;
    browserStorage.put(STORED, null);
  }
}

function storedSending(): boolean {
  return browserStorage.get(SENDING) !== "line";
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

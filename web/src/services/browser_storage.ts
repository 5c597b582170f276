/**
 * Texts that the browser keeps under names. A browser that blocks cookies refuses even to be asked: the texts then last as
 * long as the page.
 */
class BrowserStorage {
  private readonly storage: Storage | null;
  /** In place of the browser's store. */
  private readonly texts = new Map<string, string>();

  constructor(find: () => Storage | null) {
    try {
      this.storage = find();
    } catch {
      this.storage = null;
    }
  }

  get(name: string): string | null {
    return this.storage === null ? (this.texts.get(name) ?? null) : this.storage.getItem(name);
  }

  /** Keep a text; null removes it. Return whether the browser has room for it. */
  put(name: string, text: string | null): boolean {
    try {
      if (text === null) this.storage?.removeItem(name);
      else this.storage?.setItem(name, text);
    } catch {
      return false;
    }
    if (text === null) this.texts.delete(name);
    else if (this.storage === null) this.texts.set(name, text);
    return true;
  }

  /** Remove all texts whose names begin like this. */
  removeAll(beginning: string): void {
    const names = this.storage === null ? [...this.texts.keys()] : Object.keys(this.storage);
    for (const name of names) if (name.startsWith(beginning)) this.put(name, null);
  }
}

/** What all tabs of the browser share. */
export const browserStorage = new BrowserStorage(() => localStorage);
/** What belongs to this tab. */
export const tabStorage = new BrowserStorage(() => sessionStorage);

/**
 * Call `listener` whenever another tab keeps one of these texts in the browser, or erases all of them. Return the function
 * that stops this.
 */
export function whenStored(names: readonly string[], listener: () => void): () => void {
  const onStored = ({ key }: StorageEvent) => {
    if (key === null || names.includes(key)) listener();
  };
  addEventListener("storage", onStored);
  return () => removeEventListener("storage", onStored);
}

/** Return the channel of this name between the browser's tabs; null if the browser blocks it along with cookies. */
export function channelOf(name: string): BroadcastChannel | null {
  try {
    return new BroadcastChannel(name);
  } catch {
    return null;
  }
}

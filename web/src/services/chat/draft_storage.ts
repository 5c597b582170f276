import { browserStorage, tabStorage } from "../browser_storage";
import type { Attachment } from "./attachments";
import { randomDigits } from "./ids";

const TEXT_KEY = "ebb-draft:";
const FILES_KEY = "ebb-files:";
/** Key of the random name of the person logged in. Stored files with another name belong to someone else. */
const OWNER_KEY = "ebb-files-of";

/** Return the unsent text of chat `id` that the browser keeps; null if it keeps none. A null id is the empty page. */
export function storedText(id: string | null): string | null {
  return browserStorage.get(TEXT_KEY + (id ?? ""));
}

/** Store the unsent text of a chat in the browser; null removes it. Return whether the browser has room for it. */
export function storeText(id: string | null, text: string | null): boolean {
  return browserStorage.put(TEXT_KEY + (id ?? ""), text);
}

/** Return the unsent files of chat `id` that this tab keeps. */
export function storedFiles(id: string | null): readonly Attachment[] {
  const key = FILES_KEY + (id ?? "");
  const stored = tabStorage.get(key);
  if (stored === null) return [];
  const { of, files } = JSON.parse(stored) as { of?: string; files?: Attachment[] };
  if (of !== undefined && of === browserStorage.get(OWNER_KEY) && files !== undefined) return files;
  tabStorage.put(key, null);
  return [];
}

/** Store the unsent files of a chat in this tab. Return whether the browser has room for them. */
export function storeFiles(id: string | null, files: readonly Attachment[]): boolean {
  return tabStorage.put(FILES_KEY + (id ?? ""), files.length > 0 ? JSON.stringify({ of: owner(), files }) : null);
}

/** Erase the unsent texts and files of all chats. Sleeping tabs later find that their files have another owner. */
export function eraseStored(): void {
  browserStorage.put(OWNER_KEY, null);
  browserStorage.removeAll(TEXT_KEY);
  tabStorage.removeAll(FILES_KEY);
}

/** Return the random name under which tabs store files until the person logs out. */
function owner(): string {
  const known = browserStorage.get(OWNER_KEY) ?? randomDigits();
  browserStorage.put(OWNER_KEY, known);
  return known;
}

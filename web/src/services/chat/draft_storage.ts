import type { Attachment } from "./attachments";
import { randomDigits } from "./ids";

const TEXT_KEY = "ebb-draft:";
const FILES_KEY = "ebb-files:";
/** Key of the random name of the person logged in. Stored files with another name belong to someone else. */
const OWNER_KEY = "ebb-files-of";

/** Return the unsent text of chat `id` that the browser keeps; null if it keeps none. A null id is the empty page. */
export function storedText(id: string | null): string | null {
  return localStorage.getItem(TEXT_KEY + (id ?? ""));
}

/** Store the unsent text of a chat in the browser; null removes it. Return whether the browser has room for it. */
export function storeText(id: string | null, text: string | null): boolean {
  return stores(localStorage, TEXT_KEY + (id ?? ""), text);
}

/** Return the unsent files of chat `id` that this tab keeps. */
export function storedFiles(id: string | null): readonly Attachment[] {
  const key = FILES_KEY + (id ?? "");
  const stored = sessionStorage.getItem(key);
  if (stored === null) return [];
  const { of, files } = JSON.parse(stored) as { of?: string; files?: Attachment[] };
  if (of !== undefined && of === localStorage.getItem(OWNER_KEY) && files !== undefined) return files;
  sessionStorage.removeItem(key);
  return [];
}

/** Store the unsent files of a chat in this tab. Return whether the browser has room for them. */
export function storeFiles(id: string | null, files: readonly Attachment[]): boolean {
  return stores(sessionStorage, FILES_KEY + (id ?? ""), files.length > 0 ? JSON.stringify({ of: owner(), files }) : null);
}

/** Erase the unsent texts and files of all chats. Sleeping tabs later find that their files have another owner. */
export function eraseStored(): void {
  localStorage.removeItem(OWNER_KEY);
  for (const [storage, prefix] of [[localStorage, TEXT_KEY], [sessionStorage, FILES_KEY]] as const) {
    for (const key of Object.keys(storage)) if (key.startsWith(prefix)) storage.removeItem(key);
  }
}

function stores(storage: Storage, key: string, value: string | null): boolean {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** Return the random name under which tabs store files until the person logs out. */
function owner(): string {
  const known = localStorage.getItem(OWNER_KEY) ?? randomDigits();
  localStorage.setItem(OWNER_KEY, known);
  return known;
}

import { fileTexts } from "../../i18n/files";
import { sentences } from "../../services/format/sentences";
import type { ApiClient } from "../api/client";
import { ApiError, describeError } from "../api/errors";
import type { Attachment } from "./attachments";
import { legacyText } from "./legacy_text";
import { UnreadableFileError } from "./unreadable_file_error";

/** Maximum size of a text file, and of the text of other files. */
export const MAX_BYTES = 512 * 1024;
/** Maximum size of a PDF and of other documents. */
export const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

/** First bytes of zip files, which docx, xlsx, pptx and epub files are, and of the office formats before them. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];
const OLE = [0xd0, 0xcf, 0x11, 0xe0];
/** Name of the part that holds a document with a password. Its letters have two bytes each. */
const LOCKED = [..."EncryptedPackage"].flatMap((letter) => [letter.charCodeAt(0), 0]);

/** Reader of documents on the server. */
export type DocumentApi = Pick<ApiClient, "documentText">;

/** Read the text of a text file, a PDF or a document. Rejects with an UnreadableFileError, and like the API. */
export async function readFile(file: File, api: DocumentApi): Promise<Attachment> {
  const text = await textOf(file, api);
  return { name: file.name, text: text.replace(/\r\n?/g, "\n").replace(/\n+$/, "") };
}

async function textOf(file: File, api: DocumentApi): Promise<string> {
  // A system that does not know the extension gives no type.
  const isPdf = file.type === "application/pdf" || (file.type === "" && /\.pdf$/i.test(file.name));
  if (isPdf) return readPdf(file);
  const isHtml = /\.x?html?$/i.test(file.name);
  const beginning = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (isHtml || startsWith(beginning, ZIP)) return readDocument(file, isHtml, api);
  if (startsWith(beginning, OLE)) throw new UnreadableFileError((await includes(file, LOCKED)) ? "encrypted" : "old");
  return readText(file);
}

async function readDocument(file: File, isHtml: boolean, api: DocumentApi): Promise<string> {
  if (file.size > MAX_DOCUMENT_BYTES) throw new UnreadableFileError("tooBigPdf");
  try {
    return await api.documentText(file, isHtml);
  } catch (error) {
    const reason = error instanceof ApiError && error.code !== null ? REASONS[error.code] : undefined;
    throw reason === undefined ? error : new UnreadableFileError(reason);
  }
}

/** Reasons of the server, by the code of its error. */
const REASONS: Record<string, UnreadableFileError["reason"]> = {
  document_unknown: "noText",
  document_broken: "broken",
  document_encrypted: "encrypted",
  document_empty: "empty",
  document_too_big: "tooBig",
  document_too_costly: "tooCostly",
};

function startsWith(bytes: Uint8Array, beginning: readonly number[]): boolean {
  return beginning.every((byte, at) => bytes[at] === byte);
}

async function includes(file: File, wanted: readonly number[]): Promise<boolean> {
  if (file.size > MAX_DOCUMENT_BYTES) return false;
  const text = new TextDecoder("latin1").decode(await file.arrayBuffer());
  return text.includes(String.fromCharCode(...wanted));
}

async function readText(file: File): Promise<string> {
  if (file.size > MAX_BYTES) throw new UnreadableFileError("tooBig");
  const text = decoded(new Uint8Array(await file.arrayBuffer()));
  if (text === null || text.includes("\0")) throw new UnreadableFileError("noText");
  return text;
}

/** Decode UTF-16, UTF-8, or else an encoding from before Unicode; null if the bytes are no text. */
function decoded(bytes: Uint8Array): string | null {
  const utf16 = utf16Of(bytes);
  try {
    return new TextDecoder(utf16 ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    if (utf16 !== null) return null;
  }
  return legacyText(bytes);
}

/** Return the order of the bytes of a UTF-16 text: by its mark, or by its zeros, which Latin letters have on one side. */
function utf16Of(bytes: Uint8Array): "utf-16le" | "utf-16be" | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, 1_000);
  const zeros = [0, 0];
  sample.forEach((byte, at) => byte === 0 && zeros[at % 2]!++);
  if (bytes.length % 2 !== 0 || Math.max(...zeros) < sample.length / 5 || Math.min(...zeros) > 0) return null;
  return zeros[1]! > 0 ? "utf-16le" : "utf-16be";
}

async function readPdf(file: File): Promise<string> {
  if (file.size > MAX_DOCUMENT_BYTES) throw new UnreadableFileError("tooBigPdf");
  const { textOfPdf } = await import("./pdf");
  return textOfPdf(new Uint8Array(await file.arrayBuffer()), MAX_BYTES);
}

/** Describe why a file was not read, and what the person can do about it. */
export function describeRefusal(name: string, error: unknown): string {
  const { unreadable, notRead } = fileTexts();
  if (error instanceof UnreadableFileError) return unreadable[error.reason](name);
  // The browser reports a folder, and a file that changed or moved after it was chosen, as it opens the file.
  if (error instanceof DOMException) return unreadable.gone(name);
  const { what, todo } = describeError(error);
  return sentences(notRead(name), what, todo);
}

import { UnreadableFileError } from "./unreadable_file_error";

/** File that is sent as text inside a message. */
export interface Attachment {
  name: string;
  text: string;
  /** Whether the person pasted the text, and may want it in the field instead. */
  pasted?: true;
}

/** Maximum size of a text file, and of the text of a PDF. */
export const MAX_BYTES = 512 * 1024;
export const MAX_PDF_BYTES = 32 * 1024 * 1024;

const FILES = /(?:^|\n\n)<file name="([^"\n]*)">\n([\s\S]*?)\n<\/file>(?=$|\n\n<file name=")/g;

/** Join a text and its files into the content of a message, as the model reads it. */
export function joinContent(text: string, files: readonly Attachment[]): string {
  const parts = files.map(({ name, text: inner }) => `<file name="${name.replace(/["\n]/g, "'")}">\n${inner}\n</file>`);
  return [text, ...parts].filter((part) => part !== "").join("\n\n");
}

/** Split the result of `joinContent`. A person may write a message in the same form: the page only folds it. */
export function splitContent(content: string): { text: string; files: Attachment[] } {
  const files: Attachment[] = [];
  let first = content.length;
  if (content.endsWith("\n</file>")) {
    for (const match of content.matchAll(FILES)) {
      first = Math.min(first, match.index);
      files.push({ name: match[1]!, text: match[2]! });
    }
  }
  return { text: content.slice(0, first), files };
}

/** Read the text of a text file or a PDF. Rejects with an UnreadableFileError. */
export async function readFile(file: File): Promise<Attachment> {
  // A system that does not know the extension gives no type.
  const isPdf = file.type === "application/pdf" || (file.type === "" && /\.pdf$/i.test(file.name));
  const text = isPdf ? await readPdf(file) : await readText(file);
  return { name: file.name, text: text.replace(/\r\n?/g, "\n").replace(/\n+$/, "") };
}

async function readText(file: File): Promise<string> {
  if (file.size > MAX_BYTES) throw new UnreadableFileError("tooBig");
  const text = decoded(new Uint8Array(await file.arrayBuffer()));
  if (text === null || text.includes("\0")) throw new UnreadableFileError("noText");
  return text;
}

/** Decode UTF-16 with its mark, UTF-8, or else Windows-1252, which text never fills with control characters. */
function decoded(bytes: Uint8Array): string | null {
  const [first, second] = bytes;
  const utf16 = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  try {
    return new TextDecoder(utf16 ?? "utf-8", { fatal: true }).decode(bytes);
  } catch {
    if (utf16 !== null) return null;
  }
  const text = new TextDecoder("windows-1252").decode(bytes);
  return /[\u0000-\u0008\u000e-\u001f\u007f-\u009f]/.test(text) ? null : text;
}

async function readPdf(file: File): Promise<string> {
  if (file.size > MAX_PDF_BYTES) throw new UnreadableFileError("tooBigPdf");
  const { textOfPdf } = await import("./pdf");
  return textOfPdf(new Uint8Array(await file.arrayBuffer()), MAX_BYTES);
}

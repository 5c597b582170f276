/** A file of text that is sent inside a message. */
export interface Attachment {
  name: string;
  text: string;
}

export const MAX_BYTES = 512 * 1024;

const FILES = /(?:^|\n\n)<file name="([^"\n]*)">\n([\s\S]*?)\n<\/file>(?=$|\n\n<file name=")/g;

/** The content of a message with its files, as the model reads it. */
export function joined(text: string, files: readonly Attachment[]): string {
  const parts = files.map(({ name, text: inner }) => `<file name="${name.replace(/["\n]/g, "'")}">\n${inner}\n</file>`);
  return [text, ...parts].filter((part) => part !== "").join("\n\n");
}

/** What `joined` was given. A message that is written like one with files reads like one: the page folds, no more. */
export function split(content: string): { text: string; files: Attachment[] } {
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

/** Reads a file. Rejects with a RangeError if it is too big, with a TypeError if it is no text in UTF-8. */
export async function readText(file: File): Promise<Attachment> {
  if (file.size > MAX_BYTES) throw new RangeError(file.name);
  const bytes = await file.arrayBuffer();
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  if (text.includes("\0")) throw new TypeError(file.name);
  return { name: file.name, text: text.replace(/\r\n?/g, "\n").replace(/\n+$/, "") };
}

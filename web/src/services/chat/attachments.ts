/** File that is sent as text inside a message. */
export interface Attachment {
  name: string;
  text: string;
  /** Whether the person pasted the text, and may want it in the field instead. */
  pasted?: true;
}

const FILES = /(?:^|\n\n)<file name="([^"\n]*)">\n([\s\S]*?)\n<\/file>(?=$|\n\n<file name=")/g;

/** Join a text and its files into the content of a message, as the model reads it. */
export function joinContent(text: string, files: readonly Attachment[]): string {
  const parts = files.map(({ name, text: inner }) => `<file name="${name.replace(/["\n]/g, "'")}">\n${inner}\n</file>`);
  return [text, ...parts].filter((part) => part !== "").join("\n\n");
}

/** Return a piece of a message with the name of a file in place of each of its marks. */
export function inPlainWords(piece: string): string {
  return piece.replace(/<file name="([^"\n]*)">\s?/g, "$1: ").replace(/\s<\/file>/g, "");
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

import type { Attachment } from "./attachments";

/** Maximum size of a pasted text that stays in the field. */
export const MAX_PASTED_BYTES = 4_000;

/** Turn a long pasted text into a file with a name that `files` lack. Return null for a short text. */
export function pastedFile(
  pasted: string,
  files: readonly Attachment[],
  nameOf: (number: number) => string,
): Attachment | null {
  if (new TextEncoder().encode(pasted).length <= MAX_PASTED_BYTES) return null;
  const names = new Set(files.map(({ name }) => name));
  let number = 1;
  while (names.has(nameOf(number))) number++;
  return { name: nameOf(number), text: pasted.replace(/\r\n?/g, "\n"), pasted: true };
}

/**
 * Return the pasted files; none if they are a picture of the pasted text, which office programs add. File managers add the
 * names of the files as a text.
 */
export function pastedFiles(pasted: string, files: readonly File[]): readonly File[] {
  const lines = pasted.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return lines.every((line) => files.some(({ name }) => line.trimEnd().endsWith(name))) ? files : [];
}

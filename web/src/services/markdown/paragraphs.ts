/**
 * Return the position of `pattern` in the paragraph that begins `source`; undefined if it has none. The rest of a long
 * text is not searched, since a paragraph ends at the first blank line.
 */
export function inParagraph(source: string, pattern: RegExp): number | undefined {
  const end = source.indexOf("\n\n");
  const index = (end < 0 ? source : source.slice(0, end)).search(pattern);
  return index < 0 ? undefined : index;
}

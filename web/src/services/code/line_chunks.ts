/** So many lines of code are drawn and coloured together: what a line costs that comes is what these cost. */
export const LINES = 32;

/** Cuts code that may grow into pieces of LINES lines, newlines included; the last one, which may be empty, has fewer. */
export class LineChunks {
  private full: readonly string[] = [];
  /** What stands in the full pieces. */
  private text = "";

  update(code: string): readonly string[] {
    if (!code.startsWith(this.text)) [this.full, this.text] = [[], ""];
    const [pieces, last] = cut(code.slice(this.text.length));
    if (pieces.length > 0) {
      this.full = [...this.full, ...pieces];
      this.text = code.slice(0, code.length - last.length);
    }
    return [...this.full, last];
  }
}

function cut(text: string): [pieces: string[], last: string] {
  const pieces: string[] = [];
  let [start, lines] = [0, 0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    if (++lines % LINES > 0) continue;
    pieces.push(text.slice(start, end + 1));
    start = end + 1;
  }
  return [pieces, text.slice(start)];
}

/** Lines of code that are drawn and highlighted together. A new line costs the browser as much as its chunk. */
export const LINES_PER_CHUNK = 32;

/** Chunks of growing code, newlines included. The last chunk has fewer than LINES_PER_CHUNK lines, and may be empty. */
export class LineChunks {
  private full: readonly string[] = [];
  /** Text of the full chunks. */
  private text = "";

  update(code: string): readonly string[] {
    if (!code.startsWith(this.text)) [this.full, this.text] = [[], ""];
    const [chunks, last] = cut(code.slice(this.text.length));
    if (chunks.length > 0) {
      this.full = [...this.full, ...chunks];
      this.text = code.slice(0, code.length - last.length);
    }
    return [...this.full, last];
  }
}

function cut(text: string): [chunks: string[], last: string] {
  const chunks: string[] = [];
  let [start, lines] = [0, 0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    if (++lines % LINES_PER_CHUNK > 0) continue;
    chunks.push(text.slice(start, end + 1));
    start = end + 1;
  }
  return [chunks, text.slice(start)];
}

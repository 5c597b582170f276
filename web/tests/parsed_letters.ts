import MarkdownIt from "markdown-it";
import { vi } from "vitest";

const { block, inline } = new MarkdownIt();

/** Return how many letters are parsed as blocks, and as texts without blocks, while `act` runs. */
export function parsedLetters(act: () => void): { blocks: number; texts: number } {
  const spies = [block, inline].map((parser) => vi.spyOn(Object.getPrototypeOf(parser) as typeof block, "parse"));
  act();
  const [blocks, texts] = spies.map(({ mock }) => mock.calls.reduce((sum, [text]) => sum + text.length, 0));
  for (const spy of spies) spy.mockRestore();
  return { blocks: blocks!, texts: texts! };
}

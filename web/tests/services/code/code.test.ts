import { describe, expect, it } from "vitest";

import { codeNodes } from "../../../src/services/code/dom";
import { highlight } from "../../../src/services/code/highlight";
import { IncrementalHighlight, type HighlightedChunk } from "../../../src/services/code/incremental_highlight";
import { LineChunks, LINES_PER_CHUNK } from "../../../src/services/code/line_chunks";

const line = (number: number) => `x_${number} = """a < b & 'c'""" # ${number}\n`;
const code = Array.from({ length: 2.5 * LINES_PER_CHUNK }, (_, number) => line(number)).join("");
/** A string literal across several chunks. */
const long = `x = """\n${code.replaceAll('"""', "'")}"""\n`;

const textOf = (html: string) => codeNodes(html).textContent;

describe("code in chunks", () => {
  it("is complete, and its full chunks stay the same while it grows", () => {
    const lines = new LineChunks();
    for (let length = 0; length < code.length; length += 7) {
      const chunks = lines.update(code.slice(0, length));
      expect(chunks.join("")).toBe(code.slice(0, length));
      expect(chunks.slice(0, -1).every((chunk) => chunk.split("\n").length === LINES_PER_CHUNK + 1)).toBe(true);
    }
    expect(lines.update(code)).toHaveLength(3);
    expect(lines.update("other")).toEqual(["other"]);
  });

  it.each([code, long])("has its highlighting in the same chunks", (text) => {
    const html = highlight(text, "python")!;
    expect(html.map(textOf)).toEqual(new LineChunks().update(text));
    expect(html[0]).toContain("hljs-string");
  });

  it("has none in an unknown language", () => {
    expect(highlight("a", "tidal")).toBeNull();
  });
});

describe("highlighted code", () => {
  it("equals the highlighter's HTML", () => {
    const host = document.createElement("code");
    const [html] = highlight("f(f'<{x & y}>')  # &lt;", "python")!;
    host.append(codeNodes(html!));
    expect(host.innerHTML).toBe(html!.replaceAll("&#x27;", "'"));
    expect(host.textContent).toBe("f(f'<{x & y}>')  # &lt;");
  });

  it.each([
    "<img src=x onerror=alert(1)>",
    '<span onclick="alert(1)">x</span>',
    '<span class="a" onclick="alert(1)">x</span>',
    '<span class="a"><script>alert(1)</script></span></span></span>',
    "&lt;script&gt;&#x3c;img src=x&gt;",
    "<",
  ])("holds nothing but spans and text: %s", (html) => {
    const host = document.createElement("code");
    host.append(codeNodes(html));
    for (const element of host.querySelectorAll("*")) {
      expect(element.tagName).toBe("SPAN");
      expect(element.getAttributeNames()).toEqual(["class"]);
    }
  });
});

describe("code that is being written", () => {
  const mark = (text: string) => new LineChunks().update(text).map((chunk) => `<span class="m">${chunk}</span>`);

  it("is highlighted in the end, and redraws only changed chunks", async () => {
    const shown: (readonly HighlightedChunk[])[] = [];
    const asked: string[] = [];
    const done = new Promise<void>((resolve) => {
      const highlighting = new IncrementalHighlight(
        (text) => (asked.push(text), Promise.resolve(mark(text))),
        (chunks) => {
          shown.push(chunks);
          if (chunks.map(({ text }) => text).join("") === code) resolve();
        },
      );
      const begin = code.slice(0, 1.5 * LINES_PER_CHUNK * line(10).length);
      highlighting.update(begin, "python", true);
      highlighting.update(code, "python", false);
    });
    await done;
    expect(asked.at(-1)).toBe(code);
    expect(shown.at(-1)!.map(({ html }) => html)).toEqual(mark(code));
    expect(shown.at(-1)![0]).toBe(shown[0]![0]);
  });

  it("is not highlighted again in an unknown language, or after its end", async () => {
    let asked = 0;
    const highlighting = new IncrementalHighlight(() => (asked++, Promise.resolve(null)), () => expect.unreachable());
    highlighting.update("a", "tidal", true);
    await Promise.resolve();
    highlighting.update("ab", "tidal", true);
    expect(asked).toBe(1);
    const ended = new IncrementalHighlight(() => (asked++, Promise.resolve([])), () => undefined);
    ended.end();
    ended.update("a", "python", false);
    expect(asked).toBe(1);
  });
});

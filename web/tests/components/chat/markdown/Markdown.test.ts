import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, it, vi } from "vitest";

import { htmlOf } from "../../../../src/services/markdown/copy";
import { GrowingText } from "../../../../src/services/markdown/growing_text";
import Host from "./Host.svelte";

let mounted: Record<string, never> | null = null;

afterEach(() => {
  if (mounted !== null) void unmount(mounted);
  mounted = null;
});

it("shows a foldable part with its blocks", () => {
  const [answer] = draw("<details open>\n<summary>More **here**</summary>\n\n- one\n\n```\n</details>\n```\n\n</details>\n\nAfter.");
  const details = answer!.querySelector("details")!;
  expect(details.open).toBe(true);
  expect(details.querySelector("summary")?.innerHTML).toContain("<strong>here</strong>");
  expect(details.querySelector("li")?.textContent.trim()).toBe("one");
  expect(details.querySelector("pre")?.textContent).toBe("</details>");
  expect(answer!.textContent).toMatch(/After\.\s*$/);
  expect(details.textContent).not.toContain("After");
});

it("shows a foldable part without its other attributes", () => {
  const [answer] = draw('<details ontoggle="hacked()" class="scrim" open>x</details>');
  expect(answer!.querySelector("details")?.getAttributeNames()).toEqual(["open"]);
  expect(answer!.textContent?.trim()).toBe("x");
});

it("links footnotes and their references, apart for each answer", () => {
  const text = "Tides[^b] and winds[^a], tides again[^b].\n\n[^a]: About winds.\n[^b]: About tides,\n    with *emphasis*.\n\nThe end.";
  const answers = draw(text, text);
  const links = [...answers[0]!.querySelectorAll<HTMLAnchorElement>("sup a")];
  expect(links.map(({ textContent }) => textContent)).toEqual(["1", "2", "1"]);
  const notes = links.map(({ hash }) => document.getElementById(hash.slice(1)));
  expect(notes.map((note) => note?.querySelector(".note")?.textContent.trim())).toEqual([
    "About tides,\nwith emphasis.",
    "About winds.",
    "About tides,\nwith emphasis.",
  ]);
  const back = [...notes[0]!.querySelectorAll<HTMLAnchorElement>("a.footnote")];
  expect(back.map(({ hash }) => document.getElementById(hash.slice(1)))).toEqual([links[0], links[2]]);
  expect(answers[0]!.querySelector(".block-group")?.lastElementChild?.tagName).toBe("SECTION");

  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

it("moves between a reference and its footnote without a new address", () => {
  Element.prototype.scrollIntoView = vi.fn();
  const [answer] = draw("<details>\n\nTides[^1].\n\n</details>\n\n[^1]: About tides.");
  const reference = answer!.querySelector<HTMLAnchorElement>("sup a")!;
  expect(reference.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))).toBe(false);
  expect(document.activeElement?.textContent).toContain("About tides.");
  answer!.querySelector<HTMLAnchorElement>(".footnotes a")!.click();
  expect(document.activeElement).toBe(reference);
  expect(answer!.querySelector("details")?.open).toBe(true);
});

it("shows references without a footnote as written", () => {
  const [answer] = draw("A set [^abc] of letters.");
  expect(answer!.textContent.trim()).toBe("A set [^abc] of letters.");
});

it("shows invalid equations as written, and keeps the source of others", async () => {
  const [answer] = draw("It is $\\frac{$ or $x^2$, $\\href{javascript:1}{x}$, and not $$ $$.\n\n$$\n\\nonsense{\n$$");
  await vi.waitFor(() => expect(answer!.querySelector(".katex")).not.toBeNull());
  expect(answer!.querySelectorAll(".katex")).toHaveLength(1);
  expect(answer!.querySelector<HTMLElement>(".typeset")?.dataset["source"]).toBe("$x^2$");
  for (const written of ["$\\frac{$", "$\\href{javascript:1}{x}$", "$$ $$", "$$\n\\nonsense{\n$$"]) {
    expect(answer!.textContent).toContain(written);
  }
  expect(answer!.innerHTML).not.toContain("color:");
});

it("typesets chemical equations", async () => {
  const [answer] = draw("Burning: $\\ce{CH4 + 2 O2 -> CO2 + 2 H2O}$");
  await vi.waitFor(() => expect(answer!.querySelector(".katex .mrel")).not.toBeNull());
});

it("copies a selected equation as TeX", async () => {
  const [answer] = draw("The area is $\\pi r^2$ or \\(a<b\\).");
  await vi.waitFor(() => expect(answer!.querySelectorAll(".katex")).toHaveLength(2));
  const inside = answer!.querySelectorAll(".katex-html")[1]!;
  expect(copyOf(answer!.querySelector("p")!.firstChild!, 4, inside, 0)).toBe("area is $\\pi r^2$ or \\(a&lt;b\\)");
  expect(copyOf(inside, 0, inside, 1)).toBe("\\(a&lt;b\\)");
  expect(copyOf(answer!.querySelector("p")!.firstChild!, 0, answer!.querySelector("p")!.firstChild!, 4)).toBeUndefined();
});

/** Copy a part of the document, and return the HTML that the page put on the clipboard; undefined if the browser copies. */
function copyOf(start: Node, from: number, end: Node, to: number): string | undefined {
  const range = document.createRange();
  range.setStart(start, from);
  range.setEnd(end, to);
  getSelection()!.removeAllRanges();
  getSelection()!.addRange(range);
  const data = new Map<string, string>();
  const clipboardData = { setData: (type: string, text: string) => data.set(type, text) };
  document.dispatchEvent(Object.assign(new Event("copy", { cancelable: true }), { clipboardData }));
  return data.get("text/html");
}

it("has HTML for other programs, without its controls", async () => {
  const [answer] = draw("# Tides\n\n$x^2$[^1] and [a link](https://x.test)\n\n```python\nx = 1\n```\n\n- [x] done\n\n[^1]: A note.");
  await vi.waitFor(() => expect(answer!.querySelector(".katex")).not.toBeNull());
  const host = document.createElement("div");
  host.innerHTML = htmlOf(answer!);
  expect(host.querySelector("h3")?.textContent).toBe("Tides");
  expect(host.querySelector("p")?.innerHTML).toContain('$x^2$<sup>1</sup> and <a href="https://x.test"');
  expect(host.querySelector("pre > code")?.textContent).toBe("x = 1");
  expect(host.querySelector("li > input[checked]")).not.toBeNull();
  expect(host.textContent?.replace(/\s+/g, " ")).toContain("x = 1 done");
  expect(host.querySelectorAll("button, svg, [class], [id], [style], [data-source]")).toHaveLength(0);
  expect(host.textContent).not.toMatch(/↩|Copy|python/);
});

it("wraps the lines of code", () => {
  const [answer] = draw("```\nlong\n```");
  const button = answer!.querySelector<HTMLButtonElement>("[aria-label='Wrap lines']")!;
  button.click();
  flushSync();
  expect(button.getAttribute("aria-pressed")).toBe("true");
  expect(answer!.querySelector("pre")?.classList).toContain("wrapped");
});

it("shows a text that cannot be drawn as it is written, and the others as they are", () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const update = GrowingText.prototype.update;
  vi.spyOn(GrowingText.prototype, "update").mockImplementation(function (this: GrowingText, text: string) {
    if (text.includes("broken")) throw new Error("out of stack");
    return update.call(this, text);
  });
  const drawn = draw("*one*", "*broken*", "*two*");
  expect(drawn.map(({ textContent }) => textContent.trim())).toEqual(["one", "two"]);
  expect(document.querySelector("pre.undrawn")?.textContent).toBe("*broken*");
  expect(logged).toHaveBeenCalled();
});

it("shows an image of HTML in a text with a footnote", () => {
  expect(draw("x <img src=x alt=badge>\n\n[^1]: note")[0]!.textContent).toMatch(/badge[^]*note/);
});

/** Draw complete texts, and return their elements. */
function draw(...texts: string[]): Element[] {
  mounted = mount(Host, { target: document.body, props: { texts } });
  flushSync();
  return [...document.querySelectorAll(".markdown")];
}

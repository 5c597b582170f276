import DOMPurify from "dompurify";
import { flushSync, mount, unmount } from "svelte";
import { describe, expect, it, onTestFinished, vi } from "vitest";

import { htmlOf } from "../../../../src/services/markdown/copy";
import { drawn } from "../../../drawn";
import Host from "./Host.svelte";

const ROWS_AT_ONCE = 300;
const HEAD = ["| Hour | Change | Of the *range* | |", "| :--- | ---: | :---: | --- |"];
const HEAD_TEXT = "HourChangeOf the range";
const row = (number: number) => `| ${number} | **${number % 12}** | \`${number / 2}\` twelfths | [x](https://example.org/${number}) |`;
const rowText = (number: number) => `${number}${number % 12}${number / 2} twelfthsx`;

/** Texts with a table of some rows, whose first line begins with the first mark and its other lines with the second one. */
const PLACES = [
  ["by itself", 120, "", ""],
  ["after a paragraph", 60, "Before.\n\n", ""],
  ["in a list", 60, "- item\n\n  ", "  "],
  ["in a quote", 60, "> ", "> "],
  ["in a list in a quote", 60, "> 1. item\n>\n>    ", ">    "],
] as const;

function text(rows: number, first: string, other: string): string {
  const lines = [...HEAD, ...Array.from({ length: rows }, (_, number) => row(number))];
  return `${first}${lines.join(`\n${other}`)}\n`;
}

/** Mount a text that is being written. Each call of `grow` waits until the page has drawn all of it. */
function writing() {
  vi.stubGlobal("IntersectionObserver", class { observe() {} unobserve() {} });
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  let now = 1_000;
  const target = document.body.appendChild(document.createElement("main"));
  const props = $state({ texts: [""], writing: true });
  const host = mount(Host, { target, props });
  onTestFinished(() => {
    void unmount(host);
    target.remove();
  });
  flushSync();
  const draw = () => {
    flushSync();
    for (; frames.length > 0; now += 1_000) {
      const due = frames;
      frames = [];
      for (const frame of due) frame(now);
      flushSync();
    }
  };
  return {
    target,
    grow(text: string): void {
      props.texts = [text];
      draw();
    },
    end(): void {
      props.writing = false;
      draw();
    },
  };
}

/** Cells of all tables, row by row, with what a person and a screen reader learn about them. */
function cellsOf(host: Element): string[][] {
  return [...host.querySelectorAll("tr")].map((tr) =>
    [...tr.cells].map((cell) => `${cell.parentElement!.parentElement!.tagName} ${cell.tagName} ${cell.align} ${cell.innerHTML}`),
  );
}

/** Numbers of the rows among nodes, and in them. */
function rowsOf(nodes: NodeList): number[] {
  const elements = [...nodes].filter((node) => node instanceof Element);
  const rows = elements.flatMap((element) => [...(element.matches("tr") ? [element] : []), ...element.querySelectorAll("tr")]);
  return rows.map((row) => Number(row.querySelector("td")?.textContent));
}

describe.each(PLACES)("a growing table %s", (_name, all, first, other) => {
  it("shows all rows before any cut, and ends as a table that is drawn at once", () => {
    const page = writing();
    const whole = text(all, first, other);
    for (let number = 0; number < all; number++) {
      // Somewhere within the row, or behind it.
      page.grow(whole.slice(0, whole.indexOf(row(number)) + 1 + ((7 * number) % row(number).length)));
      const rows = page.target.querySelectorAll("tr");
      expect(rows.length, `row ${number}`).toBeGreaterThanOrEqual(1 + number);
      const before = [rows[0]!.textContent, ...Array.from({ length: Math.min(number, 6) }, (_, at) => rows[number - at]!.textContent)];
      expect(before, `row ${number}`).toEqual([HEAD_TEXT, ...Array.from({ length: Math.min(number, 6) }, (_, at) => rowText(number - 1 - at))]);
    }
    page.grow(whole);
    page.end();
    const cells = cellsOf(page.target);
    expect(cells).toEqual(cellsOf(drawn(whole)));
    expect(cells).toHaveLength(1 + all);
    expect(cells[0]!.map((cell) => cell.split(" ").slice(0, 3))).toEqual(["left", "right", "center", ""].map((align) => ["THEAD", "TH", align]));
    expect(cells[all]![1]).toBe(`TBODY TD right <strong>${(all - 1) % 12}</strong>`);
    expect(page.target.querySelectorAll("table")).toHaveLength(1);
  });

  it("renders and changes no rows but the last ones with each new row", () => {
    const page = writing();
    page.grow(text(1, first, other));
    const observer = new MutationObserver(() => undefined);
    observer.observe(page.target, { attributes: true, characterData: true, childList: true, subtree: true });
    const sanitised = vi.spyOn(DOMPurify, "sanitize");
    for (let rows = 2; rows <= all; rows++) {
      sanitised.mockClear();
      page.grow(text(rows, first, other));
      const rendered = sanitised.mock.calls.map(([html]) => String(html)).join("");
      expect(rendered.match(/<tr>/g)!.length, `row ${rows}`).toBeLessThanOrEqual(4);
      expect(rendered, `row ${rows}`).not.toContain("<thead>");
      const records = observer.takeRecords();
      const changed = records.flatMap(({ addedNodes, removedNodes }) => [...rowsOf(addedNodes), ...rowsOf(removedNodes)]);
      expect(Math.max(...changed), `row ${rows}`).toBe(rows - 1);
      expect(Math.min(...changed), `row ${rows}`).toBeGreaterThan(rows - 5);
      expect(records.length, `row ${rows}`).toBeLessThan(12);
    }
    observer.disconnect();
  });

  it("is copied with all of its rows", () => {
    const page = writing();
    for (const rows of [1, 30, 47, all]) page.grow(text(rows, first, other));
    const host = document.createElement("div");
    host.innerHTML = htmlOf(page.target.querySelector(".markdown")!);
    expect(host.querySelector("table")!.textContent).toBe(HEAD_TEXT + Array.from({ length: all }, (_, number) => rowText(number)).join(""));
    expect([...host.querySelectorAll("td")].slice(-4).map(({ align }) => align)).toEqual(["left", "right", "center", ""]);
  });
});

it("draws a table that arrives at once over several frames, from its end", async () => {
  let frames: FrameRequestCallback[] = [];
  vi.stubGlobal("requestAnimationFrame", (frame: FrameRequestCallback) => frames.push(frame));
  const host = mount(Host, { target: document.body, props: { texts: [text(ROWS_AT_ONCE, "", "")] } });
  onTestFinished(() => void unmount(host));
  const rows = () => document.querySelectorAll(".markdown td:first-child");
  await vi.waitFor(() => expect(rows().length).toBeGreaterThan(0));
  expect(rows().item(rows().length - 1).textContent).toBe(String(ROWS_AT_ONCE - 1));
  for (let before = 0, now = 0; frames.length > 0; now += 1_000) {
    expect(rows().length - before).toBeLessThan(40);
    before = rows().length;
    const due = frames;
    frames = [];
    for (const frame of due) frame(now);
    flushSync();
  }
  expect([...rows()].map(({ textContent }) => textContent)).toEqual(Array.from({ length: ROWS_AT_ONCE }, (_, number) => String(number)));
});

import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { drawn } from "../../drawn";

interface Case {
  name: string;
  text: string;
  /** Text that a reader sees, with single spaces; null if only its words are compared. */
  shows: string | null;
  words?: string[];
  strong?: string[];
  em?: string[];
  struck?: string[];
  code?: string[];
  blocks?: string[];
  cells?: string[];
  links?: string[];
  /** TeX without its delimiters. */
  formulas?: string[];
  tasks?: boolean[];
}

/** The server tests its own renderer by the same cases. */
const CASES = JSON.parse(readFileSync("../tests/markdown/cases.json", "utf8")) as Case[];

const ELEMENTS = { strong: "strong", em: "em", struck: "s, del", code: ":not(pre) > code", blocks: "pre code", cells: "th, td" } as const;

describe("text as people write it", () => {
  it.each(CASES)("$name", ({ text, shows, words = [], links, formulas, tasks, ...rest }) => {
    const host = drawn(text);
    for (const head of host.querySelectorAll(".code > .head")) head.remove();
    for (const formula of host.querySelectorAll(".math")) {
      const source = formula.textContent;
      formula.textContent = source.startsWith("$") && !source.startsWith("$$") ? source.slice(1, -1) : source.slice(2, -2);
    }
    const seen = textOf(host);
    if (shows !== null) expect(seen).toBe(shows);
    for (const word of words) expect(seen.split(/[^a-z]+/)).toContain(word);
    for (const [name, selector] of Object.entries(ELEMENTS)) {
      const expected = rest[name as keyof typeof ELEMENTS];
      if (expected !== undefined) expect(all(host, selector), name).toEqual(expected);
    }
    if (formulas !== undefined) expect(all(host, ".math"), "formulas").toEqual(formulas);
    if (links !== undefined) expect([...host.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual(links);
    if (tasks !== undefined) expect([...host.querySelectorAll("input")].map(({ checked }) => checked)).toEqual(tasks);
  });
});

/** Return the text of an element, with spaces between its blocks. */
function textOf(host: Element): string {
  const copy = host.cloneNode(true) as Element;
  for (const block of copy.querySelectorAll("p, li, td, th, pre, h3, h4, h5, h6, summary, br")) block.append(" ");
  for (const block of copy.querySelectorAll("pre, br, .math.display")) block.before(" ");
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function all(host: Element, selector: string): string[] {
  return [...host.querySelectorAll(selector)].map(({ textContent }) => textContent.trim());
}

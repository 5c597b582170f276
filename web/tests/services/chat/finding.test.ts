import { describe, expect, it } from "vitest";

import { folded, rangesIn, wordsIn } from "../../../src/services/chat/finding";

function placesOf(html: string, query: string): string[] {
  const message = document.createElement("article");
  message.innerHTML = html;
  return rangesIn(message, query).map((range) => range.toString());
}

describe("finding in a message", () => {
  it("finds texts as the server does", () => {
    expect(folded("CAFÉ! Straße\tﬁne Ebb™")).toBe("cafe! strasse fine ebbtm");
    expect(folded("한국")).toBe("한국");
    expect(placesOf("<div data-findable>Äpfel, apfel, 潮汐</div>", "APFEL")).toEqual(["Äpfel", "apfel"]);
    expect(placesOf("<div data-findable>潮汐 潮汐表</div>", "汐表")).toEqual(["汐表"]);
    expect(placesOf("<div data-findable>Cafe\u0301 cafe</div>", "café")).toEqual(["Cafe", "cafe"]);
  });

  it("finds a text across parts of a line, and not across blocks", () => {
    const html = "<div data-findable><p>high <b>ti</b>de</p><p>low</p></div>";
    expect(placesOf(html, "high tide")).toEqual(["high tide"]);
    expect(placesOf(html, "tidelow")).toEqual([]);
    expect(placesOf(html, "tide low")).toEqual([]);
  });

  it("leaves out what is no text of the message", () => {
    expect(placesOf("<h2>tide</h2><div data-findable>a <button>tide</button></div><time>tide</time>", "tide")).toEqual([]);
    expect(placesOf("<div data-findable>tide</div>", "  ")).toEqual([]);
  });

  it("finds in all parts in their order", () => {
    const html = "<details><div data-findable>tide 1</div></details><div data-findable>tide 2, tide 3</div>";
    expect(placesOf(html, "tide ")).toEqual(["tide ", "tide ", "tide "]);
  });
});

describe("words of a search in a message", () => {
  function found(html: string, ...words: string[]) {
    const message = document.createElement("article");
    message.innerHTML = `<div data-findable>${html}</div>`;
    const { all, together } = wordsIn(message, words);
    return { all: all.map(String), at: together?.startOffset };
  }

  it("are whole words, as the server folds them", () => {
    expect(found("Tide, tides, TIDÉ, ebbtide", "tide").all).toEqual(["Tide", "TIDÉ"]);
    expect(found("a tall mast", "a").all).toEqual(["a"]);
    expect(found("看潮汐表", "潮汐").all).toEqual(["潮汐"]);
    expect(found("<p>high <b>ti</b>de</p><p>low</p>", "tide").all).toEqual(["tide"]);
    expect(found("Tides", "", "ebb").all).toEqual([]);
  });

  it("lead to the first place where they follow each other", () => {
    expect(found("low or high, high and low", "high", "low")).toEqual({ all: ["low", "high", "high", "low"], at: 13 });
    expect(found("low", "high", "low")).toEqual({ all: ["low"], at: undefined });
  });
});

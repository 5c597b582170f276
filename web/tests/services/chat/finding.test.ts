import { describe, expect, it } from "vitest";

import { folded, rangesIn } from "../../../src/services/chat/finding";

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

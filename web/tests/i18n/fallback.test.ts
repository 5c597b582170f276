import { afterEach, describe, expect, it } from "vitest";

import { withEnglish, type PartialTexts } from "../../src/i18n/fallback";
import { language, textsOf } from "../../src/i18n/language.svelte";
import { COMPLETE } from "../../src/i18n/languages";

const ENGLISH = {
  title: "Tides",
  count: (count: number) => (count === 1 ? "1 tide" : `${count} tides`),
  tier: (name: string) => ({ name, note: `${name} keeps blocks.` }),
  sea: { high: "High", low: "Low" },
  reasons: { moon: "The moon pulls." } as Record<string, string>,
  prompts: ["When is high tide?", "When is low tide?"],
};

afterEach(() => language.choose("en"));

describe("a language that lacks texts", () => {
  it("has the English ones, text by text", () => {
    const swedish: PartialTexts<typeof ENGLISH> = {
      title: "Tidvatten",
      tier: (name) => ({ note: `${name} behåller block.` }),
      sea: { low: "Lågt" },
      reasons: { wind: "Vinden trycker." },
    };
    const texts = withEnglish(swedish, ENGLISH, "sv");
    expect(texts).toMatchObject({ title: "Tidvatten", sea: { high: "High", low: "Lågt" }, prompts: ENGLISH.prompts });
    expect([texts.count(1), texts.count(2)]).toEqual(["1 tide", "2 tides"]);
    expect(texts.tier("Redis")).toEqual({ name: "Redis", note: "Redis behåller block." });
    expect(texts.reasons).toEqual({ moon: "The moon pulls.", wind: "Vinden trycker." });
  });

  it("shows the English ones on the page, those of a whole view as well", async () => {
    const complete = COMPLETE.map((tag) => [`./${tag}/sea.ts`, () => Promise.resolve(ENGLISH)] as const);
    const swedish = { title: "Tidvatten" };
    const texts = textsOf<typeof ENGLISH>({ ...Object.fromEntries(complete), "./sv/sea.ts": () => Promise.resolve(swedish) });
    await language.choose("sv");
    expect([texts().title, texts().count(1), texts().sea.low]).toEqual(["Tidvatten", "1 tide", "Low"]);
    await language.choose("tr");
    expect([texts().title, texts().sea.low]).toEqual(["Tides", "Low"]);
  });

  it("isolates them if it is written from the right", () => {
    const texts = withEnglish({ sea: { low: "کم" } } as PartialTexts<typeof ENGLISH>, ENGLISH, "fa");
    expect(texts.count(2)).toBe("\u20682 tides\u2069");
    expect(texts.sea).toEqual({ high: "\u2068High\u2069", low: "کم" });
  });
});

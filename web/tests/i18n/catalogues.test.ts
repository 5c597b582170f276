import { flushSync } from "svelte";
import { afterEach, describe, expect, it } from "vitest";

import { language } from "../../src/i18n/language.svelte";
import { COMPLETE, directionOf, languageOf, type Language } from "../../src/i18n/languages";
import { pluralsOf } from "../../src/i18n/plurals";
import { describeReceipt } from "../../src/services/chat/receipt_details";
import { monthName } from "../../src/services/format/dates";
import { GIVEN, lackingIn, TAGS, textsIn, VIEWS } from "./catalogue_texts";

const TRANSLATIONS = TAGS.filter((tag) => tag !== "en");
/** Languages in which Latin letters are no words, apart from names. */
const OTHER_SCRIPTS = TAGS.filter((tag) => new Intl.Locale(tag).maximize().script !== "Latn");
/** Languages whose sentences end without a sign. */
const WITHOUT_FULL_STOPS: readonly string[] = ["th"];
const NAMES = /^(?:claude|code|cpu|ebb|enter|git|goose|gpu|assistant|home|json|kimi|cli|latex|lines|markdown|min|moved|npu|pull|redis|removed|seed|shift|token|tokens|top|undefined)$/i;

/** Texts in which English has a sentence of the server, in place of a text for its code. */
const SAID = /^(?:errors\.refused|server\.(?:degraded|failed|loading|slower)|state|cause)$/;
afterEach(() => language.choose("en"));

describe("the twelve complete languages", () => {
  it.each(COMPLETE.filter((tag) => tag !== "en"))("have every text in %s", (tag) => {
    expect(lackingIn(tag)).toEqual([]);
  });
});

describe.each(TRANSLATIONS)("the catalogue in %s", (tag) => {
  it.each(VIEWS)("has no text of %s that English lacks, in the same order", (view) => {
    const own = [...textsIn(view, tag).keys()];
    expect(own).toEqual([...textsIn(view, "en").keys()].filter((path) => own.includes(path)));
  });

  it.each(VIEWS)("repeats no English text of %s", (view) => {
    const english = textsIn(view, "en");
    const repeated = [...textsIn(view, tag)].filter(([path, text]) => !SAID.test(path) && isUntranslated(tag, english.get(path)!, text));
    expect(repeated).toEqual([]);
  });

  it.each(VIEWS)("says as much as English in %s", (view) => {
    const english = textsIn(view, "en");
    const silent = [...textsIn(view, tag)].filter(
      ([path, text]) => !SAID.test(path) && GIVEN.some((value) => english.get(path)!.includes(value) && !text.includes(value)),
    );
    expect(silent).toEqual([]);
  });

  it.each(VIEWS)("ends the texts of %s as English does", (view) => {
    const english = textsIn(view, "en");
    if (WITHOUT_FULL_STOPS.includes(tag)) return;
    const differing = [...textsIn(view, tag)].filter(([path, text]) => !SAID.test(path) && endOf(english.get(path)!) !== endOf(text));
    expect(differing).toEqual([]);
  });
});

describe("the language of the page", () => {
  it("is the chosen one, in numbers as well", async () => {
    await language.choose("zh");
    const kv = { device: 0, cpu: 0, redis: 1920, computed: 90, restore_ms: 38 };
    expect(describeReceipt(kv)).toBe("2,010 个 token 中 1,920 个来自 Redis");
    expect(monthName("2026-03", new Date("2026-08-01T12:00"))).toBe("三月");
    await language.choose("de");
    expect(describeReceipt(kv)).toBe("1.920 von 2.010 Token aus Redis");
    expect(monthName("2026-03", new Date("2026-08-01T12:00"))).toBe("März");
  });

  it.each([
    ["de-CH", "de"],
    ["pt", "pt-BR"],
    ["pt-PT", "pt-PT"],
    ["zh-CN", "zh"],
    ["zh-TW", "zh-Hant"],
    ["zh-Hant-HK", "zh-Hant"],
    ["no", "nb"],
    ["nn-NO", "nb"],
    ["sr-Latn-RS", "sr"],
    ["tl", "fil"],
    ["iw", "he"],
    ["tlh", null],
    ["*", null],
  ])("is the nearest one for %s", (tag, expected) => {
    expect(languageOf(tag)).toBe(expected);
  });

  it("gives the document its direction", async () => {
    const stop = language.start();
    for (const [tag, direction] of [["ar", "rtl"], ["ja", "ltr"]] as const) {
      await language.choose(tag);
      flushSync();
      expect([document.documentElement.lang, document.documentElement.dir]).toEqual([tag, direction]);
    }
    stop();
  });

  it("is written from the right where its script is", () => {
    const fromTheRight = TAGS.filter((tag) => ["Arab", "Hebr"].includes(new Intl.Locale(tag).maximize().script!));
    expect(TAGS.filter((tag) => directionOf(tag) === "rtl")).toEqual(fromTheRight);
  });

  it("chooses forms by its plural rules", () => {
    const german = pluralsOf("de");
    expect([0, 1, 2].map((count) => german(count, { one: "Tag", other: "Tage" }))).toEqual(["Tage", "Tag", "Tage"]);
    const russian = pluralsOf("ru");
    const days = { one: "день", few: "дня", other: "дней" };
    expect([1, 2, 5, 11, 21, 104].map((count) => russian(count, days))).toEqual(["день", "дня", "дней", "дней", "день", "дня"]);
  });
});

/** Return whether a text is English. Short texts may be the same in languages with Latin letters: "Chats", "Name". */
function isUntranslated(tag: Language, english: string, text: string): boolean {
  if (!OTHER_SCRIPTS.includes(tag)) return english === text && english.split(" ").length > 3;
  return english === text && (text.match(/[a-z]{3,}/gi) ?? []).some((word) => !NAMES.test(word));
}

/** Return the kind of sign that ends a text, whatever the script: a full stop, an ellipsis, a question mark, or none. */
function endOf(text: string): string {
  const sign = text.at(-1) ?? "";
  return [".。।۔", "…", "?？؟;"].find((signs) => sign !== "" && signs.includes(sign))?.charAt(0) ?? "";
}

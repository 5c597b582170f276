import { afterEach, expect, it } from "vitest";

import PromptProgress from "../../../src/components/chat/PromptProgress.svelte";
import { language } from "../../../src/i18n/language.svelte";
import type { PromptProgress as Progress } from "../../../src/services/api/types";
import { mountWith } from "../mounting";

const progress: Progress = { state: "computing", total: 40_000, done: 12_000, reused: { device: 0, cpu: 0, redis: 4_900 }, computed: 7_100, seconds_left: 18.2 };
const line = () => document.querySelector("p")?.textContent;
const bar = () => document.querySelector("[role=progressbar]");

function show(changes: Partial<Progress> = {}) {
  mountWith({}, PromptProgress, { progress: { ...progress, ...changes } });
}

afterEach(() => language.choose("en"));

it("says how far the conversation is read, what was found and how long it takes", () => {
  show();
  expect(line()).toBe("Reading the conversation: 12,000 of 40,000 tokens · 4,900 from Redis · about 20 sec left");
});

it("gives no time while the speed is unknown, and minutes for a long time", () => {
  show({ seconds_left: null, reused: {} });
  expect(line()).toBe("Reading the conversation: 12,000 of 40,000 tokens");
  document.body.replaceChildren();
  show({ seconds_left: 150, reused: {} });
  expect(line()).toBe("Reading the conversation: 12,000 of 40,000 tokens · about 3 min left");
  document.body.replaceChildren();
  show({ seconds_left: 0.2, reused: {} });
  expect(line()).toBe("Reading the conversation: 12,000 of 40,000 tokens · about 1 sec left");
});

it("is a named progress bar that announces nothing by itself", () => {
  show();
  const value = (name: string) => bar()?.getAttribute(`aria-${name}`);
  expect([value("valuenow"), value("valuemin"), value("valuemax"), value("valuetext")]).toEqual(["12000", "0", "40000", "30%"]);
  expect(document.getElementById(value("labelledby")!)?.textContent).toBe(line());
  expect(document.querySelector("[aria-live], [role=status], [role=alert]")).toBeNull();
  expect([...bar()!.children].map((part) => [part.className.split(" ")[0], (part as HTMLElement).style.width])).toEqual([
    ["depth-3", "12.25%"],
    ["computed", "17.75%"],
  ]);
});

it("says that the answer waits for its turn", () => {
  show({ state: "waiting", done: 0, reused: {}, computed: 0, seconds_left: null });
  expect([line(), bar()]).toEqual(["Queued…", null]);
});

it("is written in the language of the page", async () => {
  await language.choose("de");
  show({ reused: {} });
  expect(line()).toBe("Der Chat wird gelesen: 12.000 von 40.000 Token · noch etwa 20 Sek.");
});

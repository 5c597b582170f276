import { expect, it } from "vitest";

import PreferencesDialog from "../../../src/components/dialogs/PreferencesDialog.svelte";
import { t } from "../../../src/i18n/language.svelte";
import { KNOWN_TIERS, type TierTexts } from "../../../src/services/tiers";
import { mountWith } from "../mounting";

const ebb = { appearance: { theme: "system", size: 100, tierMarks: false }, chat: { settings: null }, notices: {}, session: { may: () => false } };

function open(): void {
  mountWith(ebb as never, PreferencesDialog as never, { onstart: () => undefined, onclose: () => undefined });
}

it("says what notifications need where the page has no secure connection", () => {
  open();
  const label = [...document.querySelectorAll("label")].find(({ textContent }) => textContent.includes("Notify me when an answer ends"))!;
  expect(label.querySelector("input")!.disabled).toBe(true);
  expect(label.nextElementSibling?.textContent).toMatch(/^Notifications, and installing Ebb as an app, require HTTPS/);
});

it("explains the mark of each known tier, the nearest first, with the tier's own text", () => {
  open();
  const explained = [...document.querySelectorAll("li:has(svg title)")].map((line) => {
    const marks = [...line.querySelectorAll("path")].map((mark) => mark.getAttribute("d"));
    return { marks, spoken: line.querySelector("title")!.textContent, read: line.lastChild!.textContent?.trim() };
  });
  const texts: Record<string, TierTexts | undefined> = t().tiers;
  const expected = KNOWN_TIERS.map(({ id, level }) => ({ marks: [level], spoken: texts[id]?.mark, read: texts[id]?.mark }));
  expect(explained).toEqual(expected);
  expect(new Set(explained.map(({ read }) => read).filter(Boolean)).size).toBe(KNOWN_TIERS.length);
});

import { expect, it } from "vitest";

import PreferencesDialog from "../../../src/components/dialogs/PreferencesDialog.svelte";
import { mountWith } from "../mounting";

it("says what notifications need where the page has no secure connection", () => {
  const ebb = { appearance: { theme: "system", size: 100, tierMarks: false }, chat: { settings: null }, notices: {}, session: { may: () => false } };
  mountWith(ebb as never, PreferencesDialog as never, { onstart: () => undefined, onclose: () => undefined });
  const label = [...document.querySelectorAll("label")].find(({ textContent }) => textContent.includes("Notify me when an answer ends"))!;
  expect(label.querySelector("input")!.disabled).toBe(true);
  expect(label.nextElementSibling?.textContent).toMatch(/^Notifications, and installing Ebb as an app, require HTTPS/);
});

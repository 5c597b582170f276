import { expect, it } from "vitest";

import AppearanceDialog from "../../../src/components/dialogs/AppearanceDialog.svelte";
import { mountWith } from "../mounting";

it("says what notifications need where the page has no secure connection", () => {
  const ebb = { appearance: { theme: "system", size: 100, tierMarks: false }, notices: {} };
  mountWith(ebb as never, AppearanceDialog as never, { onclose: () => undefined });
  const label = [...document.querySelectorAll("label")].find(({ textContent }) => textContent.includes("Notify me when an answer ends"))!;
  expect(label.querySelector("input")!.disabled).toBe(true);
  expect(label.nextElementSibling?.textContent).toMatch(/^Notifications, and installing Ebb as an app, require HTTPS/);
});

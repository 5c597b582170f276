import { beforeEach, expect, it } from "vitest";

import { Appearance } from "../../src/stores/appearance.svelte";

beforeEach(() => localStorage.clear());

it("follows the choices of other tabs", () => {
  const appearance = new Appearance();
  const stop = appearance.start();
  localStorage.setItem("ebb-theme", "dark");
  dispatchEvent(new StorageEvent("storage", { key: "ebb-draft:" }));
  expect(appearance.theme).toBe("system");
  dispatchEvent(new StorageEvent("storage", { key: "ebb-theme" }));
  stop();
  expect([appearance.theme, document.documentElement.dataset["theme"]]).toEqual(["dark", "dark"]);
});

it("keeps the size of the text, also one that an earlier version named", () => {
  expect(new Appearance().size).toBe(100);
  new Appearance().setSize(135);
  expect([new Appearance().size, document.documentElement.dataset["textSize"]]).toEqual([135, "135"]);
  localStorage.setItem("ebb-text-size", "large");
  expect(new Appearance().size).toBe(120);
  localStorage.setItem("ebb-text-size", "1000");
  expect(new Appearance().size).toBe(100);
});

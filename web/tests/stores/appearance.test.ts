import { beforeEach, expect, it } from "vitest";

import { Appearance } from "../../src/stores/appearance.svelte";

beforeEach(() => localStorage.clear());

it("keeps the size of the text, also one that an earlier version named", () => {
  expect(new Appearance().size).toBe(100);
  new Appearance().setSize(135);
  expect([new Appearance().size, document.documentElement.dataset["textSize"]]).toEqual([135, "135"]);
  localStorage.setItem("ebb-text-size", "large");
  expect(new Appearance().size).toBe(120);
  localStorage.setItem("ebb-text-size", "1000");
  expect(new Appearance().size).toBe(100);
});

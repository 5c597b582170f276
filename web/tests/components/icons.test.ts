import Copy from "@lucide/svelte/icons/copy";
import { expect, it } from "vitest";

import { mountWith } from "./mounting";

function drawn(props: Record<string, unknown>): SVGElement {
  mountWith({}, Copy as never, props);
  return document.querySelector("svg")!;
}

it("draws an icon in its size, hidden from screen readers", () => {
  const icon = drawn({ size: 18 });
  expect([icon.getAttribute("width"), icon.getAttribute("height"), icon.getAttribute("fill")]).toEqual(["18", "18", "none"]);
  expect([...icon.children].map(({ tagName }) => tagName)).toEqual(["rect", "path"]);
  expect(icon.ariaHidden).toBe("true");
});

it("names an icon that stands for a text", () => {
  const icon = drawn({ "aria-label": "Copied", role: "img" });
  expect([icon.ariaLabel, icon.getAttribute("role"), icon.getAttribute("aria-hidden")]).toEqual(["Copied", "img", null]);
});

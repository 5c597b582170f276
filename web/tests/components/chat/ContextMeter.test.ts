import { expect, it } from "vitest";

import ContextMeter from "../../../src/components/chat/ContextMeter.svelte";
import { mountWith } from "../mounting";

it.each([
  [2_048, undefined],
  [3_686, undefined],
  [3_900, "95%"],
  [4_300, "105%"],
  [null, ">100%"],
])("has a short form of %j of 4096 tokens if the window is nearly full", (used, short) => {
  mountWith({}, ContextMeter as never, { used, window: 4_096 });
  expect(document.querySelector(".short")?.textContent).toBe(short);
});

import { flushSync } from "svelte";
import { expect, it } from "vitest";

import SamplingFields from "../../../src/components/dialogs/SamplingFields.svelte";
import { mountWith } from "../mounting";

it("takes a stop sequence per line, with line breaks written as \\n", () => {
  const params: { stop?: string[] | null } = { stop: ["\n\n"] };
  mountWith({}, SamplingFields as never, { params, defaults: {} });
  const field = document.querySelector("textarea")!;
  expect([field.value, document.querySelector("details")!.open]).toEqual([String.raw`\n\n`, true]);
  const type = (text: string) => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    flushSync();
  };
  type("User: \n");
  expect([params.stop, field.value]).toEqual([["User: "], "User: \n"]);
  type("User: \nEND\\n");
  expect(params.stop).toEqual(["User: ", "END\n"]);
  type("");
  expect(params).toEqual({});
});

it("stays open while a stop sequence is typed", () => {
  mountWith({}, SamplingFields as never, { params: {}, defaults: {} });
  const [details, field] = [document.querySelector("details")!, document.querySelector("textarea")!];
  expect(details.open).toBe(false);
  details.open = true;
  details.dispatchEvent(new Event("toggle"));
  field.value = "END";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
  expect(details.open).toBe(true);
});

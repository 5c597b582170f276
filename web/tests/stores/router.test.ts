import { afterEach, expect, it } from "vitest";

import { pathOf, Router } from "../../src/stores/router.svelte";

afterEach(() => history.replaceState(null, "", "/"));

const at = (path: string) => {
  history.replaceState(null, "", path);
  const { view, conversationId } = new Router();
  return [view, conversationId];
};

it("reads the chat in the address, and knows addresses at which there is nothing", () => {
  expect(at("/")).toEqual(["chat", null]);
  expect(at(pathOf("conv 1/é"))).toEqual(["chat", "conv 1/é"]);
  expect(at("/c/%ff")).toEqual(["unknown", null]);
  expect(at("/no/such/place")).toEqual(["unknown", null]);
});

import { mount, unmount } from "svelte";
import { expect, it } from "vitest";

import Welcome from "../../../src/components/chat/Welcome.svelte";
import type { Health } from "../../../src/services/api/types";

const HEALTH: Health = {
  status: "ok",
  version: "0",
  model: {
    name: "smollm2",
    dtype: "bfloat16",
    device: "cpu",
    device_note: null,
    max_model_len: 8192,
    sampling: {},
    thinking: [],
  },
  starting: null,
  reason: null,
  tiers: null,
  workers: null,
  unindexed: null,
  suggested_model: null,
};

it("names a better model that suits the machine, with the command", () => {
  expect(textOf({ ...HEALTH, suggested_model: "qwen3-1.7b" })).toContain(
    "smollm2 runs on this machine's CPU. A better model for it: ebb pull qwen3-1.7b",
  );
  expect(textOf(HEALTH)).not.toContain("ebb pull");
});

function textOf(health: Health): string {
  const page = mount(Welcome, { target: document.body, props: { health, named: false, onpick: () => undefined } });
  const text = document.body.textContent.replaceAll(/\s+/g, " ");
  void unmount(page);
  return text;
}

import { mount, unmount } from "svelte";
import { afterEach, expect, it } from "vitest";

import ReceiptDetails from "../../../src/components/chat/ReceiptDetails.svelte";
import { language } from "../../../src/i18n/language.svelte";
import type { KvReceipt, Usage } from "../../../src/services/api/types";

const KV: KvReceipt = {
  device: 64,
  cpu: 0,
  redis: 0,
  disk: 0,
  computed: 2,
  restore_ms: 0,
  bytes: { cpu: 0, redis: 0, disk: 0 },
  blocks_verified: 0,
  saved_ms: null,
  phases_ms: { queue: 0, lookup: 0, load: 0, prefill: 9, first_token: 9 },
};

it("leaves out zeros, and shows what was restored during typing", () => {
  const text = textOf({ ...KV, prefetched: { redis: 64, disk: 0 } });
  expect(text).toContain("Restored from Redis while you typed");
  expect(text).not.toContain("CPU memory");
  expect(text).not.toContain("Queued");
});

afterEach(() => language.choose("en"));

it("shows the lines that left the system prompt, in both languages", async () => {
  const kv = { ...KV, volatile_lines: { removed: ["claude-code-billing-header"], moved: ["todays-date"] } };
  expect(textOf(kv)).toContain("Left out, to keep the system prompt stable: Claude Code's billing header");
  expect(textOf(kv)).toContain("Moved to the first message, to keep the system prompt stable: today's date");
  await language.choose("zh");
  expect(textOf(kv)).toContain("为保持系统提示词稳定，已移除：Claude Code 的计费标头");
  expect(textOf(kv)).toContain("为保持系统提示词稳定，已移到第一条消息：今天的日期");
});

it.each([
  ["valid", /Required form\s*kept/],
  ["invalid", /Required form\s*not kept/],
  ["unchecked", /Required form\s*not checked/],
] as const)("says of a form whose keywords are not all enforced that it is %s", (form, said) => {
  expect(textOf(KV)).not.toContain("Required form");
  expect(textOf({ ...KV, form })).toMatch(said);
});

it("says what the disk keeps, until when, and what it does not keep", () => {
  const at = new Date();
  at.setHours(23, 15);
  const promise = { tokens: 1280, declined: 64, until: at.getTime() / 1000, reason: "reservation_full" } as const;
  expect(textOf({ ...KV, promise })).toMatch(/Kept on the disk\s*1,280 tokens until 11:15\sPM/);
  expect(textOf({ ...KV, promise })).toMatch(/Kept on the disk\s*64 tokens not kept/);
  const declined = textOf({ ...KV, promise: { ...promise, tokens: 0, until: null } });
  expect(declined).not.toContain("until");
  expect(textOf(KV)).not.toContain("Kept on the disk");
});

it("has words for the id of a session", () => {
  expect(textOf({ ...KV, volatile_lines: { removed: [], moved: ["session-id"] } })).toContain("the session's id");
});

/** Mount the details of a receipt, and return all their text, that of the folded part as well. */
function textOf(kv: KvReceipt): string {
  const usage: Usage = {
    prompt_tokens: 66,
    completion_tokens: 1,
    total_tokens: 67,
    prompt_tokens_details: { cached_tokens: 64 },
    queue_ms: 0,
    ttft_ms: 9,
    total_ms: 9,
    tokens_per_second: null,
    kv,
  };
  const receipt = mount(ReceiptDetails, { target: document.body, props: { usage, kv, leftOut: 0, prices: null, report: null } });
  const text = document.body.textContent;
  void unmount(receipt);
  return text;
}

import { beforeEach, expect, it, vi } from "vitest";

import BranchSwitcher from "../../../src/components/chat/BranchSwitcher.svelte";
import type { ApiClient } from "../../../src/services/api/client";
import { ApiError } from "../../../src/services/api/errors";
import { Chat } from "../../../src/stores/chat.svelte";
import { HealthStore } from "../../../src/stores/health.svelte";
import { Notices } from "../../../src/stores/notices.svelte";
import { Router } from "../../../src/stores/router.svelte";
import { conversation, FakeApi, message } from "../../fake_server";
import { mountWith, press } from "../mounting";

let api: FakeApi;
let chat: Chat;
let notices: Notices;

beforeEach(async () => {
  api = new FakeApi();
  chat = new Chat(api, new HealthStore(api), () => undefined);
  notices = new Notices();
  api.stored = { ...conversation(), messages: [message({ status: "complete", sibling_ids: ["msg_2", "msg_3"] })] };
  await chat.open("conv_1");
  notices.enter("conv_1");
  mountWith({ chat, notices, router: new Router() }, BranchSwitcher as never, { message: chat.messages[0]!, disabled: false });
});

it("says only in its chat that a version was not shown", async () => {
  api.showBranch = () => Promise.reject(new ApiError(500, { message: "The disk is full" }));
  press("Next version");
  await vi.waitFor(() => expect(notices.current).toContain("The disk is full."));
  notices.enter("conv_2");
  expect(notices.current).toBeNull();
});

it.each(["showBranch", "conversation"] as const)("leaves the next chat alone if the chat is left during %s", async (step) => {
  const untilAborted = (...given: unknown[]) =>
    new Promise<never>((_, reject) => {
      const signal = given.at(-1) as AbortSignal;
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  const asked = vi.spyOn(api as ApiClient, step).mockImplementation(untilAborted);
  const failed = vi.spyOn(notices, "failed");
  press("Next version");
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());
  void chat.open(null);
  notices.enter(null);
  await vi.waitFor(() => expect(failed).toHaveBeenCalled());
  expect(notices.current).toBeNull();
  notices.enter("conv_1");
  expect(notices.current).toBeNull();
  expect(location.search).toBe("");
});

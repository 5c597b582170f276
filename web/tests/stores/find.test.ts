import { beforeEach, expect, it, onTestFinished, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { FindInChat } from "../../src/stores/find.svelte";

const find = vi.fn();
let finding: FindInChat;

beforeEach(() => {
  find.mockReset().mockResolvedValue([
    { message_id: "msg_1", count: 2 },
    { message_id: "msg_5", count: 1 },
  ]);
  finding = new FindInChat({ find });
  finding.query = "tide";
});

it("begins at the newest place, and goes round", async () => {
  await finding.find("conv_1");
  expect([finding.at, finding.total]).toEqual([2, 3]);
  expect(finding.current).toEqual({ messageId: "msg_5", nth: 0 });
  finding.step(1);
  expect(finding.current).toEqual({ messageId: "msg_1", nth: 0 });
  finding.step(1);
  expect(finding.current).toEqual({ messageId: "msg_1", nth: 1 });
  finding.step(-1);
  finding.step(-1);
  expect(finding.at).toBe(2);
});

it("keeps its place when the chat has changed", async () => {
  await finding.find("conv_1");
  finding.step(-1);
  find.mockResolvedValue([{ message_id: "msg_0", count: 4 }, { message_id: "msg_1", count: 2 }, { message_id: "msg_9", count: 1 }]);
  await finding.find("conv_1");
  expect(finding.current).toEqual({ messageId: "msg_1", nth: 1 });
});

it("keeps the place to which the person went while the server looked", async () => {
  await finding.find("conv_1");
  const again = finding.find("conv_1");
  finding.step(-1);
  await again;
  expect(finding.at).toBe(1);
});

it("asks once the person pauses, and not for nothing", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  finding.type("ti", "conv_1");
  finding.type("tide ", "conv_1");
  await vi.advanceTimersByTimeAsync(300);
  expect(find.mock.calls.map(([, query]) => query as string)).toEqual(["tide "]);
  finding.type(" ", "conv_1");
  await vi.advanceTimersByTimeAsync(300);
  expect(find).toHaveBeenCalledOnce();
  expect([finding.total, finding.current, finding.answered]).toEqual([0, null, false]);
});

it("says why nothing was found", async () => {
  find.mockRejectedValue(new ApiError(422, { message: "Too slow" }));
  await finding.find("conv_1");
  expect(finding.failure).toBeInstanceOf(ApiError);
  expect(finding.total).toBe(0);
});

it("keeps the query when it is closed", async () => {
  finding.shown = true;
  await finding.find("conv_1");
  finding.close();
  expect([finding.shown, finding.total, finding.query]).toEqual([false, 0, "tide"]);
});

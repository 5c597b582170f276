import { flushSync } from "svelte";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";

import type { Phase } from "../../src/stores/chat.svelte";
import { Queue } from "../../src/stores/queue.svelte";
import { message } from "../fake_server";

/** The parts of a chat that a test sets. */
class OpenChat {
  id = $state<string | null>("conv_1");
  phase = $state<Phase>("answering");
  messages = $state([{ ...message(), key: "a", sibling_ids: [] }]);

  end(status: "complete" | "cancelled" | "failed" | "incomplete"): void {
    this.messages.at(-1)!.status = status;
    this.phase = "idle";
    flushSync();
  }
}

let chat: OpenChat;
let sent: number;

function followed(): Queue {
  const queue = new Queue(chat, { text: "And then?", files: [] });
  onTestFinished(queue.follow(() => sent++));
  flushSync();
  return queue;
}

beforeEach(() => {
  sessionStorage.clear();
  chat = new OpenChat();
  sent = 0;
});

describe("a queued message", () => {
  it("is sent once the answer is complete", () => {
    const queue = followed();
    queue.add();
    expect([queue.shown, sent]).toEqual([true, 0]);

    chat.end("complete");

    expect([queue.state, sent]).toEqual(["none", 1]);
  });

  it.each(["cancelled", "failed", "incomplete"] as const)("is held after an answer that is %s", (status) => {
    const queue = followed();
    queue.add();

    chat.end(status);

    expect([queue.state, sent]).toEqual(["held", 0]);
  });

  it("is sent after a stopped answer, if the person wanted it sent now", () => {
    const queue = followed();
    queue.add();
    queue.hurry();
    expect(sent).toBe(0);

    chat.end("cancelled");

    expect([queue.state, sent]).toEqual(["none", 1]);
  });

  it("survives a reload, and is sent by the new page once", () => {
    followed().add();
    chat = new OpenChat();
    const queue = followed();
    expect(queue.state).toBe("waiting");

    chat.end("complete");

    expect(sent).toBe(1);
  });

  it("is held if its answer ended before the chat was opened", () => {
    followed().add();
    chat = new OpenChat();
    chat.end("complete");

    expect([followed().state, sent]).toEqual(["held", 0]);
  });

  it("stays with its chat", () => {
    const queue = followed();
    queue.add();

    chat.id = "conv_2";
    flushSync();
    expect(queue.state).toBe("none");

    chat.id = "conv_1";
    flushSync();
    expect(queue.state).toBe("waiting");
  });
});

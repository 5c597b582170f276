import { flushSync } from "svelte";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";

import type { Phase } from "../../src/stores/chat.svelte";
import { Queue } from "../../src/stores/queue.svelte";
import type { Attachment } from "../../src/services/chat/attachments";
import { message } from "../fake_server";

/** The parts of a chat that a test sets. */
class OpenChat {
  id = $state<string | null>("conv_1");
  phase = $state<Phase>("answering");
  messages = $state([{ ...message(), key: "a", place: 0, sibling_ids: [] }]);

  end(status: "complete" | "cancelled" | "failed" | "incomplete"): void {
    this.messages.at(-1)!.status = status;
    this.phase = "idle";
    flushSync();
  }
}

/** A draft. The tests remove the messages that are sent. */
class Draft {
  text = $state("And then?");
  files = $state.raw<readonly Attachment[]>([]);

  replace(text: string, files: readonly Attachment[]): void {
    this.text = text;
    this.files = files;
  }
}

let chat: OpenChat;
let draft: Draft;
let sent: string[];

function followed(): Queue {
  const queue = new Queue(chat, draft);
  onTestFinished(
    queue.follow(() => {
      const { text, files } = queue.shift()!;
      sent.push(text);
      draft.replace(draft.text.slice(text.length).replace(/^\n\n/, ""), draft.files.slice(files.length));
    }),
  );
  flushSync();
  return queue;
}

/** Type a message behind the queued ones, and queue it. */
function add(queue: Queue, text: string, files: readonly Attachment[] = []): void {
  draft.replace(queue.draftWith(text), [...draft.files, ...files]);
  queue.add();
}

const texts = (queue: Queue) => queue.messages.map(({ text }) => text);

beforeEach(() => {
  sessionStorage.clear();
  chat = new OpenChat();
  draft = new Draft();
  sent = [];
});

describe("a queued message", () => {
  it("is sent once the answer is complete", () => {
    const queue = followed();
    queue.add();
    expect([texts(queue), queue.typed.text, sent]).toEqual([["And then?"], "", []]);

    chat.end("complete");

    expect([queue.state, sent]).toEqual(["none", ["And then?"]]);
  });

  it.each(["cancelled", "failed", "incomplete"] as const)("is held after an answer that is %s", (status) => {
    const queue = followed();
    queue.add();

    chat.end(status);

    expect([queue.state, sent]).toEqual(["held", []]);
  });

  it("is sent after a stopped answer, if the person wanted it sent now", () => {
    const queue = followed();
    queue.add();
    queue.hurry();
    expect(sent).toEqual([]);

    chat.end("cancelled");

    expect([queue.state, sent]).toEqual(["none", ["And then?"]]);
  });

  it("survives a reload, and is sent by the new page once", () => {
    followed().add();
    chat = new OpenChat();
    const queue = followed();
    expect(queue.state).toBe("waiting");

    chat.end("complete");

    expect(sent).toEqual(["And then?"]);
  });

  it("is held if its answer ended before the chat was opened", () => {
    followed().add();
    chat = new OpenChat();
    chat.end("complete");

    expect([followed().state, sent]).toEqual(["held", []]);
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

describe("several queued messages", () => {
  const file = (name: string): Attachment => ({ name, text: name });

  it("are sent one after another, each after the answer before it", () => {
    const queue = followed();
    queue.add();
    add(queue, "And after that?");
    chat.end("complete");
    expect([sent, texts(queue), queue.state]).toEqual([["And then?"], ["And after that?"], "waiting"]);

    chat.phase = "answering";
    flushSync();
    chat.end("complete");

    expect([sent, queue.state]).toEqual([["And then?", "And after that?"], "none"]);
  });

  it("keep their own files, apart from those of the message being typed", () => {
    const queue = followed();
    draft.files = [file("a.txt")];
    queue.add();
    add(queue, "", [file("b.txt")]);
    draft.replace(queue.draftWith("typed"), [...draft.files, file("c.txt")]);

    expect(queue.messages.map(({ files }) => files.map(({ name }) => name))).toEqual([["a.txt"], ["b.txt"]]);
    expect([queue.typed.text, queue.typed.files.map(({ name }) => name)]).toEqual(["typed", ["c.txt"]]);
  });

  it("are edited and removed one by one", () => {
    const queue = followed();
    queue.add();
    add(queue, "Second");
    add(queue, "Third");
    draft.text = queue.draftWith("typed");

    queue.remove(1);
    expect([texts(queue), queue.typed.text]).toEqual([["And then?", "Third"], "typed"]);

    queue.edit(0);
    expect([texts(queue), queue.typed.text]).toEqual([["Third"], "And then?\n\ntyped"]);
  });

  it("stay behind a message that is sent before them", () => {
    const queue = followed();
    queue.add();
    draft.text = queue.draftWith("First of all");
    chat.end("cancelled");

    expect(queue.bringForward().text).toBe("First of all");
    expect(draft.text).toBe("First of all\n\nAnd then?");
  });

  it("are a draft again where another tab has changed the draft", () => {
    const queue = followed();
    queue.add();

    draft.text = "Something else";

    expect([texts(queue), queue.typed.text]).toEqual([[], "Something else"]);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { UnreachableError } from "../../src/services/api/errors";
import { joinContent } from "../../src/services/chat/attachments";
import { Drafts } from "../../src/stores/drafts.svelte";
import { FakeApi } from "../fake_server";

let api: FakeApi;
let drafts: Drafts;
let stored: string;

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  sessionStorage.clear();
  stored = "";
  api = new FakeApi();
  vi.spyOn(api, "draft").mockImplementation(() => Promise.resolve({ text: stored, updated_at: null }));
  vi.spyOn(api, "putDraft").mockImplementation((_id, text) => Promise.resolve({ text: (stored = text), updated_at: 1 }));
  drafts = new Drafts(api);
});
afterEach(() => vi.useRealTimers());

describe("a draft", () => {
  it("moves from the browser to the server after typing", async () => {
    await drafts.open("conv_1");
    drafts.type("half");
    expect(localStorage.length).toBe(1);

    await vi.runAllTimersAsync();

    expect(stored).toBe("half");
    expect(localStorage.length).toBe(0);
  });

  it("that never reached the server is restored and saved", async () => {
    vi.spyOn(api, "putDraft").mockRejectedValueOnce(new UnreachableError());
    await drafts.open("conv_1");
    drafts.type("half");
    await vi.runAllTimersAsync();

    const reloaded = new Drafts(api);
    await reloaded.open("conv_1");
    await vi.runAllTimersAsync();

    expect(reloaded.text).toBe("half");
    expect(stored).toBe("half");
  });

  it("of another tab is shown, unless there is newer text here", async () => {
    await drafts.open("conv_1");
    stored = "from the other tab";
    await drafts.refresh();
    expect(drafts.text).toBe("from the other tab");

    drafts.type("mine");
    stored = "theirs";
    await drafts.refresh();
    expect(drafts.text).toBe("mine");
  });

  it("leaves the browser only after its message has arrived", async () => {
    await drafts.open(null);
    drafts.type("a question");
    await drafts.take();
    await vi.runAllTimersAsync();
    expect(drafts.text).toBe("");
    expect(stored).toBe("");
    expect(localStorage.length).toBe(1);

    drafts.onSent("a question");
    expect(localStorage.length).toBe(0);
  });
});

describe("a refused question", () => {
  const notes = { name: "notes.txt", text: "low tide" };

  it("moves with its files from the empty page to its own chat", async () => {
    const kept = new Map<string | null, string>();
    vi.spyOn(api, "draft").mockImplementation((id) => Promise.resolve({ text: kept.get(id) ?? "", updated_at: null }));
    vi.spyOn(api, "putDraft").mockImplementation((id, text) => {
      kept.set(id, text);
      return Promise.resolve({ text, updated_at: 1 });
    });
    await drafts.open(null);
    drafts.type("too long");
    await drafts.attach(Promise.resolve(notes));
    await drafts.take();
    await drafts.open("conv_1");
    await drafts.onRefused(joinContent("too long", [notes]), "conv_1");

    expect([localStorage.getItem("ebb-draft:"), sessionStorage.length, kept.get(null)]).toEqual([null, 0, ""]);
    const elsewhere = new Drafts(api);
    await elsewhere.open("conv_1");
    expect([elsewhere.text, elsewhere.files]).toEqual(["too long", [notes]]);
    await elsewhere.open(null);
    expect([elsewhere.text, elsewhere.files]).toEqual(["", []]);
  });
});

describe("files of a draft", () => {
  const notes = { name: "notes.txt", text: "low tide" };
  const log = { name: "log.csv", text: "day,wind" };

  it("stay with their chat, however slowly they are read", async () => {
    const reading = Promise.withResolvers<typeof notes>();
    await drafts.open("conv_1");
    await drafts.attach(Promise.resolve(log));
    const attached = drafts.attach(reading.promise);

    await drafts.open("conv_2");
    reading.resolve(notes);
    await attached;
    expect(drafts.files).toEqual([]);

    await drafts.open("conv_1");
    expect(drafts.files).toEqual([log, notes]);
    drafts.detach(drafts.files[0]!);
    expect(drafts.files).toEqual([notes]);
  });

  it("survive a reload until their message has arrived", async () => {
    await drafts.open(null);
    drafts.type("When?");
    await drafts.attach(Promise.resolve(notes));
    await drafts.take();
    expect(drafts.files).toEqual([]);
    const reloaded = new Drafts(api);
    await reloaded.open(null);
    expect(reloaded.files).toEqual([notes]);

    drafts.onSent("another message");
    expect(sessionStorage.length).toBe(1);
    drafts.onSent('When?\n\n<file name="notes.txt">\nlow tide\n</file>');
    expect(sessionStorage.length).toBe(0);
  });

  it("of an unsent message return in front of newer ones", async () => {
    await drafts.open("conv_1");
    drafts.type("And where?");
    await drafts.attach(Promise.resolve(log));
    drafts.restore('When?\n\n<file name="notes.txt">\nlow tide\n</file>');
    expect(drafts.text).toBe("When?\n\nAnd where?");
    expect(drafts.files).toEqual([notes, log]);
  });

  it("of a previous person are dropped by a tab that missed the log-out", async () => {
    await drafts.open(null);
    await drafts.attach(Promise.resolve(notes));
    expect(sessionStorage.length).toBe(1);
    // Another tab logged out, which is seen in what all tabs share alone.
    localStorage.clear();

    const reloaded = new Drafts(api);
    await reloaded.open(null);
    expect(reloaded.files).toEqual([]);
    expect(sessionStorage.length).toBe(0);
    await reloaded.attach(Promise.resolve(log));
    expect(reloaded.files).toEqual([log]);
  });

  it("are not stored if reading ends after the log-out", async () => {
    const reading = Promise.withResolvers<typeof notes>();
    await drafts.open("conv_1");
    const attached = drafts.attach(reading.promise);
    drafts.type("half");
    drafts.forget();
    reading.resolve(notes);
    await attached;
    drafts.restore("half");
    await vi.runAllTimersAsync();
    expect([drafts.text, drafts.files, localStorage.length, sessionStorage.length]).toEqual(["", [], 0, 0]);
  });

  it("are erased with the text at log-out", async () => {
    localStorage.setItem("ebb-theme", "dark");
    await drafts.open("conv_1");
    await drafts.attach(Promise.resolve(notes));
    drafts.type("half");
    drafts.forget();
    await vi.runAllTimersAsync();
    expect([Object.keys(localStorage), sessionStorage.length, stored]).toEqual([["ebb-theme"], 0, ""]);
  });
});

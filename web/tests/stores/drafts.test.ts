import { beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError, UnreachableError } from "../../src/services/api/errors";
import { joinContent } from "../../src/services/chat/attachments";
import { Drafts, MAX_BYTES } from "../../src/stores/drafts.svelte";
import { FakeApi } from "../fake_server";

let api: FakeApi;
let drafts: Drafts;
let stored: string;
let emptied: string[];

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  sessionStorage.clear();
  stored = "";
  api = new FakeApi();
  vi.spyOn(api, "draft").mockImplementation(() => Promise.resolve({ text: stored, updated_at: null }));
  vi.spyOn(api, "putDraft").mockImplementation((_id, text) => Promise.resolve({ text: (stored = text), updated_at: 1 }));
  emptied = [];
  drafts = new Drafts(api, (id) => emptied.push(id));
});

/** Let the pause after typing and a slow answer pass. Not all timers: some of the environment may come again for ever. */
async function pausePasses(): Promise<void> {
  await vi.advanceTimersByTimeAsync(10_000);
}

describe("a draft", () => {
  it("moves from the browser to the server after typing", async () => {
    await drafts.open("conv_1");
    drafts.type("half");
    expect(localStorage.length).toBe(1);

    await pausePasses();

    expect(stored).toBe("half");
    expect(localStorage.length).toBe(0);
  });

  it("that never reached the server is restored and saved", async () => {
    vi.spyOn(api, "putDraft").mockRejectedValueOnce(new UnreachableError());
    await drafts.open("conv_1");
    drafts.type("half");
    await pausePasses();

    const reloaded = new Drafts(api);
    await reloaded.open("conv_1");
    await pausePasses();

    expect(reloaded.text).toBe("half");
    expect(stored).toBe("half");
  });

  it("that was restored without a connection is saved and cleared on the server, too", async () => {
    stored = "AAA";
    localStorage.setItem("ebb-draft:conv_1", "AAA BBB");
    const put = vi.spyOn(api, "putDraft").mockRejectedValue(new UnreachableError());
    await drafts.open("conv_1");
    await pausePasses();
    expect([drafts.text, stored]).toEqual(["AAA BBB", "AAA"]);

    put.mockImplementation((_id, text) => Promise.resolve({ text: (stored = text), updated_at: 1 }));
    await drafts.refresh();
    await pausePasses();
    expect(stored).toBe("AAA BBB");

    put.mockRejectedValueOnce(new UnreachableError());
    drafts.type("AAA BBB CCC");
    await pausePasses();
    drafts.type("");
    await pausePasses();
    expect([stored, localStorage.length]).toEqual(["", 0]);
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

  it("is kept in front of what is typed before it is here", async () => {
    stored = "from yesterday";
    const opened = drafts.open("conv_1");
    drafts.type("more");
    await vi.advanceTimersByTimeAsync(0);
    await opened;
    await pausePasses();

    expect(drafts.text).toBe("from yesterday\n\nmore");
    expect(stored).toBe("from yesterday\n\nmore");
  });

  it("is not replaced while its answer is slow", async () => {
    stored = "from yesterday";
    vi.spyOn(api, "draft").mockImplementation(
      () => new Promise((resolve) => setTimeout(() => resolve({ text: stored, updated_at: null }), 2_000)),
    );
    const opened = drafts.open("conv_1");
    drafts.type("more");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stored).toBe("from yesterday");

    await pausePasses();
    await opened;

    expect(drafts.text).toBe("from yesterday\n\nmore");
    expect(stored).toBe("from yesterday\n\nmore");
  });

  it("leaves the browser only after its message has arrived", async () => {
    await drafts.open(null);
    drafts.type("a question");
    await drafts.take();
    await pausePasses();
    expect(drafts.text).toBe("");
    expect(stored).toBe("");
    expect(localStorage.length).toBe(1);

    drafts.onSent("a question");
    expect(localStorage.length).toBe(0);
  });
});

describe("a question that has not arrived", () => {
  const notes = { name: "notes.txt", text: "low tide" };
  const content = joinContent("too long", [notes]);
  let kept: Map<string | null, string>;

  beforeEach(async () => {
    kept = new Map();
    vi.spyOn(api, "draft").mockImplementation((id) => Promise.resolve({ text: kept.get(id) ?? "", updated_at: null }));
    vi.spyOn(api, "putDraft").mockImplementation((id, text) => {
      kept.set(id, text);
      return Promise.resolve({ text, updated_at: 1 });
    });
    await drafts.open(null);
    drafts.type("too long");
    drafts.attach(notes);
    await pausePasses();
    await drafts.take();
    await drafts.onCreated(content, "conv_1");
    await drafts.open("conv_1");
  });

  it("is kept by its own chat with its files, in every browser", async () => {
    expect([drafts.text, drafts.files, kept.get(null), localStorage.getItem("ebb-draft:")]).toEqual(["", [], "", null]);
    drafts.onRefused(content);
    await pausePasses();
    expect(kept.get("conv_1")).toBe(content);

    sessionStorage.clear();
    const elsewhere = new Drafts(api);
    await elsewhere.open("conv_1");
    expect([elsewhere.text, elsewhere.files]).toEqual(["too long", [notes]]);
    await elsewhere.open(null);
    expect([elsewhere.text, elsewhere.files]).toEqual(["", []]);
  });

  it("survives a reload at any moment, in front of the text typed since", async () => {
    const reloaded = new Drafts(api);
    await reloaded.open("conv_1");
    expect([reloaded.text, reloaded.files]).toEqual(["too long", [notes]]);

    drafts.onRefused(content);
    drafts.type("shorter");
    await pausePasses();
    expect(drafts.text).toBe("shorter");
    await reloaded.open("conv_1");
    expect(reloaded.text).toBe("too long\n\nshorter");
  });

  it("returns to the field when its chat is opened again after a refusal", async () => {
    await drafts.open("conv_2");
    drafts.onRefused(content);
    expect([drafts.text, kept.get("conv_2")]).toEqual(["", undefined]);
    await drafts.open("conv_1");
    expect([drafts.text, drafts.files]).toEqual(["too long", [notes]]);
  });

  it("is discarded once its text and its files are removed, here and on the server", async () => {
    drafts.onRefused(content);
    drafts.restore(content);
    drafts.type("");
    await pausePasses();
    expect(emptied).toEqual([]);
    drafts.detach(drafts.files[0]!);
    await pausePasses();
    expect([emptied, kept.get("conv_1")]).toEqual([["conv_1"], ""]);
  });

  it("is discarded if its chat is left at once, and not if newer text is typed at once", async () => {
    drafts.onRefused(content);
    drafts.restore(content);
    drafts.clear();
    vi.advanceTimersToNextTimer();
    drafts.type("shorter");
    await pausePasses();
    expect([emptied, kept.get("conv_1")]).toEqual([[], "shorter"]);

    drafts.clear();
    await drafts.open(null);
    await pausePasses();
    expect([emptied, kept.get("conv_1")]).toEqual([["conv_1"], ""]);
  });

  it("is forgotten once it arrives, and the text typed since stays", async () => {
    drafts.type("next");
    await pausePasses();
    expect(kept.get("conv_1")).toBe("too long\n\nnext");
    drafts.onSent(content);
    await pausePasses();
    expect([drafts.text, kept.get("conv_1"), localStorage.length - 1, sessionStorage.length]).toEqual(["next", "next", 0, 0]);
  });

  it("may be an edited one", async () => {
    drafts.onSent(content);
    drafts.hold("edited");
    drafts.onRefused("edited");
    await pausePasses();
    expect([drafts.text, kept.get("conv_1")]).toEqual(["", "edited"]);
    drafts.onSent("edited");
    await pausePasses();
    expect(kept.get("conv_1")).toBe("");
  });
});

describe("a question whose earlier state was saved", () => {
  /** Type a beginning, let it be saved, and send the whole at once. */
  async function ask(beginning: string, whole: string): Promise<void> {
    await drafts.open(null);
    drafts.type(beginning);
    await pausePasses();
    drafts.type(whole);
    await drafts.take();
    await drafts.onCreated(whole, "conv_1");
  }

  it("does not come back to the empty page", async () => {
    await ask("Say", "Say hello.");
    expect(stored).toBe("");
  });

  it("leaves what another browser typed since", async () => {
    vi.spyOn(api, "draft").mockResolvedValue({ text: "elsewhere", updated_at: 2 });
    await ask("Say", "Say hello.");
    expect(stored).toBe("Say");
  });
});

describe("a draft without room", () => {
  it("is only one that cannot be sent", async () => {
    await drafts.open("conv_1");
    const largest = "x".repeat(MAX_BYTES - '{"text":""}'.length);
    drafts.type(largest);
    expect(drafts.overflow).toBe(null);
    drafts.type(`${largest.slice(1)}é`);
    expect(drafts.overflow).toBe("server");
  });

  it("on the server is announced at once and stays in the browser", async () => {
    await drafts.open("conv_1");
    drafts.type("x".repeat(MAX_BYTES));
    expect(drafts.overflow).toBe("server");
    await pausePasses();
    expect([stored, localStorage.getItem("ebb-draft:conv_1")?.length]).toEqual(["", MAX_BYTES]);
    drafts.type("short");
    expect(drafts.overflow).toBe(null);
  });

  it("on the server is discarded like others", async () => {
    await drafts.open("conv_1");
    drafts.type("x".repeat(MAX_BYTES));
    await vi.runOnlyPendingTimersAsync();
    drafts.type("");
    await vi.runOnlyPendingTimersAsync();
    expect(emptied).toEqual(["conv_1"]);
  });

  it("is none that the server refuses for another reason, which is named", async () => {
    vi.spyOn(api, "putDraft").mockRejectedValue(new ApiError(400, { message: "No such field", code: "invalid_value" }));
    await drafts.open("conv_1");
    drafts.type("half");
    await pausePasses();
    expect(drafts.overflow).toMatchObject({ what: "No such field." });
    drafts.type("half a thought");
    expect(drafts.overflow).toBe(null);

    vi.spyOn(api, "putDraft").mockRejectedValue(new ApiError(413, { message: "Too large" }));
    await pausePasses();
    expect(drafts.overflow).toBe("server");
  });

  it("in the browser is announced at once", async () => {
    await drafts.open("conv_1");
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("", "QuotaExceededError");
    });
    drafts.type("much");
    expect([drafts.text, drafts.overflow]).toEqual(["much", "browser"]);
  });
});

describe("files of a draft", () => {
  const notes = { name: "notes.txt", text: "low tide" };
  const log = { name: "log.csv", text: "day,wind" };

  it("stay with their chat, however slowly they are read", async () => {
    const { file, arrive } = slowFile();
    await drafts.open("conv_1");
    drafts.attach(log);
    const attached = drafts.read([file]);
    expect(drafts.reading).toBe(true);

    await drafts.open("conv_2");
    expect(drafts.reading).toBe(false);
    arrive();
    await attached;
    expect(drafts.files).toEqual([]);

    await drafts.open("conv_1");
    expect(drafts.files).toEqual([log, notes]);
    drafts.detach(drafts.files[0]!);
    expect(drafts.files).toEqual([notes]);
  });

  it("are refused one by one, each with its reason", async () => {
    await drafts.open("conv_1");
    const folder = Object.assign(new File([], "folder"), { slice: () => ({ arrayBuffer: () => Promise.reject(new DOMException("", "NotFoundError")) }) });
    const refused = await drafts.read([new File(["a\0b"], "a.png"), new File(["low tide"], "notes.txt"), folder]);
    expect(refused).toEqual([
      "a.png is not a text file, PDF, docx, xlsx, pptx or epub. The model reads text only: save a document in one of these formats.",
      "folder cannot be opened. If it is a folder, choose the files in it; otherwise choose it again.",
    ]);
    expect([drafts.files, drafts.reading]).toEqual([[notes], false]);
  });

  it("survive a reload until their message has arrived", async () => {
    await drafts.open(null);
    drafts.type("When?");
    drafts.attach(notes);
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
    drafts.attach(log);
    drafts.restore('When?\n\n<file name="notes.txt">\nlow tide\n</file>');
    expect(drafts.text).toBe("When?\n\nAnd where?");
    expect(drafts.files).toEqual([notes, log]);
  });

  it("of a previous person are dropped by a tab that missed the log-out", async () => {
    await drafts.open(null);
    drafts.attach(notes);
    expect(sessionStorage.length).toBe(1);
    // Another tab logged out, which is seen in what all tabs share alone.
    localStorage.clear();

    const reloaded = new Drafts(api);
    await reloaded.open(null);
    expect(reloaded.files).toEqual([]);
    expect(sessionStorage.length).toBe(0);
    reloaded.attach(log);
    expect(reloaded.files).toEqual([log]);
  });

  it("are not stored if reading ends after the log-out", async () => {
    const { file, arrive } = slowFile();
    await drafts.open("conv_1");
    const attached = drafts.read([file]);
    drafts.type("half");
    drafts.forget();
    arrive();
    await attached;
    drafts.restore("half");
    await pausePasses();
    expect([drafts.text, drafts.files, localStorage.length, sessionStorage.length]).toEqual(["", [], 0, 0]);
  });

  it("are erased with the text at log-out", async () => {
    localStorage.setItem("ebb-theme", "dark");
    await drafts.open("conv_1");
    drafts.attach(notes);
    drafts.type("half");
    drafts.forget();
    await pausePasses();
    expect([Object.keys(localStorage), sessionStorage.length, stored]).toEqual([["ebb-theme"], 0, ""]);
  });
});

/** Return a file whose content arrives when `arrive` is called. */
function slowFile(): { file: File; arrive: () => void } {
  const { promise, resolve } = Promise.withResolvers<ArrayBuffer>();
  const file = Object.assign(new File([], "notes.txt"), { arrayBuffer: () => promise });
  return { file, arrive: () => resolve(new TextEncoder().encode("low tide").buffer) };
}

import { beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import { moment, monthName, periodOf } from "../../src/services/format/dates";
import { Conversations } from "../../src/stores/conversations.svelte";
import { markMatches, Search } from "../../src/stores/search.svelte";
import { conversation, FakeApi } from "../fake_server";

let api: FakeApi;
let conversations: Conversations;
const chat = (id: string, updated_at: number, changes = {}) => conversation({ id, updated_at, ...changes });
const ids = () => conversations.known.map(({ id }) => id);

beforeEach(async () => {
  api = new FakeApi();
  conversations = new Conversations(api);
  api.chats = [chat("new", 2), chat("old", 1)];
  await conversations.load();
});

describe("the list of chats", () => {
  it("moves a pinned chat up at once, and back if the server refuses", async () => {
    let refuse!: (error: Error) => void;
    vi.spyOn(api, "changeConversation").mockReturnValue(new Promise((_, reject) => (refuse = reject)));

    const changed = conversations.change("old", { pinned: true });
    expect(ids()).toEqual(["old", "new"]);
    refuse(new ApiError(500, { message: "The disk is full" }));

    await expect(changed).rejects.toThrow("disk");
    expect(ids()).toEqual(["new", "old"]);
  });

  it("keeps a renamed chat where it is, also among chats of the same time", async () => {
    api.chats = [chat("c", 1), chat("b", 1), chat("a", 1)];
    await conversations.load();
    vi.spyOn(api, "changeConversation").mockResolvedValue(chat("b", 1, { title: "Renamed" }));
    const renamed = conversations.change("b", { title: "Renamed" });
    expect(ids()).toEqual(["c", "b", "a"]);
    await renamed;
    expect(ids()).toEqual(["c", "b", "a"]);
  });

  it("knows the open chat, also once it is archived", async () => {
    conversations.put(chat("old", 1));
    vi.spyOn(api, "changeConversation").mockResolvedValue(chat("old", 1, { archived: true, version: 2 }));
    await conversations.change("old", { archived: true });
    expect(ids()).toEqual(["new"]);
    expect(conversations.find("old")?.archived).toBe(true);
    expect(conversations.find("new")?.id).toBe("new");
    expect(conversations.find("gone")).toBeUndefined();
    expect(conversations.find(null)).toBeUndefined();
  });

  it("keeps the newest version, whatever arrives last", async () => {
    vi.spyOn(api, "changeConversation").mockImplementation(() => {
      conversations.put(chat("old", 1, { title: "Elsewhere", version: 3 }));
      return Promise.resolve(chat("old", 1, { title: "Here", version: 2 }));
    });
    await conversations.change("old", { title: "Here" });
    expect(conversations.find("old")?.title).toBe("Elsewhere");
  });

  it("drops archived chats, and the archive drops restored ones", async () => {
    conversations.put(chat("new", 3, { archived: true }));
    expect(ids()).toEqual(["old"]);

    api.chats = [chat("new", 3, { archived: true })];
    await conversations.showArchive(true);
    conversations.put(chat("new", 3, { archived: false }));
    expect(ids()).toEqual([]);
  });

  it("discards only chats whose question never arrived", async () => {
    const untouched = { title: "Tell me", title_source: "first_message" } as const;
    conversations.put(chat("refused", 3, untouched));
    conversations.put(chat("asked", 3, { ...untouched, version: 2 }));
    conversations.put(chat("named", 3, { title: "Mine", title_source: "user" }));
    expect(["refused", "asked", "named", "other"].filter((id) => conversations.awaitsQuestion(id))).toEqual(["refused"]);

    const discarded = vi.spyOn(api, "discardConversation").mockResolvedValue();
    await conversations.discard("refused");
    expect(discarded).toHaveBeenCalledWith("refused", 1);
    expect(ids()).not.toContain("refused");
  });

  it("shows the generated title, and stops polling", async () => {
    conversations.put(chat("new", 3, { title: "Tell me", title_source: "first_message" }));
    const asked = vi.spyOn(api, "conversation");
    api.stored = { ...chat("new", 3, { title: "Tides", title_source: "model" }), messages: [] };

    await conversations.awaitTitle("new", [0, 0, 0]);

    expect(conversations.known[0]?.title).toBe("Tides");
    expect(asked).toHaveBeenCalledTimes(1);
  });
});

describe("grouping by date", () => {
  it("has pinned chats, then calendar days, then months", () => {
    const at = (text: string) => new Date(text).getTime() / 1_000;
    const list = [
      chat("pinned", at("2026-01-01T12:00"), { pinned: true }),
      chat("today", at("2026-03-10T00:01")),
      chat("yesterday", at("2026-03-09T23:59")),
      chat("week", at("2026-03-03T01:00")),
      chat("2026-03", at("2026-03-02T23:00")),
      chat("2025-12", at("2025-12-31T23:00")),
    ];
    const now = new Date("2026-03-10T00:05");
    expect(list.map((each) => periodOf(each, now))).toEqual(list.map(({ id }) => id));
  });

  it("adds the year and the day only where they differ from now", () => {
    const now = new Date("2026-03-10T12:00");
    expect([monthName("2026-01", now), monthName("2025-12", now)]).toEqual(["January", "December 2025"]);
    const said = (text: string) => moment(new Date(text).getTime() / 1_000, now).replace(/\s/g, " ");
    expect([said("2026-03-10T00:05"), said("2026-03-09T23:05")]).toEqual(["12:05 AM", "Mar 9, 11:05 PM"]);
  });
});

describe("searching", () => {
  it("marks the matches inside a text", () => {
    expect(markMatches("high tide at noon", [[0, 4], [5, 9]])).toEqual([
      { text: "high", hit: true },
      { text: " ", hit: false },
      { text: "tide", hit: true },
      { text: " at noon", hit: false },
    ]);
  });

  it("sends one request after typing, and none for an empty field", async () => {
    vi.useFakeTimers();
    const asked = vi.spyOn(api, "search").mockResolvedValue({ conversations: [], messages: [], next_cursor: null, corrected: null });
    const search = new Search(api);
    search.type("t");
    search.type("ti");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(asked.mock.calls.map(([query]) => query)).toEqual(["ti"]);
    search.type("");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(search.found).toBeNull();
  });
});

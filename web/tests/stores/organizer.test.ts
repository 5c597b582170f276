import { beforeEach, describe, expect, it, vi } from "vitest";

import { Conversations } from "../../src/stores/conversations.svelte";
import { Organizer } from "../../src/stores/organizer.svelte";
import { conversation, FakeApi } from "../fake_server";

let api: FakeApi;
let conversations: Conversations;
let organizer: Organizer;
const shown = () => organizer.shown.map(({ id }) => id);

beforeEach(async () => {
  api = new FakeApi();
  conversations = new Conversations(api);
  organizer = new Organizer(api, conversations);
  vi.spyOn(api, "folders").mockResolvedValue([{ id: "f", name: "Sea", parent_id: null, system_prompt: null }]);
  vi.spyOn(api, "conversations").mockResolvedValue([
    conversation({ id: "pinned", folder_id: "f", pinned: true }),
    conversation({ id: "filed", folder_id: "f", tags: ["b"] }),
    conversation({ id: "free", tags: ["a", "b"] }),
    conversation({ id: "stray", folder_id: "deleted" }),
  ]);
  await Promise.all([organizer.load(), conversations.load()]);
});

describe("the organized list", () => {
  it("shows chats of a folder there, and pinned ones everywhere", () => {
    expect(shown()).toEqual(["pinned", "free", "stray"]);
    organizer.show("f");
    expect(shown()).toEqual(["pinned", "filed"]);
    expect(organizer.folder?.name).toBe("Sea");
  });

  it("shows the chats of a tag in whatever folder, until the tag is gone", () => {
    expect(organizer.tags).toEqual(["a", "b"]);
    organizer.show(null, "b");
    expect(shown()).toEqual(["filed", "free"]);
    organizer.show(null, "a");
    conversations.drop("free");
    expect(shown()).toEqual(["pinned", "stray"]);
  });

  it("shows the whole archive", () => {
    organizer.show("f");
    conversations.archived = true;
    expect(shown()).toHaveLength(4);
  });

  it("restores a deleted folder with its prompt, its chats and the folders inside it", async () => {
    const sea = { id: "f", name: "Sea", parent_id: null, system_prompt: "Speak of the sea." };
    const [inner, deep] = [{ ...sea, id: "inner", name: "Bay", parent_id: "f" }, { ...sea, id: "deep", name: "Reef", parent_id: "inner" }];
    vi.spyOn(api, "folders").mockResolvedValue([sea, inner, deep]);
    vi.spyOn(api, "conversations").mockImplementation((archived) =>
      Promise.resolve(archived ? [conversation({ id: "old", folder_id: "f" })] : [conversation({ id: "new", folder_id: "f" }), conversation({ id: "below", folder_id: "inner" })]),
    );
    const [removed, created] = [vi.spyOn(api, "deleteFolder").mockResolvedValue(), vi.spyOn(api, "createFolder").mockResolvedValue({ ...sea, id: "g" })];
    const [replaced, changed] = [vi.spyOn(api, "replaceFolder").mockResolvedValue(inner), vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] })];
    await organizer.load();

    const restore = await organizer.remove(sea);
    expect(removed).toHaveBeenCalledExactlyOnceWith("f");
    expect(await restore()).toBe("g");
    expect(created).toHaveBeenCalledExactlyOnceWith({ name: "Sea", parent_id: null, system_prompt: "Speak of the sea." });
    expect(replaced).toHaveBeenCalledExactlyOnceWith("inner", { name: "Bay", parent_id: "g", system_prompt: "Speak of the sea." });
    expect(changed).toHaveBeenCalledExactlyOnceWith(["new", "old"], { folder_id: "g" });
  });

  it("gives each chat its former folder and tags again", async () => {
    const changed = vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] });
    const chats = conversations.list.filter(({ id }) => id === "filed" || id === "free");
    const undo = await organizer.organize(chats, { folder_id: "g", add_tags: ["a"], remove_tags: ["b"] });
    expect(changed).toHaveBeenCalledExactlyOnceWith(["filed", "free"], { folder_id: "g", add_tags: ["a"], remove_tags: ["b"] });
    changed.mockClear();
    await undo();
    expect(changed.mock.calls).toEqual([
      [["filed"], { add_tags: ["b"], remove_tags: ["a"], folder_id: "f" }],
      [["free"], { add_tags: ["b"], remove_tags: [], folder_id: null }],
    ]);
  });

  it("changes many chats in several requests", async () => {
    const request = vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] });
    const ids = Array.from({ length: 501 }, (_, index) => `${index}`);
    await organizer.change(ids, { archived: true });
    expect(request.mock.calls.map(([given, changes]) => [given.length, changes])).toEqual([
      [500, { archived: true }],
      [1, { archived: true }],
    ]);
    expect(api.conversations).toHaveBeenCalledTimes(2);
  });

  it("keeps a selection of the chats that are shown", () => {
    organizer.select("free");
    organizer.toggle("stray");
    organizer.toggle("free");
    expect([...organizer.selected!]).toEqual(["stray"]);
    organizer.show("f");
    expect([...organizer.selected!]).toEqual([]);
  });
});

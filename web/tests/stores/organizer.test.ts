import { beforeEach, describe, expect, it, vi } from "vitest";

import { ApiError } from "../../src/services/api/errors";
import type { DeletedConversation, Folder } from "../../src/services/api/types";
import { Conversations } from "../../src/stores/conversations.svelte";
import { Organizer } from "../../src/stores/organizer.svelte";
import { conversation, FakeApi } from "../fake_server";

let api: FakeApi;
let conversations: Conversations;
let organizer: Organizer;
const shown = () => conversations.known.map(({ id }) => id);
const sea = { id: "f", name: "Sea", parent_id: null, system_prompt: "Speak of the sea." };

beforeEach(async () => {
  api = new FakeApi();
  conversations = new Conversations(api);
  organizer = new Organizer(api, conversations);
  api.storedFolders = [sea];
  api.chats = [
    conversation({ id: "pinned", folder_id: "f", pinned: true }),
    conversation({ id: "filed", folder_id: "f", tags: ["b"] }),
    conversation({ id: "free", tags: ["a", "b"] }),
    conversation({ id: "old", archived: true, tags: ["c"] }),
  ];
  await Promise.all([organizer.load(), conversations.load()]);
});

describe("the organized list", () => {
  it("shows chats of a folder there, and pinned ones everywhere", async () => {
    expect(shown()).toEqual(["pinned", "free"]);
    await organizer.show("f");
    expect(shown()).toEqual(["pinned", "filed"]);
    expect([organizer.folder?.name, organizer.countOf("f"), organizer.systemPrompt]).toEqual(["Sea", 2, "Speak of the sea."]);
  });

  it("shows the chats of a tag in whatever folder, until the tag is gone", async () => {
    expect(organizer.tags).toEqual(["a", "b"]);
    await organizer.show(null, "b");
    expect(shown()).toEqual(["free", "filed"]);
    await organizer.show(null, "a");
    api.chats = api.chats.filter(({ id }) => id !== "free");
    await organizer.load();
    expect([organizer.tag, shown()]).toEqual([null, ["pinned"]]);
  });

  it("shows the chats outside of folders once the shown folder is deleted elsewhere", async () => {
    await organizer.show("f");
    [api.storedFolders, api.chats] = [[], [conversation({ id: "free" })]];
    await organizer.load();
    expect([organizer.folderId, shown()]).toEqual([null, ["free"]]);
  });

  it("knows a new folder once its reading ends, although another reading has begun since", async () => {
    const answers: ((folders: Folder[]) => void)[] = [];
    vi.spyOn(api, "folders").mockImplementation(() => new Promise((resolve) => answers.push((data) => resolve({ data, counts: {}, tags: [] }))));
    const bay = { ...sea, id: "bay", name: "Bay" };
    const created = organizer.load();
    void organizer.load();
    answers[0]!([sea, bay]);
    setTimeout(() => answers[1]!([sea, bay]));
    await created;
    await organizer.show("bay");
    expect(organizer.folder?.name).toBe("Bay");
  });

  it("shows the whole archive, and the folder again after it", async () => {
    await organizer.show("f");
    await conversations.showArchive(true);
    expect(shown()).toEqual(["old"]);
    await conversations.showArchive(false);
    expect(shown()).toEqual(["pinned", "filed"]);
  });

  it("reads folders and tags again when a chat that has some changes elsewhere", async () => {
    const read = vi.spyOn(api, "folders");
    conversations.onReread = () => void organizer.load();
    conversations.put(conversation({ id: "plain" }));
    conversations.drop("plain");
    expect(read).not.toHaveBeenCalled();
    api.chats = [...api.chats, conversation({ id: "far", tags: ["z"] })];
    conversations.put(api.chats.at(-1)!);
    await vi.waitFor(() => expect(organizer.tags).toEqual(["a", "b", "z"]));
    conversations.drop("far");
    expect(read).toHaveBeenCalledTimes(2);
  });

  it("restores a deleted folder with its prompt, its chats and the folders inside it", async () => {
    const [inner, deep] = [{ ...sea, id: "inner", name: "Bay", parent_id: "f" }, { ...sea, id: "deep", name: "Reef", parent_id: "inner" }];
    api.storedFolders = [sea, inner, deep];
    api.chats = ["f", "inner"].map((folder_id) => conversation({ id: `in ${folder_id}`, folder_id }));
    api.chats.push(conversation({ id: "old", folder_id: "f", archived: true }));
    const [removed, created] = [vi.spyOn(api, "deleteFolder").mockResolvedValue(), vi.spyOn(api, "createFolder").mockResolvedValue({ ...sea, id: "g" })];
    const [replaced, changed] = [vi.spyOn(api, "replaceFolder").mockResolvedValue(inner), vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] })];
    await organizer.load();

    const { numChats, restore } = await organizer.remove(sea);
    expect(numChats).toBe(2);
    expect(removed).toHaveBeenCalledExactlyOnceWith("f");
    expect(await restore()).toBe("g");
    expect(created).toHaveBeenCalledExactlyOnceWith({ name: "Sea", parent_id: null, system_prompt: "Speak of the sea." });
    expect(replaced).toHaveBeenCalledExactlyOnceWith("inner", { name: "Bay", parent_id: "g", system_prompt: "Speak of the sea." });
    expect(changed).toHaveBeenCalledExactlyOnceWith(["in f", "old"], { folder_id: "g" });
  });

  it("gives each chat its former folder and tags again", async () => {
    const changed = vi.spyOn(api, "changeConversations").mockResolvedValue({ changed: [], missing: [] });
    const chats = api.chats.filter(({ id }) => id === "filed" || id === "free");
    await organizer.giveBack(chats, { folder_id: "g", add_tags: ["a"], remove_tags: ["b"] });
    expect(changed.mock.calls).toEqual([
      [["filed"], { add_tags: ["b"], remove_tags: ["a"], folder_id: "f" }],
      [["free"], { add_tags: ["b"], remove_tags: [], folder_id: null }],
    ]);
  });

  it("changes many chats in several requests, and says which still existed", async () => {
    const request = vi.spyOn(api, "changeConversations").mockImplementation((ids) => Promise.resolve({ changed: ids.slice(1), missing: [ids[0]!] }));
    const ids = Array.from({ length: 502 }, (_, index) => `${index}`);
    const [before, changed] = [api.listPages.length, [] as string[]];
    await organizer.change(ids, { archived: true }, (part) => changed.push(...part));
    expect(changed).toEqual(ids.filter((id) => id !== "0" && id !== "500"));
    expect(request.mock.calls.map(([given, changes]) => [given.length, changes])).toEqual([
      [500, { archived: true }],
      [2, { archived: true }],
    ]);
    expect(api.listPages).toHaveLength(before + 1);
  });

  it("rereads the list also if a part of a change fails", async () => {
    vi.spyOn(api, "changeConversations").mockRejectedValue(new ApiError(507, { message: "The disk is full" }));
    const before = api.listPages.length;
    await expect(organizer.change(["a"], { archived: true })).rejects.toThrow("The disk is full");
    expect(api.listPages).toHaveLength(before + 1);
  });

  it("restores what was deleted after a time, page by page", async () => {
    const deleted = (id: number) => ({ id: `${id}`, deleted_at: id }) as DeletedConversation;
    const pages: Record<string, DeletedConversation[]> = { "": [deleted(9), deleted(8)], 8: [deleted(7), deleted(6)], 6: [deleted(5)] };
    const read = vi.spyOn(api, "deletedConversations").mockImplementation((cursor) => {
      const data = pages[cursor ?? ""]!;
      return Promise.resolve({ data, next_cursor: data.at(-1)!.id });
    });
    const request = vi.spyOn(api, "changeConversations").mockImplementation((ids) => Promise.resolve({ changed: [...ids], missing: [] }));
    const restored: string[] = [];
    await organizer.restoreDeleted(6, (ids) => restored.push(...ids));
    expect(restored).toEqual(["9", "8", "7"]);
    expect(read.mock.calls).toEqual([[null, 500], ["8", 500]]);
    expect(request.mock.calls.map(([, changes]) => changes)).toEqual([{ deleted: false }, { deleted: false }]);
  });

  it("keeps a selection until another list is shown", async () => {
    const [free, filed] = ["free", "filed"].map((id) => api.chats.find((chat) => chat.id === id)!);
    organizer.select(free!);
    organizer.toggle(filed!);
    organizer.toggle(free!);
    expect([...organizer.selected!.keys()]).toEqual(["filed"]);
    organizer.targets = ["filed", "free", "nowhere"];
    expect(organizer.targeted.map(({ id, folder_id }) => [id, folder_id])).toEqual([["filed", "f"], ["free", null]]);
    await organizer.show("f");
    expect([...organizer.selected!]).toEqual([]);
  });

  it("selects all chats of the list, also those that were not read", async () => {
    api.chats = Array.from({ length: 350 }, (_, index) => conversation({ id: `c${index}`, updated_at: index, tags: index === 0 ? ["a"] : [] }));
    await conversations.load();
    expect(conversations.known).toHaveLength(100);
    organizer.select(api.chats[349]!);
    await organizer.toggleAll();
    expect([organizer.selected!.size, organizer.selected!.get("c0")]).toEqual([350, { id: "c0", folder_id: null, tags: ["a"] }]);
    await organizer.toggleAll();
    expect(organizer.selected!.size).toBe(0);
  });
});

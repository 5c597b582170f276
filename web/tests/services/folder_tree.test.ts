import { describe, expect, it } from "vitest";

import type { Folder } from "../../src/services/api/types";
import { FolderTree } from "../../src/services/folder_tree";

const folder = (id: string, parent_id: string | null, system_prompt: string | null = null): Folder => ({
  id,
  name: id.toUpperCase(),
  parent_id,
  system_prompt,
});

const tree = new FolderTree([folder("a", null, "Be brief."), folder("b", "a"), folder("c", "b", "Be kind."), folder("d", null), folder("e", "gone")]);

describe("folders inside each other", () => {
  it("have lines that name the way from the top", () => {
    expect(tree.labels).toEqual([
      ["a", "A"],
      ["b", "A / B"],
      ["c", "A / B / C"],
      ["d", "D"],
      ["e", "E"],
    ]);
    expect(tree.inside("a").map(({ id }) => id)).toEqual(["b"]);
    expect([...tree.within("b")]).toEqual(["b", "c"]);
  });

  it("can be put neither into themselves nor too deep", () => {
    expect(tree.placesFor("b").map(([id]) => id)).toEqual(["a", "d", "e"]);
    expect(tree.placesFor(null).map(([id]) => id)).toEqual(["a", "b", "c", "d", "e"]);
    const deep = new FolderTree([1, 2, 3, 4, 5].map((n) => folder(`${n}`, n === 1 ? null : `${n - 1}`)));
    expect(deep.placesFor(null).map(([id]) => id)).toEqual(["1", "2", "3", "4"]);
    expect(deep.placesFor("4").map(([id]) => id)).toEqual(["1", "2", "3"]);
  });

  it("give new chats the nearest system prompt", () => {
    expect(["b", "c", "d", null].map((id) => tree.systemPrompt(id))).toEqual(["Be brief.", "Be kind.", null, null]);
  });
});

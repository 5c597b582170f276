import { describe, expect, it } from "vitest";

import { BlockGroups } from "../../../src/services/markdown/block_groups";
import { GrowingText } from "../../../src/services/markdown/growing_text";
import { outline } from "../../../src/services/markdown/render";

const section = (number: number) => `${number % 2 ? "###" : "#"} Section ${number}\n\nIts text.\n\n- a list\n\n`;
const text = Array.from({ length: 20 }, (_, number) => section(number)).join("");

describe("the groups of a growing answer", () => {
  it("hold its blocks in order, with the levels of the whole outline", () => {
    const blocks = new GrowingText().update(text);
    const groups = new BlockGroups().update(blocks);
    expect(groups.length).toBeGreaterThan(3);
    expect(groups.flatMap((group) => group.blocks)).toEqual(blocks);
    expect(groups.flatMap((group) => group.levels)).toEqual(outline(blocks));
  });

  it("stay the same objects if their blocks are unchanged", () => {
    const [growing, groups] = [new GrowingText(), new BlockGroups()];
    const before = groups.update(growing.update(`${text}Mo`));
    const after = groups.update(growing.update(`${text}More.`));
    const same = before.map((group, index) => group === after[index]);
    expect(same.slice(0, -1).every(Boolean)).toBe(true);
    expect(same.at(-1)).toBe(false);
  });

  it("change below a heading whose level changed", () => {
    const groups = new BlockGroups();
    const blocks = new GrowingText().update(text);
    groups.update(blocks);
    const [first] = new GrowingText().update("The first is no heading.");
    const changed = [first!, ...blocks.slice(1)];
    expect(groups.update(changed).flatMap((group) => group.levels)).toEqual(outline(changed));
  });

  it("are one for an empty text", () => {
    expect(new BlockGroups().update([])).toHaveLength(1);
  });
});

import type { Token } from "marked";

import { outline, TOP_LEVEL } from "./render";

/** So many blocks are drawn together: a block that comes costs the browser what its part holds, not the whole text. */
const BLOCKS = 12;

export interface BlockGroup {
  blocks: readonly Token[];
  /** Of each block, its level in the outline of the page; undefined of what is no heading. */
  levels: readonly (number | undefined)[];
  /** The level of the heading above. */
  above: number;
}

/** Cuts the blocks of a growing text into parts, at least one. A part whose blocks stayed the same stays the same object. */
export class BlockGroups {
  private parts: readonly BlockGroup[] = [];

  update(blocks: readonly Token[]): readonly BlockGroup[] {
    const parts: BlockGroup[] = [];
    let above = TOP_LEVEL - 1;
    for (let start = 0; start === 0 || start < blocks.length; start += BLOCKS) {
      const part = this.part(parts.length, blocks.slice(start, start + BLOCKS), above);
      above = part.levels.findLast((level) => level !== undefined) ?? above;
      parts.push(part);
    }
    return (this.parts = parts);
  }

  private part(index: number, blocks: readonly Token[], above: number): BlockGroup {
    const before = this.parts[index];
    const same = before?.above === above && before.blocks.length === blocks.length;
    if (same && blocks.every((block, place) => block === before.blocks[place])) return before;
    return { blocks, levels: outline(blocks, above), above };
  }
}

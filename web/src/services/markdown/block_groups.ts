import type { Block } from "./blocks";

import { outline, TOP_LEVEL } from "./render";

/** Blocks that are drawn together. A new block costs the browser as much as its group, not as much as the text. */
const BLOCKS_PER_GROUP = 12;

export interface BlockGroup {
  blocks: readonly Block[];
  /** Level of each block in the outline of the page; undefined unless the block is a heading. */
  levels: readonly (number | undefined)[];
  /** Level of the last heading above. */
  above: number;
}

/** Groups of the blocks of a growing text, at least one. A group whose blocks are unchanged stays the same object. */
export class BlockGroups {
  private groups: readonly BlockGroup[] = [];

  update(blocks: readonly Block[]): readonly BlockGroup[] {
    const groups: BlockGroup[] = [];
    let above = TOP_LEVEL - 1;
    for (let start = 0; start === 0 || start < blocks.length; start += BLOCKS_PER_GROUP) {
      const group = this.group(groups.length, blocks.slice(start, start + BLOCKS_PER_GROUP), above);
      above = group.levels.findLast((level) => level !== undefined) ?? above;
      groups.push(group);
    }
    return (this.groups = groups);
  }

  private group(index: number, blocks: readonly Block[], above: number): BlockGroup {
    const before = this.groups[index];
    const same = before?.above === above && before.blocks.length === blocks.length;
    if (same && blocks.every((block, at) => block === before.blocks[at])) return before;
    return { blocks, levels: outline(blocks, above), above };
  }
}

import type { Block, Inline } from "./blocks";

/** Return a block with `change` applied to each of its texts, in their order. A block without a change stays the same object. */
export function withTexts(block: Block, change: (text: Inline) => Inline): Block {
  const all = (blocks: readonly Block[]) => mapList(blocks, (each) => withTexts(each, change));
  const row = (cells: readonly Inline[]) => mapList(cells, change);
  switch (block.type) {
    case "paragraph":
    case "heading":
      return withChanges(block, { text: change(block.text) });
    case "quote":
    case "footnote":
      return withChanges(block, { blocks: all(block.blocks) });
    case "details":
      return withChanges(block, { summary: block.summary && change(block.summary), blocks: all(block.blocks) });
    case "list":
      return withChanges(block, { items: mapList(block.items, (item) => withChanges(item, { blocks: all(item.blocks) })) });
    case "table":
      return withChanges(block, { header: row(block.header), rows: mapList(block.rows, row) });
    default:
      return block;
  }
}

export function mapList<T>(list: readonly T[], change: (element: T) => T): readonly T[] {
  const changed = list.map(change);
  return changed.every((element, at) => element === list[at]) ? list : changed;
}

function withChanges<T extends object>(before: T, changes: Partial<T>): T {
  const isSame = Object.entries(changes).every(([key, value]) => before[key as keyof T] === value);
  return isSame ? before : { ...before, ...changes };
}

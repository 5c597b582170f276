import type { Block, Inline } from "./blocks";
import { withTexts } from "./block_texts";
import { labelsOf, readSame, usedBy, type References } from "./labels";

/** Finished blocks of a growing text. A link that is defined after them changes those that use its label, and no others. */
export class FinishedBlocks {
  private readonly list: Block[] = [];
  /** Places of the blocks that use a label. */
  private readonly users = new Map<string, Set<number>>();

  get all(): readonly Block[] {
    return this.list;
  }

  add(block: Block): void {
    const place = this.list.push(block) - 1;
    withTexts(block, (text) => {
      for (const label of labelsOf(text.source)) this.usersOf(label).add(place);
      return text;
    });
  }

  /** Give the blocks that use one of the `changed` labels the new definitions. */
  define(changed: readonly string[], references: References): void {
    for (const place of new Set(changed.flatMap((label) => [...(this.users.get(label) ?? [])]))) {
      this.list[place] = withTexts(this.list[place]!, (text) => defined(text, references));
    }
  }

  private usersOf(label: string): Set<number> {
    const known = this.users.get(label) ?? new Set();
    this.users.set(label, known);
    return known;
  }
}

/** Return a text with the definitions that it uses. */
export function defined(text: Inline, references: References): Inline {
  if (readSame(labelsOf(text.source), text.references, references)) return text;
  return { ...text, references: usedBy(text.source, references) };
}

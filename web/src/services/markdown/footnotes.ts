import type { Block, Footnote, Inline, NoteNumber } from "./blocks";
import { escapeHtml } from "./escape";
import { inlineTokens, withNotes } from "./render";

/** Placeholder of a numbered reference in rendered HTML. Answers cannot set a class, so nothing else matches. */
const PLACEHOLDER = /<sup class="footnote">(\d+) (\d+)<\/sup>/g;

/**
 * Number the footnotes among the blocks of a text by their first reference, and move them to its end. A reference without a
 * footnote stays as written, and a footnote without a reference has its label.
 */
export function collectFootnotes(blocks: readonly Block[]): readonly Block[] {
  const all = blocks.filter((block) => block.type === "footnote");
  if (all.length === 0) return blocks;
  const numbers = new Numbers(new Set(all.map(({ label }) => label)));
  const number = (inline: Inline) => numbers.of(inline);
  const text = blocks.filter(({ type }) => type !== "footnote").map((block) => mapped(block, number));
  const defined = new Map<string, Footnote>();
  const others: Footnote[] = [];
  for (const footnote of all.map((each) => mapped(each, number) as Footnote)) {
    if (defined.has(footnote.label)) others.push(footnote);
    else defined.set(footnote.label, footnote);
  }
  const counted = [...numbers.counts].map(([label, { references }]) => ({ ...defined.get(label)!, references }));
  const unused = [...defined.values()].filter(({ label }) => !numbers.counts.has(label));
  return [...text, { type: "footnotes", items: [...counted, ...unused, ...others] }];
}

class Numbers {
  /** Number of each footnote with a reference, and of its references so far, in the order of the numbers. */
  readonly counts = new Map<string, { number: number; references: number }>();

  constructor(private readonly labels: ReadonlySet<string>) {}

  /** Return a text with the numbers of its references. */
  of(inline: Inline): Inline {
    if (!inline.source.includes("[^")) return inline;
    const references = inlineTokens(inline).filter(({ type }) => type === "footnote_reference");
    if (references.length === 0) return inline;
    return withNotes(inline, references.map(({ meta }) => this.next(meta!["label"] as string)));
  }

  private next(label: string): NoteNumber | null {
    if (!this.labels.has(label)) return null;
    const count = this.counts.get(label) ?? { number: this.counts.size + 1, references: 0 };
    this.counts.set(label, count);
    count.references++;
    return { number: count.number, occurrence: count.references };
  }
}

/** Return a block with `change` applied to each of its texts, in their order. A block without a change stays the same object. */
function mapped(block: Block, change: (text: Inline) => Inline): Block {
  const all = (blocks: readonly Block[]) => mapList(blocks, (each) => mapped(each, change));
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

function mapList<T>(list: readonly T[], change: (element: T) => T): readonly T[] {
  const changed = list.map(change);
  return changed.every((element, at) => element === list[at]) ? list : changed;
}

function withChanges<T extends object>(before: T, changes: Partial<T>): T {
  const isSame = Object.entries(changes).every(([key, value]) => before[key as keyof T] === value);
  return isSame ? before : { ...before, ...changes };
}

/** Return the ids, in a document, of a footnote and of a reference to it. id: an id of the text that is unique in the document. */
export function noteId(id: string, number: number): string {
  return `${id}-note-${number}`;
}

export function referenceId(id: string, number: number, occurrence: number): string {
  return `${id}-reference-${number}-${occurrence}`;
}

/** Put links in place of the references in sanitised HTML. name: accessible name of the reference to a footnote. */
export function setReferences(html: string, id: string, name: (number: number) => string): string {
  return html.replace(PLACEHOLDER, (_whole, number: string, occurrence: string) => {
    const own = referenceId(id, Number(number), Number(occurrence));
    const label = escapeHtml(name(Number(number)));
    return `<sup><a class="footnote" id="${own}" href="#${noteId(id, Number(number))}" aria-label="${label}">${number}</a></sup>`;
  });
}

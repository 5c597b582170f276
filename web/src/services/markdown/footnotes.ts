import { withTexts } from "./block_texts";
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
  const text = blocks.filter(({ type }) => type !== "footnote").map((block) => withTexts(block, number));
  const defined = new Map<string, Footnote>();
  const others: Footnote[] = [];
  for (const footnote of all.map((each) => withTexts(each, number) as Footnote)) {
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

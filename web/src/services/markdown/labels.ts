import MarkdownIt from "markdown-it";

import type { Env } from "./parser";

/** Definitions of links, by their labels as the parser compares them. */
export type References = NonNullable<Env["references"]>;

const { normalizeReference } = new MarkdownIt().utils;

/** A label in brackets. A label that is defined has no bracket without a backslash. */
const LABEL = /\[((?:[^[\]\\]|\\[^[])*)\]/g;

/** Stands for all labels, where a bracket after a backslash leaves open which ones a text uses. No defined label is empty. */
const ANY = "";

/** Return the labels whose definitions may change how a text is read. */
export function labelsOf(source: string): readonly string[] {
  if (source.includes("\\[")) return [ANY];
  return source.includes("[") ? [...source.matchAll(LABEL)].map(([, label]) => normalizeReference(label!)) : [];
}

/** Return the definitions that may change how a text is read; null if there are none. */
export function usedBy(source: string, references: References | null): References | null {
  if (references === null || !source.includes("[")) return null;
  const labels = labelsOf(source);
  const used = labels.includes(ANY) ? Object.keys(references) : labels.filter((label) => Object.hasOwn(references, label));
  return used.length === 0 ? null : Object.fromEntries(used.map((label) => [label, references[label]!]));
}

/** Return the labels whose definitions differ; ANY is among them if there are others. */
export function changedLabels(before: References, after: References): readonly string[] {
  const labels = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed = [...labels].filter((label) => !isSame(before[label], after[label]));
  return changed.length === 0 ? [] : [...changed, ANY];
}

/** Return whether a text with these labels reads the same with both definitions. */
export function readSame(labels: readonly string[], before: References | null, after: References | null): boolean {
  if (before === after) return true;
  if (labels.includes(ANY)) return changedLabels(before ?? {}, after ?? {}).length === 0;
  return labels.every((label) => isSame(before?.[label], after?.[label]));
}

function isSame(a: References[string] | undefined, b: References[string] | undefined): boolean {
  return a?.href === b?.href && a?.title === b?.title;
}

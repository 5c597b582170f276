import type { StartStep } from "../i18n/en/page";
import { t } from "../i18n/language.svelte";

/** First words of the server's sentences about its start. */
const STEPS: readonly (readonly [RegExp, StartStep])[] = [
  [/^(?:asking|downloading|unpacking)/i, "download"],
  [/^verifying/i, "verify"],
  [/^(?:converting|reading)/i, "convert"],
  [/^checking/i, "check"],
  [/^compiling/i, "compile"],
];
/** The part that is done, as in "120 of 640 MB". */
const FIGURE = /(\d[\d.,]*) of (\d[\d.,]*(?: [kMG]B)?)/;

/** Return the step that the server's sentence about its start names, and how much of it is done, as in "120 / 640 MB". */
export function startStep(sentence: string): { step: StartStep; figure: string } {
  const step = STEPS.find(([beginning]) => beginning.test(sentence))?.[1] ?? "load";
  const [, done, all] = FIGURE.exec(sentence) ?? [];
  return { step, figure: done === undefined ? "" : `${done} / ${all}` };
}

/** Describe a step of a start or a load, which the server names in a sentence, in the page's language. */
export function describeStep(sentence: string): string {
  const said = capitalised(sentence);
  const { step, figure } = startStep(said);
  return t().server.loading(said, step, figure);
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Places of a text in what the page shows. Texts are compared as the server compares them: without case, accents, points
 * and compatible forms, and each white space is one space.
 */

/** Parts of a message that are looked through. */
const PARTS = "[data-findable]";
/** Parts of those that say nothing more. */
const LEFT_OUT = ".katex-mathml, .visually-hidden, button";
const BLOCKS = "p, li, pre, td, th, h1, h2, h3, h4, h5, h6, blockquote, summary, div";
/** Character between two blocks, which no text contains. */
const BETWEEN = "\0";
/** Most places of a message that are marked. */
const MOST = 1_000;

/** Accents, tones and points of the widely used scripts, and characters that are invisible within a word. */
const IGNORED =
  /[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u094d\u09bc\u09cd\u0e3a\u0e48-\u0e4b\u0ec8-\u0ecb\u1ab0-\u1ace\u1dc0-\u1dff\u200d\u2060\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f\ufeff]/gu;
/** Two characters of one word, in a script that has spaces between words. */
const WITHIN_WORD = /^(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}])[\p{L}\p{N}][\p{L}\p{N}]$/u;
const HANGUL = /[\uac00-\ud7a3]/;

/** Characters of the page, as they are compared, each with its place in a text node. */
interface Text {
  folded: string;
  nodes: CharacterData[];
  /** For each character of `folded`, the index of its node, its start in the node and its end. */
  places: number[];
}

/** Return a text as it is compared. */
export function folded(text: string): string {
  return [...text].map(foldedCharacter).join("");
}

function foldedCharacter(character: string): string {
  if (character < "\u0080") return /\s/.test(character) ? " " : character.toLowerCase();
  if (HANGUL.test(character)) return character;
  const lower = character.normalize("NFKD").toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
  return lower.normalize("NFKD").replaceAll(IGNORED, "").replaceAll(/\s/gu, " ");
}

/** Return the ranges of a message in which `query` is found, in their order. */
export function rangesIn(message: Element, query: string): Range[] {
  const sought = folded(query);
  if (sought.trim() === "") return [];
  const ranges = [...message.querySelectorAll(PARTS)].flatMap((part) => {
    const text = textOf(part);
    return placesOf(text.folded, sought).map((at) => rangeOf(text, at, sought.length));
  });
  return ranges.slice(0, MOST);
}

/** Places of words in a message. */
interface FoundWords {
  /** All of them, in the order of the text. */
  all: Range[];
  /** The first one from which on the words follow each other as they were given. */
  together: Range | undefined;
}

/** Return the places of words in a message. A word is found as a whole, unless its script writes words without spaces. */
export function wordsIn(message: Element, words: readonly string[]): FoundWords {
  const sought = words.map(folded).filter((word) => word.trim() !== "");
  const found = [...message.querySelectorAll(PARTS)].flatMap((part) => {
    const text = textOf(part);
    const here = [...new Set(sought)].flatMap((word) => placesOf(text.folded, word, true).map((at) => ({ at, word })));
    return here.sort((one, other) => one.at - other.at).map(({ at, word }) => ({ word, range: rangeOf(text, at, word.length) }));
  });
  const isStart = (at: number) => sought.every((word, index) => found[at + index]?.word === word);
  const all = found.slice(0, MOST).map(({ range }) => range);
  return { all, together: all.find((_, at) => isStart(at)) };
}

/** Return where `sought` is in a folded text, without overlaps. whole: only where it is not part of a longer word. */
function placesOf(text: string, sought: string, whole = false): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(sought); at >= 0 && places.length < MOST; at = text.indexOf(sought, at + sought.length)) {
    const ends = [text.charAt(at - 1) + sought.charAt(0), sought.charAt(sought.length - 1) + text.charAt(at + sought.length)];
    if (!whole || !ends.some((pair) => WITHIN_WORD.test(pair))) places.push(at);
  }
  return places;
}

function rangeOf({ nodes, places }: Text, at: number, length: number): Range {
  const last = 3 * (at + length - 1);
  const range = document.createRange();
  range.setStart(nodes[places[3 * at]!]!, places[3 * at + 1]!);
  range.setEnd(nodes[places[last]!]!, places[last + 2]!);
  return range;
}

function textOf(part: Element): Text {
  const nodes: CharacterData[] = [];
  const places: number[] = [];
  const pieces: string[] = [];
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  let block: Element | null = null;
  while (walker.nextNode()) {
    const node = walker.currentNode as CharacterData;
    const parent = node.parentElement!;
    if (parent.closest(LEFT_OUT) !== null) continue;
    const own = parent.closest(BLOCKS);
    if (block !== null && own !== block) add(BETWEEN, nodes.length - 1, 0, 0);
    block = own;
    nodes.push(node);
    let start = 0;
    for (const character of node.data) {
      add(foldedCharacter(character), nodes.length - 1, start, start + character.length);
      start += character.length;
    }
  }
  return { folded: pieces.join(""), nodes, places };

  function add(piece: string, node: number, start: number, end: number) {
    pieces.push(piece);
    for (let unit = 0; unit < piece.length; unit++) places.push(node, start, end);
  }
}

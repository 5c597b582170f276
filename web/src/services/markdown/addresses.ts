import { LINKED } from "./links";
import { lineOf, matchAt, ruleOf, type InlineState, type Parser, type Token } from "./parser";

/** Addresses that are links without any mark: those with `https://` or `www.`, and those of mail. */
const REST = /\/\/[^\s<>"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+/y;
const SCHEME = /(?:^|[^A-Za-z0-9])(https?)$/i;
const MENTIONS =
  /(?<![A-Za-z0-9_.+@/-])(?:www\.[^\s<>"\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)/g;
/** A definition of an address that a link may have. Any other is text, so that no words are lost. */
const DEFINITION = /^\[[^\]]+\]:[ \t]*<?(?:https?:|mailto:)/i;

export function readAddresses(md: Parser): void {
  md.inline.ruler.before("newline", "address", address);
  md.inline.ruler2.before("fragments_join", "mentions", linkMentions);
  const rules = md.block.ruler;
  const reference = ruleOf(rules, "reference");
  rules.at("reference", (state, first, end, silent) => DEFINITION.test(lineOf(state, first)) && reference(state, first, end, silent));
  // An address that no link may have is shown as the text of the link alone.
  md.validateLink = () => true;
}

/** Read an address at the colon after its scheme. */
function address(state: InlineState, silent: boolean): boolean {
  if (silent || state.linkLevel > 0 || state.src[state.pos] !== ":") return false;
  const scheme = SCHEME.exec(state.src.slice(Math.max(0, state.pos - 6), state.pos))?.[1];
  if (scheme === undefined || !state.pending.endsWith(scheme)) return false;
  const text = `${scheme}:${withoutEnd(matchAt(REST, state, state.pos + 1)?.[0] ?? "")}`;
  if (text.length <= scheme.length + 3) return false;
  state.pending = state.pending.slice(0, -scheme.length);
  state.push("link_open", "a", 1).attrs = [["href", state.md.normalizeLink(text)]];
  state.push("text", "", 0).content = text;
  state.push("link_close", "a", -1);
  state.pos += text.length - scheme.length;
  return true;
}

/** Return an address without the punctuation of the sentence around it. */
function withoutEnd(text: string): string {
  let end = text.length;
  let open = 0;
  for (const character of text) open += character === "(" ? 1 : character === ")" ? -1 : 0;
  for (; end > 0; end--) {
    const last = text[end - 1]!;
    if (last === ")" && open < 0) open++;
    else if (!/[?!.,:;*_~'`\]}]/.test(last)) break;
  }
  return text.slice(0, end);
}

/** Link the addresses within texts that have no colon. */
function linkMentions({ tokens }: InlineState): void {
  const all = [...mentions(tokens)];
  tokens.length = 0;
  for (const token of all) tokens.push(token);
}

function* mentions(tokens: readonly Token[]): Generator<Token> {
  let linked = 0;
  for (const token of tokens) {
    if (token.type === "link_open") linked++;
    if (token.type === "link_close") linked--;
    if (token.type === "text" && linked === 0 && /@|www\./.test(token.content)) yield* mentionsIn(token);
    else yield token;
  }
}

function* mentionsIn(token: Token): Generator<Token> {
  const { content } = token;
  let at = 0;
  for (const { 0: found, index } of content.matchAll(MENTIONS)) {
    const text = withoutEnd(found);
    const href = found.startsWith("www.") ? `http://${text}` : `mailto:${text}`;
    if (!LINKED.test(href) || text === "www") continue;
    yield made(token, "text", "", 0, content.slice(at, index));
    const open = made(token, "link_open", "a", 1, "");
    open.attrs = [["href", href]];
    yield open;
    yield made(token, "text", "", 0, text);
    yield made(token, "link_close", "a", -1, "");
    at = index + text.length;
  }
  yield made(token, "text", "", 0, content.slice(at));
}

/** Return a new token of the kind of `token`, whose class the parser does not export as a value of its own. */
function made(token: Token, type: string, tag: string, nesting: -1 | 0 | 1, content: string): Token {
  const other = new (token.constructor as new (type: string, tag: string, nesting: -1 | 0 | 1) => Token)(type, tag, nesting);
  other.content = content;
  return other;
}

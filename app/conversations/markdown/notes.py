"""Footnotes: `[^label]` in the text, and `[^label]: text` on a separate line, with further lines indented by four.

Footnotes at the top of a text move to its end, numbered by their first reference. One without a reference keeps its
label.
"""

import html
import re
from collections.abc import Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.conversations.markdown.lines import INTERRUPTS, line_of

_REFERENCE: Final = re.compile(r"\[\^([^\]\s]{1,40})\](?!:)")
_DEFINITION: Final = re.compile(r"\[\^([^\]\s]{1,40})\]:[ \t]*")


def read_notes(parser: MarkdownIt) -> None:
    """Add the rules to a parser. The environment's `text_id` tells the footnotes of several texts apart."""
    parser.block.ruler.before("reference", "footnote", _definition, INTERRUPTS)
    parser.inline.ruler.before("link", "footnote_reference", _reference)
    parser.core.ruler.after("inline", "footnotes", _collect)
    parser.add_render_rule("footnote_reference", _shown_reference)
    parser.add_render_rule("footnotes_open", lambda *_: '<section class="footnotes">\n')
    parser.add_render_rule("footnotes_close", lambda *_: "</section>\n")
    parser.add_render_rule("footnote_open", _shown_begin)
    parser.add_render_rule("footnote_close", _shown_end)


def _definition(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    match = None if state.is_code_block(first) else _DEFINITION.match(line_of(state, first))
    if match is None:
        return False
    if silent:
        return True
    token = state.push("footnote_open", "", 1)
    token.meta = {"label": match[1], "references": 0}
    indentation, parent, list_indent = state.blkIndent, state.parentType, state.listIndent
    mark, shift, indent = state.bMarks[first], state.tShift[first], state.sCount[first]
    state.blkIndent, state.parentType, state.listIndent = indent + 4, "root", -1
    state.bMarks[first], state.tShift[first], state.sCount[first] = mark + shift + match.end(), 0, indent + 4
    if state.isEmpty(first):
        state.line = first + 1
    state.md.block.tokenize(state, first, end)
    state.blkIndent, state.parentType, state.listIndent = indentation, parent, list_indent
    state.bMarks[first], state.tShift[first], state.sCount[first] = mark, shift, indent
    state.line = max(state.line, first + 1)
    state.push("footnote_close", "", -1).meta = token.meta
    return True


def _reference(state: StateInline, silent: bool) -> bool:
    match = _REFERENCE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("footnote_reference", "", 0)
        token.content, token.meta = match[0], {"label": match[1]}
    state.pos = match.end()
    return True


def _collect(state: StateCore) -> None:
    """Move the footnotes at the top of a text to its end, and number them."""
    text, notes = _apart(state.tokens)
    if not notes:
        return
    defined = dict[str, list[Token]]()
    for note in notes:
        defined.setdefault(note[0].meta["label"], note)
    numbered = list[list[Token]]()
    for token in [*text, *(token for note in notes for token in note)]:
        for child in token.children or ():
            if child.type == "footnote_reference" and (found := defined.get(child.meta["label"])) is not None:
                _count(child, found[0].meta, numbered, found)
    others = [note for note in notes if "number" not in note[0].meta or defined[note[0].meta["label"]] is not note]
    state.tokens = [*text, Token("footnotes_open", "", 1)]
    for note in [*numbered, *others]:
        state.tokens += note
    state.tokens.append(Token("footnotes_close", "", -1))


def _count(reference: Token, meta: dict[str, Any], numbered: list[list[Token]], note: list[Token]) -> None:
    if "number" not in meta:
        numbered.append(note)
        meta["number"] = len(numbered)
    meta["references"] += 1
    reference.meta |= {"number": meta["number"], "occurrence": meta["references"]}


def _apart(tokens: Sequence[Token]) -> tuple[list[Token], list[list[Token]]]:
    """Return the tokens of a text without its footnotes, and those of each footnote."""
    text, notes, inside = list[Token](), list[list[Token]](), False
    for token in tokens:
        if token.type == "footnote_open" and token.level == 0:
            inside = True
            notes.append([])
        (notes[-1] if inside else text).append(token)
        if token.type == "footnote_close" and token.level == 0:
            inside = False
    return text, notes


def _shown_reference(_self: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    meta = tokens[index].meta
    if "number" not in meta:
        return html.escape(tokens[index].content)
    number, place = meta["number"], f"{environment['text_id']}-{meta['number']}"
    return f'<sup><a class="footnote-ref" id="fnref-{place}-{meta["occurrence"]}" href="#fn-{place}">{number}</a></sup>'


def _shown_begin(_self: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    meta = tokens[index].meta
    number = meta.get("number")
    place = "" if number is None else f' id="fn-{environment["text_id"]}-{number}"'
    return f'<div class="footnote"{place}><b class="footnote-number">{number or html.escape(meta["label"])}.</b>\n'


def _shown_end(_self: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    meta = tokens[index].meta
    backs = (
        f' <a class="footnote-back" href="#fnref-{environment["text_id"]}-{meta["number"]}-{occurrence}">↩</a>'
        for occurrence in range(1, meta["references"] + 1)
    )
    return f"{''.join(backs)}</div>\n"

"""Marks of emphasis next to Chinese, Japanese and Korean.

These scripts put no space around a mark, and models emphasize a sentence together with its full-width punctuation.
Their punctuation therefore counts as letters, and any of their characters allows punctuation on the other side of a
mark, as a space does. Otherwise the rules are those of CommonMark.
"""

import re
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline.state_inline import Scanned, StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

_CJK: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u30ff\u3100-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    "\U0001b000-\U0001b16f\U0001f200-\U0001f2ff\U00020000-\U0003fffd]"
)


class FlankingParser(ParserInline):
    """Parser of texts without blocks, with the rule above."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        """Parse `src`, and append its tokens to `tokens`."""
        state = _FlankingState(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _FlankingState(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        mark, end = self.src[start], start
        while end < self.posMax and self.src[end] == mark:
            end += 1
        before = _kind_of(self.src[start - 1] if start > 0 else " ")
        after = _kind_of(self.src[end] if end < self.posMax else " ")
        left = not after.space and (not after.foreign or before.space or before.punctuation or before.cjk)
        right = not before.space and (not before.foreign or after.space or after.punctuation or after.cjk)
        return Scanned(
            can_open=left and (canSplitWord or not right or before.punctuation),
            can_close=right and (canSplitWord or not left or after.punctuation),
            length=end - start,
        )


class _Kind(NamedTuple):
    """Kind of a character. foreign: punctuation of other scripts."""

    cjk: bool
    space: bool
    punctuation: bool
    foreign: bool


def _kind_of(character: str) -> _Kind:
    cjk = _CJK.match(character) is not None
    space = isWhiteSpace(ord(character))
    punctuation = isMdAsciiPunct(ord(character)) or isPunctChar(character)
    return _Kind(cjk and not space, space, punctuation, punctuation and not cjk)

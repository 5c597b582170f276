"""Log probabilities of the texts of one response, as its stream has them."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from app.apis.openai.logprobs import ChatLogprobs, TokenNames
from app.host.backend import TextTokenizer
from engine.api.outputs import TokenLogprobs
from models.chat.tool_calls import AnswerEvent, TextPiece, text_of

Logprobs = list[dict[str, Any]]
"""Tokens in OpenAI's format."""


class TextLogprobs:
    """Assignment of an answer's tokens to its pieces of text, in order.

    Thoughts, calls, their marks and other control tokens are no text, so their log probabilities are left out.
    """

    def __init__(self, tokenizer: TextTokenizer, tokens: Sequence[TokenLogprobs]) -> None:
        """Begin before the first token. tokens: those of the whole answer, which may grow."""
        self._tokenizer = tokenizer
        self._shape = ChatLogprobs(TokenNames(tokenizer))
        self._tokens = tokens
        self._passed = 0
        self._is_behind_mark = False

    def skip(self, num_tokens: int) -> None:
        """Pass the tokens up to `num_tokens`, which are no text."""
        self._passed = num_tokens
        self._is_behind_mark = True

    def of(self, events: Sequence[AnswerEvent], num_tokens: int) -> list[Logprobs]:
        """Return the log probabilities of each of `events`, which the tokens up to `num_tokens` completed.

        Adjacent texts have theirs with the first of them. Text in front of a mark has the first of the tokens, and text
        behind one the last. Tokens whose text is held back wait for it.
        """
        shown: list[Logprobs] = [[] for _ in events]
        if not events:
            return shown
        tokens = self._tokens[self._passed : num_tokens]
        num_first = 0 if self._is_behind_mark else _num_texts(events)
        num_last = _num_texts(events[num_first:][::-1])
        first = self._covering(tokens, text_of(events[:num_first]))
        if num_first:
            shown[0] = self._shown(first)
        if num_last:
            rest = tokens[len(first) :]
            shown[-num_last] = self._shown(self._covering(rest[::-1], text_of(events[-num_last:]))[::-1])
        is_text = num_first == len(events)
        self._passed = self._passed + len(first) if is_text else num_tokens
        self._is_behind_mark = not is_text and not num_last
        return shown

    def _shown(self, tokens: Sequence[TokenLogprobs]) -> Logprobs:
        shown: Logprobs = self._shape.content([each for each in tokens if self._size(each)])["content"]
        return shown

    def _covering(self, tokens: Iterable[TokenLogprobs], text: str) -> list[TokenLogprobs]:
        """Return the first of `tokens` that have as many bytes as `text`."""
        missing, taken = len(text.encode()), list[TokenLogprobs]()
        for each in tokens:
            if missing <= 0:
                break
            missing -= self._size(each)
            taken.append(each)
        return taken

    def _size(self, token: TokenLogprobs) -> int:
        return len(self._tokenizer.token_bytes(token.token_id))


def _num_texts(events: Iterable[AnswerEvent]) -> int:
    """Return the number of texts before the first other event."""
    return len(list(takewhile(lambda event: isinstance(event, TextPiece), events)))

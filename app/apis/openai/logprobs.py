"""Log probabilities of tokens in the two formats of OpenAI's API."""

import codecs
from collections.abc import Sequence
from typing import Any

from app.host.backend import TextTokenizer
from engine.api.outputs import RequestOutput, TokenLogprobs


def shown_logprobs(output: RequestOutput, *, ends_with_stop_token: bool) -> tuple[TokenLogprobs, ...]:
    """Return the log probabilities of the answer's tokens, without the stop token unless the client wants to see it."""
    return output.logprobs if ends_with_stop_token else output.said_logprobs


class TokenNames:
    """Names of tokens as clients see them. Control tokens have their own names."""

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self._tokenizer = tokenizer

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of a token, possibly part of a character."""
        return self._tokenizer.token_bytes(token_id) or self._tokenizer.describe([token_id]).encode()

    def name(self, token_id: int) -> str:
        """Return the text of a token. OpenAI writes part of a character as "bytes:\\xe2\\x82"."""
        raw = self.bytes_of(token_id)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


class ChatLogprobs:
    """Serializer of `choices[].logprobs` for chat completions."""

    def __init__(self, names: TokenNames) -> None:
        self._names = names

    def content(self, logprobs: Sequence[TokenLogprobs]) -> dict[str, Any]:
        """Return the log probabilities of consecutive tokens of an answer, including its reasoning."""
        return {"content": [self._token(each) for each in logprobs], "refusal": None}

    def _token(self, token: TokenLogprobs) -> dict[str, Any]:
        return {
            **self._named(token.token_id, token.logprob),
            "top_logprobs": [self._named(*each) for each in token.top],
        }

    def _named(self, token_id: int, logprob: float) -> dict[str, Any]:
        raw = self._names.bytes_of(token_id)
        return {"token": raw.decode(errors="replace"), "logprob": logprob, "bytes": list(raw)}


class TextLogprobs:
    """Serializer of `choices[].logprobs` for one completion, piece by piece.

    A `text_offset` counts the characters before a token.
    """

    def __init__(self, names: TokenNames) -> None:
        self._names = names
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def of_prompt(self, first_id: int, logprobs: Sequence[TokenLogprobs], *, first_is_shown: bool) -> dict[str, Any]:
        """Return the log probabilities of an echoed prompt.

        first_id: the first token of the prompt, which has no log probability.
        first_is_shown: whether that token is part of the text.
        """
        before: dict[str, list[Any]] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
        if first_is_shown:
            before = {
                "tokens": [self._names.name(first_id)],
                "token_logprobs": [None],
                "top_logprobs": [None],
                "text_offset": [self._pass(first_id)],
            }
        return joined_logprobs(before, self.of_answer(logprobs))

    def of_answer(self, logprobs: Sequence[TokenLogprobs]) -> dict[str, Any]:
        """Return the log probabilities of the next tokens. `top_logprobs` always includes the token itself."""
        return {
            "tokens": [self._names.name(each.token_id) for each in logprobs],
            "token_logprobs": [each.logprob for each in logprobs],
            "top_logprobs": [self._top(each) if each.top else None for each in logprobs],
            "text_offset": [self._pass(each.token_id) for each in logprobs],
        }

    def _top(self, token: TokenLogprobs) -> dict[str, float]:
        return {
            self._names.name(token_id): logprob for token_id, logprob in (*token.top, (token.token_id, token.logprob))
        }

    def _pass(self, token_id: int) -> int:
        offset = self._offset
        self._offset += len(self._decoder.decode(self._names.bytes_of(token_id)))
        return offset


def joined_logprobs(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Concatenate the lists of `first` and `second`."""
    return {name: first[name] + second[name] for name in second}

"""Prompts as token ids, so that every server receives exactly the same number of tokens, however it treats text."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tokenizers import Tokenizer

from app.load.words import WORDS


class PromptMaker:
    """Source of prompts of plain words, one token each, in a model's vocabulary.

    The same seed gives the same prompt.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        encoded = (self.encode(f" {word}") for word in WORDS)
        self._words = tuple(ids[0] for ids in encoded if len(ids) == 1)

    def words(self, tokens: int, seed: str) -> list[int]:
        """Make `tokens` token ids. Prompts of different seeds share next to no prefix."""
        return random.Random(seed).choices(self._words, k=tokens)

    def encode(self, text: str) -> list[int]:
        """Encode `text`, without anything that a template would add."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def exactly(self, text: str, tokens: int) -> list[int]:
        """Return `tokens` ids that begin as those of `text`, cut or padded to that length.

        An API that streams text hides the ids that the model sampled. Encoding its text again nearly always restores
        them. Padding is needed where the pieces of the text were not whole characters.
        """
        ids = self.encode(text)[:tokens]
        return ids + self.words(tokens - len(ids), text)


@dataclass(slots=True)
class SharedPrefixChat:
    """One chat as token ids: a system prompt shared with other chats, then questions and answers in turn.

    history: ids of everything so far.
    turns: number of questions asked.
    """

    make: PromptMaker
    name: str
    question_tokens: int
    answer_tokens: int
    history: list[int] = field(default_factory=list)
    turns: int = 0

    def ask(self) -> Sequence[int]:
        """Return the prompt of the next turn: everything so far and a new question."""
        self.turns += 1
        self.history += self.make.words(self.question_tokens, f"{self.name}/{self.turns}")
        return tuple(self.history)

    def answered(self, text: str) -> None:
        """Append the server's answer to the history."""
        self.history += self.make.exactly(text, self.answer_tokens)


def make_chats(
    make: PromptMaker, *, chats: int, system_tokens: int, question_tokens: int, answer_tokens: int, seed: str
) -> list[SharedPrefixChat]:
    """Make chats that share only a system prompt. Chats of different seeds share nothing."""
    system = make.words(system_tokens, f"{seed}/system")
    return [
        SharedPrefixChat(make, f"{seed}/{chat}", question_tokens, answer_tokens, list(system)) for chat in range(chats)
    ]

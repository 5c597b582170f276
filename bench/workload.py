"""Conversations of plain words from a fixed seed, so that every run sends the same text.

With its leading space, every word of the list is one token of the default model. Capitals and full stops add tokens, so
sizes are given in words, and reports contain the servers' own token counts.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from app.load.client import Message
from app.load.words import WORDS

_OPENINGS = ("Tell me about", "Describe", "Explain", "Compare", "What do you know of", "Continue with", "Sum up")


@dataclass(frozen=True, slots=True)
class WorkloadShape:
    """Sizes in words. The last turn's context is about system_words + turns × (question_words + answer tokens)."""

    chats: int = 8
    turns: int = 6
    system_words: int = 160
    question_words: int = 210
    shared_system: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class ScriptedChat:
    """The user's side of one conversation, turn by turn."""

    system: str
    questions: tuple[str, ...]

    def messages(self, answers: Sequence[str]) -> list[Message]:
        """Return the messages of the turn that follows `answers`. Raise ValueError if the script has no such turn."""
        if len(answers) >= len(self.questions):
            raise ValueError(f"turn {len(answers) + 1} of a script of {len(self.questions)}")
        messages: list[Message] = [{"role": "system", "content": self.system}]
        for question, answer in zip(self.questions, answers, strict=False):
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        return [*messages, {"role": "user", "content": self.questions[len(answers)]}]


def make_chats(shape: WorkloadShape) -> list[ScriptedChat]:
    """Make the chats of `shape`, the same on every machine.

    No two chats share a prefix unless the system prompt is shared.
    """
    return [
        ScriptedChat(
            system=passage(shape.system_words, f"{shape.seed}/system/{'shared' if shape.shared_system else chat}"),
            questions=tuple(
                question(shape.question_words, f"{shape.seed}/{chat}/{turn}") for turn in range(shape.turns)
            ),
        )
        for chat in range(shape.chats)
    ]


def history(words: int, seed: str, turns: int = 6) -> list[Message]:
    """Make a conversation of about `words` words, both sides from the word list. The last message is the user's."""
    each = words // (2 * turns)
    messages: list[Message] = [{"role": "system", "content": passage(each, f"{seed}/system")}]
    for turn in range(turns):
        messages.append({"role": "user", "content": question(each, f"{seed}/{turn}/question")})
        messages.append({"role": "assistant", "content": passage(each, f"{seed}/{turn}/answer")})
    return messages[:-1]


def question(words: int, seed: str) -> str:
    """Make a request of `words` words, at least 7."""
    opening = random.Random(f"{seed}/opening").choice(_OPENINGS) + " this:"
    return f"{opening} {passage(max(words - len(opening.split()), 1), seed)}"


def passage(words: int, seed: str) -> str:
    """Make `words` words in sentences of 6 to 12, determined by `seed` alone."""
    source = random.Random(seed)
    sentences: list[str] = []
    while words > 0:
        length = min(source.randint(6, 12), words)
        sentences.append(" ".join(source.choice(WORDS) for _ in range(length)).capitalize() + ".")
        words -= length
    return " ".join(sentences)

"""Conversations to load a server with: made of plain words from a fixed seed, so that every run sends the same text.

With its leading space, every word of the list is one token of the default model. Capitals and full stops add to
that, so sizes are given in words, and what gets reported is the servers' own count.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.client import Message

_WORD_LIST = """
river lake stone light water morning evening winter summer garden window table letter paper story music color
mountain valley forest island harbor market street bridge tower castle village city country road journey train
ship boat sailor captain farmer teacher doctor student child mother father sister brother friend stranger king
queen soldier artist writer reader book page word sentence question answer reason idea dream memory moment hour
minute day week month year season weather rain snow wind storm cloud sun moon star sky earth sea ocean wave
shore sand rock hill field grass tree leaf root branch flower seed fruit bread milk honey salt sugar coffee tea
wine glass cup plate knife spoon fire smoke lamp candle mirror door wall floor roof room house home kitchen
corner chair bed clock key lock box bag coat hat shoe ring coin gold silver iron wood wool silk cotton thread
needle wheel engine machine tool hammer nail rope chain net horse dog cat bird fish bear wolf fox deer sheep
goat cow duck bee spider snake frog walks runs wakes speaks listens waits works plays sings writes reads learns
teaches builds breaks opens closes carries brings takes gives finds loses keeps sells buys counts measures draws
paints remembers quiet loud bright dark warm cold young old small large early late near far slow quick simple
strange gentle heavy empty full round flat deep high open certain common
"""
WORDS = tuple(_WORD_LIST.split())

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
    """What the person's side of one conversation says, turn by turn."""

    system: str
    questions: tuple[str, ...]

    def messages(self, answers: Sequence[str]) -> list[Message]:
        """The request of the turn that follows `answers`. Raises ValueError if the script has no such turn."""
        if len(answers) >= len(self.questions):
            raise ValueError(f"turn {len(answers) + 1} of a script of {len(self.questions)}")
        messages: list[Message] = [{"role": "system", "content": self.system}]
        for question, answer in zip(self.questions, answers, strict=False):
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        return [*messages, {"role": "user", "content": self.questions[len(answers)]}]


def make_chats(shape: WorkloadShape) -> list[ScriptedChat]:
    """The chats of `shape`, the same on every machine. No two share a prefix, unless the system prompt is shared."""
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
    """A conversation of about `words` words whose last message is the person's, both sides from the word list."""
    each = words // (2 * turns)
    messages: list[Message] = [{"role": "system", "content": passage(each, f"{seed}/system")}]
    for turn in range(turns):
        messages.append({"role": "user", "content": question(each, f"{seed}/{turn}/question")})
        messages.append({"role": "assistant", "content": passage(each, f"{seed}/{turn}/answer")})
    return messages[:-1]


def question(words: int, seed: str) -> str:
    """A request of `words` words; at least 7."""
    opening = random.Random(f"{seed}/opening").choice(_OPENINGS) + " this:"
    return f"{opening} {passage(max(words - len(opening.split()), 1), seed)}"


def plain_words(count: int, seed: str) -> list[str]:
    """Words without capitals or full stops: behind other text, each is one token of the default model."""
    return random.Random(seed).choices(WORDS, k=count)


def passage(words: int, seed: str) -> str:
    """`words` words in sentences of 6 to 12, decided by `seed` alone."""
    source = random.Random(seed)
    sentences: list[str] = []
    while words > 0:
        length = min(source.randint(6, 12), words)
        sentences.append(" ".join(source.choice(WORDS) for _ in range(length)).capitalize() + ".")
        words -= length
    return " ".join(sentences)

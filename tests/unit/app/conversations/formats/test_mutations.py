"""Exports with one damaged part: it costs no more than itself, is counted, and raises nothing but a refusal."""

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest

from app.conversations.imported_files import ReadFile, read_any
from engine.api.errors import InvalidRequestError
from tests.sizes import Size
from tests.unit.app.conversations.formats.exports import EXPORTS, llama_cpp_lines

Path = tuple[str | int, ...]

WORD: Final = re.compile(r"word\d+")
LISTS_OF_MESSAGES: Final = ("mapping", "chat_messages", "messages", "messagesTree", "children")
OTHERS: Final[tuple[Any, ...]] = (5, "x", True, [], {}, ["x"], {"x": 1})
CUTS: Final = (b"\xff", b"\x00", b'"', b"\\", b"\\x", b"{", b"]", b",", b"\\ud83d", b"")


@dataclass(frozen=True)
class Mutation:
    """A change of one value.

    kind: "drop", "duplicate", "reorder", or the name of what the value becomes.
    """

    path: Path
    kind: str
    value: Any = None

    def of(self, file: Any) -> Any:
        """Return the file with the change."""
        changed = copy.deepcopy(file)
        at = changed
        for name in self.path[:-1]:
            at = at[name]
        last = self.path[-1]
        match self.kind:
            case "drop":
                del at[last]
            case "duplicate" if isinstance(at, list) and isinstance(last, int):
                at.insert(last, copy.deepcopy(at[last]))
            case "duplicate":
                at[f"{last}2"] = copy.deepcopy(at[last])
            case "reorder" if isinstance(at[last], list):
                at[last].reverse()
            case "reorder":
                at[last] = dict(reversed(at[last].items()))
            case _:
                at[last] = copy.deepcopy(self.value)
        return changed

    def may_lose(self, leaf: Path) -> bool:
        """Return whether the text at a path may be lost: it was within what is changed, or in the same message."""
        if self.kind in ("duplicate", "reorder"):
            return False
        return self.holds(leaf) or owner(leaf) == owner(self.path)

    def holds(self, leaf: Path) -> bool:
        """Return whether the value at a path was within what is changed."""
        return leaf[: len(self.path)] == self.path

    def is_noticeable(self, leaf: Path) -> bool:
        """Return whether the loss of the text at a path can be noticed: no value of a possible type replaced it."""
        return self.value in (5, True) or (self.kind != "other" and not self.holds(leaf))


def owner(path: Path) -> Path:
    """Return the path of the message that a value belongs to."""
    ends = [index + 2 for index, name in enumerate(path) if name in LISTS_OF_MESSAGES]
    return path[: ends[-1]] if ends else path[:1]


def values(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value of a file with its path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield (*path, name), each
        yield from values(each, (*path, name))


def mutations(file: Any) -> list[Mutation]:
    found = list[Mutation]()
    for path, value in values(file):
        found += [Mutation(path, "drop"), Mutation(path, "null"), Mutation(path, "duplicate")]
        found += [Mutation(path, "other", other) for other in OTHERS if type(other) is not type(value)]
        if isinstance(value, str):
            found.append(Mutation(path, "strange", "x"))
        if isinstance(value, list | dict):
            found.append(Mutation(path, "reorder"))
    return found


def as_list(file: Any) -> bytes:
    return json.dumps(file).encode()


def as_lines(file: Any) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in file)


FILES: Final[dict[str, tuple[Callable[[Any], bytes], Any]]] = {
    **{name: (as_list, [make(100), make(200)]) for name, make in EXPORTS.items()},
    "llama-cpp lines": (as_lines, llama_cpp_lines([EXPORTS["llama-cpp"](100), EXPORTS["llama-cpp"](200)])),
}


def check(read: ReadFile) -> set[str]:
    """Check that the chats of a file can be stored, and return their words."""
    found = set[str]()
    for chat in read.chats:
        conversation, seen = chat.imported.conversation, dict[str, str]()
        for message in chat.imported.messages:
            above = "assistant" if message.parent_id is None else seen[message.parent_id]
            assert message.role != above
            assert message.id not in seen
            seen[message.id] = message.role
            text = f"{message.content}\n{message.reasoning or ''}"
            assert "\0" not in text.encode().decode()
            found.update(WORD.findall(text))
        assert conversation.head_id in seen
        assert "\0" not in (conversation.title or "").encode().decode()
    return found


def left_out(read: ReadFile) -> Counter[str]:
    return sum((Counter[str](chat.left_out) for chat in read.chats), Counter[str]())


def leaves(file: Any) -> dict[str, Path]:
    return {word: path for path, value in values(file) if isinstance(value, str) for word in WORD.findall(value)}


@pytest.mark.parametrize("name", FILES)
def test_file_is_read_whole(name: str) -> None:
    write, file = FILES[name]
    read = read_any(write(file))
    assert read.unreadable == []
    assert read.format == name.split()[0]
    assert check(read) == set(leaves(file))
    assert len({json.dumps(chat.left_out, sort_keys=True) for chat in read.chats}) == 1
    assert read.chats[0].left_out.get("other") is None


@pytest.mark.parametrize("name", FILES)
def test_damaged_value_costs_no_more_than_its_message(name: str, size: Size) -> None:
    write, file = FILES[name]
    chosen, known = mutations(file), leaves(file)
    before = left_out(read_any(write(file)))
    if not size.full:
        chosen = random.Random(5).sample(chosen, 120)
    for mutation in chosen:
        try:
            read = read_any(write(mutation.of(file)))
        except InvalidRequestError:
            lost, is_counted = set(known), True
        else:
            lost = set(known) - check(read)
            is_counted = left_out(read) - before != Counter() or read.unreadable != []
        assert all(mutation.may_lose(known[word]) for word in lost), (mutation, lost)
        assert is_counted or not any(mutation.is_noticeable(known[word]) for word in lost), (mutation, lost)


@pytest.mark.parametrize("name", FILES)
def test_two_damaged_values_cost_no_more_than_theirs(name: str, size: Size) -> None:
    write, file = FILES[name]
    known, chance = leaves(file), random.Random(6)
    possible = [each for each in mutations(file) if each.kind not in ("duplicate", "reorder") and len(each.path) > 1]
    for _ in range(size.pick(small=15, full=500)):
        # The first one comes later in the file, and the place of the second stays the same.
        two, one = sorted(chance.sample(possible, 2), key=possible.index)
        try:
            changed = two.of(one.of(file))
        except (KeyError, IndexError, TypeError):
            continue
        with suppress(InvalidRequestError):
            read = read_any(write(changed))
            if any("the same id" in each.problem for each in read.unreadable):
                continue
            lost = set(known) - check(read)
            assert all(one.may_lose(known[word]) or two.may_lose(known[word]) for word in lost), (one, two, lost)


@pytest.mark.parametrize("name", FILES)
def test_damaged_bytes_leave_the_chats_before_them(name: str, size: Size) -> None:
    write, file = FILES[name]
    body, chance = write(file), random.Random(7)
    known = leaves(file)
    begin = body.index(b"word200" if b"word200" in body else b"c200")
    first = {word for word in known if int(word[4:]) < 200}
    for _ in range(size.pick(small=30, full=1_000)):
        at, bytes_ = chance.randrange(begin, len(body)), chance.choice(CUTS)
        rest = b"" if chance.random() < 0.3 else body[at + 1 :]
        read = read_any(body[:at] + bytes_ + rest)
        assert first <= check(read), (at, bytes_, rest[:20])

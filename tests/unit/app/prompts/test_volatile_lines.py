"""Lines that change between the requests of real clients leave the system prompt, and nothing else does."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.prompts.prefix_rules import AS_SENT, STABLE
from app.prompts.volatile_lines import KNOWN_LINES, UNTREATED, TreatedLines, line_of_pattern, names_of, treat
from models.chat.format import Message
from tests.harness_bodies import HARNESSES, HEADER, IDENTITY, Harness, claude_code, git_status, opencode

KINDS = {kind.name: kind for kind in KNOWN_LINES}
OWN_HEADER = HEADER.format("104.f27", "cli")
MARK = re.compile(r"^(?:- |\d\. )")
EACH_HARNESS = pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.client)


def before_the_user(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "user"]


def first_of(messages: Sequence[Message], role: str) -> str:
    return next(message.content for message in messages if message.role == role)


def known(text: str) -> tuple[str, TreatedLines]:
    """Return the text without known lines, and their names."""
    treated = treat(text, KNOWN_LINES)
    return treated.text, names_of(treated.places)


def test_every_known_line_has_a_body_of_its_client() -> None:
    assert {harness.kind for harness in HARNESSES} == set(KINDS)
    assert all(kind.source for kind in KNOWN_LINES)


def test_labelled_date_far_below_other_labels_is_found() -> None:
    text = "".join(f"Rule {number}: be brief\n" for number in range(400))
    assert known(f"{text}Date: 2026-01-05\n{text}") == (text * 2, TreatedLines((), ("current-date",)))


@EACH_HARNESS
def test_requests_have_equal_messages_before_the_user(harness: Harness) -> None:
    sent = [before_the_user(harness.turns(line)) for line in harness.lines]
    applied = [before_the_user(STABLE.apply(harness.turns(line)).messages) for line in harness.lines]
    assert all(messages == applied[0] for messages in applied)
    assert all(messages != sent[0] for messages in sent[1:])


@EACH_HARNESS
def test_system_prompt_loses_nothing_but_the_line(harness: Harness) -> None:
    for line in harness.lines:
        sent = harness.turns(line)
        left = first_of(STABLE.apply(sent).messages, "system")
        assert left.split() == first_of(sent, "system").replace(line, "").replace(OWN_HEADER, "").split()


@EACH_HARNESS
def test_moved_line_begins_the_first_message_of_the_user(harness: Harness) -> None:
    for line in harness.lines:
        sent = harness.turns(line)
        applied = STABLE.apply(sent)
        if KINDS[harness.kind].treatment == "moved":
            assert harness.kind in applied.lines.moved
            assert first_of(applied.messages, "user") == f"{MARK.sub('', line)}\n\n{first_of(sent, 'user')}"
        else:
            assert applied.lines == TreatedLines((harness.kind,), ())
            assert first_of(applied.messages, "user") == first_of(sent, "user")


@EACH_HARNESS
def test_no_line_is_treated_while_the_rules_are_off(harness: Harness) -> None:
    sent = harness.turns(harness.lines[0])
    applied = AS_SENT.apply(sent)
    assert (list(applied.messages), applied.lines) == (sent, UNTREATED)


def test_text_that_follows_the_header_directly_stays() -> None:
    [harness] = [each for each in HARNESSES if each.kind == "claude-code-billing-header"]
    for header in harness.lines:
        assert first_of(STABLE.apply(harness.turns(header)).messages, "system").startswith(f"{IDENTITY}\n")
        assert known(f"{header}\n{IDENTITY}") == (IDENTITY, TreatedLines((harness.kind,), ()))


def test_line_is_cut_out_with_its_indent_and_line_break() -> None:
    sent = Harness("opencode", "", opencode, ()).turns("Today's date: Mon Sep 07 2026")
    assert "  Platform: linux\n</env>" in first_of(STABLE.apply(sent).messages, "system")


@pytest.mark.parametrize(
    "text",
    [
        f"The line {OWN_HEADER} is a header.",
        "x-anthropic-billing-header: none",
        "Today's date: always write it like 2026-01-05.",
        "Today's date: 2026-01-05 is a holiday",
        "Say it like Today's date: 2026-01-05",
        "Knowledge cutoff: 2026-01-05",
        "Release date: 2026-01-05",
        "Version: 1.2.3",
        "Meeting: 10:00 to 11:00",
        "the date: 2026-01-05",
        "Write the date of the day: 2026-01-05",
        "Example: Date: 2026-01-05",
        "Session: none",
        "Current date: unknown",
        "The current date is 2026-01-05 14:00. Answer briefly.",
        "Current time is 20:37:19. Today's date is 2024-12-20. Be kind.",
        f"{git_status('(clean)')}\n\nAlways run the tests.",
        "gitStatus: This is the git status at the start of the conversation.\nIt is clean.",
        " " * 20 + "Current date: 2026-01-05",
    ],
)
def test_line_of_another_form_stays_where_it_is(text: str) -> None:
    assert known(text) == (text, UNTREATED)


def test_lines_in_later_messages_stay_where_they_are() -> None:
    body = claude_code(OWN_HEADER)
    body["messages"] += [
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": f"{OWN_HEADER}\nToday's date: 2026-01-05"},
    ]
    sent = Harness("Claude Code", "", lambda _: body, ()).turns("")
    assert list(STABLE.apply(sent).messages)[-3:] == sent[-3:]


@pytest.mark.parametrize(
    ("pattern", "line", "matches"),
    [
        ("Trace id: *", "Trace id: 12-ab", True),
        ("Trace id: *", "  - Trace id: ", True),
        ("Trace id: *", "The Trace id: 12", False),
        ("Turn * of *", "Turn 3 of 40", True),
        ("Turn * of *", "Turn of the tide", False),
        ("Open * files, * lines", "Open 3 files, 9 lines \r", True),
        ("Open * files, * lines", "Open 3 files, 9 lines long", False),
        ("Cost (so far): $*.", "Cost (so far): $1.20.", True),
        ("Cost (so far): $*.", "Cost (so far): $1.20", False),
        (r"\*\*Mood\*\*: *", "**Mood**: calm", True),
        (r"\*\*Mood\*\*: *", "Mood: calm", False),
        (r"Rated \* of *", "Rated * of 5", True),
        (r"Rated \* of *", "Rated 4 of 5", False),
        ("Beta build", "Beta build", True),
        ("Beta build", "Beta builds", False),
    ],
)
def test_pattern_matches_whole_lines(pattern: str, line: str, matches: bool) -> None:
    kinds = [line_of_pattern(pattern, "removed")]
    treated = treat(f"one\n{line}\ntwo", kinds)
    assert treated.text == ("one\ntwo" if matches else f"one\n{line}\ntwo")
    assert names_of(treated.places) == (TreatedLines(("removed-lines",), ()) if matches else UNTREATED)


def test_first_of_two_overlapping_lines_counts() -> None:
    kinds = [line_of_pattern("Current date: *", "removed"), *KNOWN_LINES]
    assert names_of(treat("Current date: 2026-01-05\nBe brief.", kinds).places) == TreatedLines(("removed-lines",), ())


HOSTILE = (
    OWN_HEADER,
    "x-anthropic-billing-header:" + " a=b;" * 40,
    "x-anthropic-billing-header:" + " a=" + "b" * 2000,
    "\nCurrent date: ",
    "\nToday's date: 2026-01-05",
    "\nTurn " + "3 of" * 500,
    "\nTurn " + "a" * 2000,
    git_status("\n" * 20000),
    git_status("M a\n" * 20) + "\n",
    "gitStatus: This is the git status at the start of the conversation.\nCurrent branch: a\nStatus:\n" + "\n" * 900,
    " ",
    "\n",
    "-",
)


@pytest.mark.parametrize("piece", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_megabyte_takes_bounded_time(piece: str) -> None:
    kinds = [line_of_pattern("Turn *3 of*3 of*3 of*3 of*x", "removed"), *KNOWN_LINES]
    text = piece * ((1 << 20) // len(piece) + 1)
    began = time.thread_time()
    treat(text, kinds)
    # A run takes some milliseconds. A pattern that backtracks would take minutes.
    assert time.thread_time() - began < 2.0


def test_page_has_words_for_every_known_line() -> None:
    texts = Path(__file__).parents[4].joinpath("web", "src", "i18n", "en", "receipt.ts").read_text(encoding="utf-8")
    names = texts.partition("promptLines: {")[2].partition("}")[0]
    assert [name for name in KINDS if f'"{name}":' not in names] == []

"""Lines of a system prompt that change between requests, such as a hash or the date, and their treatment.

A line that changes ends the reuse of KV for everything after it. `KNOWN_LINES` has those that clients are known to
send. A line that means nothing to a model is removed. A line that means something is moved behind the stable part of
the prompt, which `app.prompts.prefix_rules` does.

Matching takes linear time, since the text is a client's. A line is found by its beginning, a pattern reads a bounded
number of characters after it, and the number of attempts is bounded.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from app.domain.wildcards import plain_parts, source_between

Treatment = Literal["removed", "moved"]

MAX_ATTEMPTS: Final = 64
"""Maximum number of places in one text at which one kind of line is tried. Lines beyond them are left as they are."""
MAX_INDENT: Final = 8
"""Maximum number of characters before a line's beginning: spaces, tabs, or the mark of a list."""
MAX_TAIL: Final = 16
"""Maximum number of white space characters between the end of a match and the end of the text."""
MAX_LABELS: Final = 512
"""Maximum number of places in one text at which a labelled line is tried."""
MAX_LABEL: Final = 64
"""Maximum number of characters from the beginning of a line to the end of its label."""
MAX_VALUE: Final = 256
"""Maximum number of characters of a label's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolatileLine:
    """A kind of line that changes between requests.

    name: name of the kind in receipts.
    beginning: text that the line begins with, after an indent.
    rest: pattern of the text after the beginning.
    source: the clients that send the line, and where its form was seen.
    ends: where a match must end. "anywhere" is for a line that the next text may follow directly.
    most: maximum number of characters of the rest.
    """

    name: str
    treatment: Treatment
    beginning: str
    rest: re.Pattern[str]
    source: str
    ends: Literal["anywhere", "line", "text"] = "line"
    most: int = 512

    def places(self, text: str) -> Iterator["FoundLine"]:
        """Yield the places of such lines in `text`, in order."""
        at = text.find(self.beginning)
        for _ in range(MAX_ATTEMPTS):
            if at < 0:
                return
            start, after = _without_indent(text, at), at + len(self.beginning)
            begins_line = text[start - 1 : start] in ("", "\n")
            hit = self.rest.match(text, after, after + self.most) if begins_line else None
            if hit is not None and self._may_end(text, hit.end()):
                yield FoundLine(self, start, at, hit.end())
            at = text.find(self.beginning, after)

    def _may_end(self, text: str, end: int) -> bool:
        if self.ends == "line":
            return text[end : end + 1] in ("", "\n")
        return self.ends == "anywhere" or (len(text) - end <= MAX_TAIL and not text[end:].strip())


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """A kind of line with a label and a value that changes, such as `Date: 2026-01-05`, whichever client sends it.

    value: pattern of the value, and the white space to the end of the line.
    name, source: as in `VolatileLine`. Such a line is moved.
    """

    name: str
    value: re.Pattern[str]
    source: str
    treatment: Treatment = "moved"

    def places(self, text: str) -> Iterator["FoundLine"]:
        """Yield the places of such lines in `text`, in order."""
        at = text.find(":")
        for _ in range(MAX_LABELS):
            if at < 0:
                return
            hit = self.value.match(text, at + 1, at + MAX_VALUE)
            if hit is not None and text[hit.end() : hit.end() + 1] in ("", "\n"):
                start = text.rfind("\n", max(0, at - MAX_LABEL), at) + 1
                label = _LABEL.fullmatch(text, start, at)
                if label is not None and (start or at < MAX_LABEL) and not _OF_A_THING.search(text, start, at):
                    yield FoundLine(self, start, label.start("label"), hit.end())
            at = text.find(":", at + 1)


LineKind = VolatileLine | LabelledLine


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A volatile line in a text: its indent begins at `start`, its own text is from `begin` to `end`."""

    kind: LineKind
    start: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class TreatedLines:
    """Names of the kinds of lines that were removed from a prompt, and of those that were moved, each once."""

    removed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()


UNTREATED: Final = TreatedLines()


@dataclass(frozen=True, slots=True)
class TreatedText:
    """A text without its volatile lines.

    moved: the lines that are to be moved, without indent.
    """

    text: str
    places: tuple[FoundLine, ...] = ()
    moved: tuple[str, ...] = ()


def treat(text: str, kinds: Sequence[LineKind]) -> TreatedText:
    """Take the lines of `kinds` out of `text`. If two overlap, the first counts."""
    kept, moved, taken, at = list[str](), list[str](), list[FoundLine](), 0
    for place in sorted((place for kind in kinds for place in kind.places(text)), key=lambda place: place.start):
        if place.start < at:
            continue
        kept.append(text[at : place.start])
        at = place.end + 1 if text[place.end : place.end + 1] == "\n" else place.end
        taken.append(place)
        if place.kind.treatment == "moved":
            moved.append(text[place.begin : place.end].rstrip())
    return TreatedText("".join([*kept, text[at:]]), tuple(taken), tuple(moved)) if taken else TreatedText(text)


def names_of(places: Sequence[FoundLine]) -> TreatedLines:
    """Return the names of the lines at `places`, by treatment."""
    removed = dict.fromkeys(each.kind.name for each in places if each.kind.treatment == "removed")
    moved = dict.fromkeys(each.kind.name for each in places if each.kind.treatment == "moved")
    return TreatedLines(tuple(removed), tuple(moved))


def line_of_pattern(pattern: str, treatment: Treatment) -> VolatileLine:
    """Make the kind of line that a pattern of `app.config.parsers` matches."""
    beginning, *rest = plain_parts(pattern)
    name = f"{treatment}-lines"
    return VolatileLine(
        name=name, treatment=treatment, beginning=beginning, rest=_line(source_between(["", *rest])), source=f"--{name}"
    )


def _without_indent(text: str, at: int) -> int:
    """Return where the indent before `at` begins."""
    start = at
    while start > max(0, at - MAX_INDENT) and text[start - 1] in " \t-*":
        start -= 1
    return start


def _line(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + r"[ \t\r]*+")


_ISO_DAY: Final = r"\d{4}-\d{2}-\d{2}"
_GIT_STATUS: Final = (
    r"[^\n]*+\n{1,2}+Current branch: [^\n]*+\n{1,2}+(?>Main branch [^\n]*+\n{1,2}+)?+(?>Git user: [^\n]*+\n{1,2}+)?+"
    r"Status:\n(?>(?:[^\n]*+\n)*?Recent commits:\n)(?>[0-9a-f]{4,40}+ [^\n]*+(?:\n|\Z))*+\s*+"
)

_LABEL: Final = re.compile(
    r"[ \t]{0,8}+(?>(?:[-*•]|\d{1,2}[.)])[ \t]++)?+(?P<label>\*{0,2}+[A-Z][\w'’-]*+(?> [\w'’-]++){0,3}+)\*{0,2}+[ \t]*+"
)
"""A label, with the mark of a list before it, and perhaps in bold: at most four words, the first with a capital."""
_OF_A_THING: Final = re.compile(r"(?i)birth|born|cut-?off|deadline|due|expir|publish|releas|since|updated|version")
"""Words of labels whose date does not change with the day of the request."""
_MONTH: Final = r"[A-Z][a-z]{2,8}+\.?+"
_WEEKDAY: Final = r"(?>[A-Z][a-z]{2,8}+,?+ )?+"
_DAY: Final = (
    rf"(?>{_ISO_DAY}|\d{{1,2}}/\d{{1,2}}/\d{{4}}|\d{{1,2}}\.\d{{1,2}}\.\d{{4}}|\d{{4}}/\d{{1,2}}/\d{{1,2}}"
    rf"|{_WEEKDAY}(?>{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?+,?+ \d{{4}}|\d{{1,2}}(?:st|nd|rd|th)?+ {_MONTH},?+ \d{{4}}))"
)
_CLOCK: Final = r"\d{1,2}:\d{2}(?>:\d{2}(?:\.\d{1,9})?+)?+(?>[ \u202f]?[AaPp]\.?[Mm]\.?)?+"
_ZONE: Final = r"(?>[ \t]?(?>Z|UTC|GMT|[A-Z]{3,5}|\(?[A-Za-z_]++/[A-Za-z_]++\)?)?+(?>[+-]\d{1,2}:?\d{0,2})?)?+"
_UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def _value(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\*{{0,2}}+[ \t]++{pattern}[ \t\r]*+")


KNOWN_LINES: Final[tuple[LineKind, ...]] = (
    VolatileLine(
        name="claude-code-billing-header",
        treatment="removed",
        beginning="x-anthropic-billing-header:",
        rest=re.compile(r"(?> ?[a-z_]{1,32}+=[^;\s]{0,128}+;){1,16}+"),
        source=(
            "Claude Code 2.1, as the first block of `system`, which the next one follows without a line break: "
            "captured requests from 2.1.39 on, in the pull requests with which llama.cpp, vLLM and SGLang treat "
            "the line"
        ),
        ends="anywhere",
        most=2048,
    ),
    VolatileLine(
        name="claude-code-git-status",
        treatment="moved",
        beginning="gitStatus: This is the git status at the start of the conversation.",
        rest=re.compile(_GIT_STATUS),
        source=(
            "Claude Code before 2.1.267, as the end of `system`, read again after each edit: captured requests of "
            "2.0, and measurements of 2.1.104"
        ),
        ends="text",
        most=16384,
    ),
    VolatileLine(
        name="todays-date",
        treatment="moved",
        beginning="Today's date: ",
        rest=_line(rf"(?>{_ISO_DAY}|\d{{1,2}}/\d{{1,2}}/\d{{4}}|[A-Z][a-z]{{2}} [A-Z][a-z]{{2}} \d{{2}} \d{{4}})"),
        source=(
            "opencode (session/system.ts), Crush (agent/prompt/prompt.go), Claude Code before the date was in its "
            "first message (a captured request of 2.0.0), all inside of <env>"
        ),
    ),
    VolatileLine(
        name="current-date",
        treatment="moved",
        beginning="Current date: ",
        rest=_line(_ISO_DAY),
        source="aider (coders/base_coder.py), as an item of a list; Pi (system-prompt.ts)",
    ),
    VolatileLine(
        name="current-date-and-time",
        treatment="moved",
        beginning="Current date and time: ",
        rest=_line(
            r"[A-Z][a-z]+, [A-Z][a-z]+ \d{1,2}, \d{4}(?:,| at) \d{1,2}:\d{2}(?::\d{2})?[ \u202f][AP]M \S{1,16}+"
        ),
        source=(
            "Pi before it sent the day only (system-prompt.ts), and its port to Rust (app.rs), which reads the "
            "clock again for each request"
        ),
    ),
    VolatileLine(
        name="goose-date",
        treatment="moved",
        beginning="The current date is ",
        rest=_line(rf"{_ISO_DAY} \d{{2}}:\d{{2}}(?::\d{{2}})?\."),
        source="goose (prompts/system.md), in its third line",
    ),
    VolatileLine(
        name="kimi-cli-date",
        treatment="moved",
        beginning="The current date and time in ISO format is `",
        rest=re.compile(r"[0-9T:.+Z-]{10,40}+`\.[^\n]*+"),
        source="Kimi CLI (agents/default/system.md), with a sentence on its use behind it",
    ),
    VolatileLine(
        name="home-assistant-clock",
        treatment="moved",
        beginning="Current time is ",
        rest=_line(rf"\d{{2}}:\d{{2}}:\d{{2}}\. Today's date is {_ISO_DAY}\."),
        source="Home Assistant (helpers/llm.py), as the first line, read for each request",
    ),
    LabelledLine(
        "current-date",
        _value(_DAY),
        "Cline 3 (`2. Date: 11/28/2026`, in <env>) and others with a label of their own",
    ),
    LabelledLine(
        "current-date-and-time",
        _value(rf"(?>{_DAY}(?>T|,?+ (?:at )?+))?+{_CLOCK}{_ZONE}"),
        "clients with a label of their own",
    ),
    LabelledLine(
        "session-id",
        _value(rf"\S*?{_UUID}\S*+"),
        "Copilot CLI 1.0 (`Session folder: ` and a path that ends with an id)",
    ),
)
"""Lines that clients send in the system prompt. Each has a test with the text that its client sends."""

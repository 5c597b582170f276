"""Report of one run, as JSON and as Markdown made from it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bench.tool_calls.answers import WAYS, WHOLE, Answer
from bench.tool_calls.formats import Format
from bench.tool_calls.judge import fault_of, is_late
from bench.tool_calls.outcome import Outcome

ALL_WAYS: Final = (WHOLE, *WAYS)
_LONGEST: Final = 300
_MOST_NAMES: Final = 6

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by name of the case and by way."""


def score(how: Format, answers: Sequence[Answer], outcomes: Outcomes) -> dict[str, Any]:
    """Judge the outcomes of one side in one format.

    Return by way the number of right outcomes, the number of all, and that of late calls; and the wrong ones with the
    first outcome of each case.
    """
    by_way = {way: {"right": 0, "of": 0, "late": 0} for way in ALL_WAYS}
    wrong = dict[str, dict[str, Any]]()
    for answer in answers:
        for way, outcome in outcomes[answer.case.name].items():
            fault = fault_of(outcome, answer, how)
            by_way[way]["of"] += 1
            by_way[way]["right"] += fault is None
            by_way[way]["late"] += is_late(outcome, answer, way)
            if fault is not None:
                found = wrong.setdefault(answer.case.name, {"ways": {}, "example": _example(answer, outcome)})
                found["ways"][way] = fault.value
    return {"ways": {way: count for way, count in by_way.items() if count["of"]}, "wrong": wrong}


def total(side: Mapping[str, Any], key: str) -> int:
    """Return the sum of a count over all ways."""
    return sum(count[key] for count in side["ways"].values())


def to_markdown(report: Mapping[str, Any]) -> str:
    """Format a report as two tables."""
    peers = [each for each in report["formats"] if each["vllm"] is not None]
    lines = [
        f"Answers with tool calls, read by Ebb and by the parsers of vLLM {report['vllm']}, {report['measured_on']}.",
        "",
        "Each answer is read whole and in four streams, by the rules of `bench/tool_calls/cases.py`. A late call is",
        "reported when its arguments have ended, and counts as right. Ebb was corrected until it read all answers but",
        "those that write a whole call in prose, in formats whose marks are not tokens. Its column is therefore a",
        "test. Neither column is a share of the answers of real models.",
        "",
        "| format | Ebb: right | vLLM: right | late, Ebb and vLLM | vLLM's parser | wrong in vLLM |",
        "| --- | ---: | ---: | ---: | --- | --- |",
        *map(_row, report["formats"]),
        "",
        "Right outcomes of vLLM by the way in which the answer arrives:",
        "",
        f"| format | {' | '.join(ALL_WAYS)} |",
        f"| --- |{' ---: |' * len(ALL_WAYS)}",
        *(_row_of_ways(f"`{each['format']}`", each["vllm"]["ways"]) for each in peers),
        _row_of_ways("all", {way: _sum(each["vllm"]["ways"].get(way, {}) for each in peers) for way in ALL_WAYS}),
    ]
    wrong = [f"- `{each['format']}`: {_names(each['ebb'])}" for each in report["formats"] if each["ebb"]["wrong"]]
    if wrong:
        lines += ["", "Wrong in Ebb:", "", *wrong]
    return "\n".join(lines) + "\n"


def _example(answer: Answer, outcome: Outcome) -> dict[str, Any]:
    calls = [f"{call.name} {call.arguments}"[:_LONGEST] for call in outcome.calls]
    return {"answer": answer.text[:_LONGEST], "text": outcome.text[:_LONGEST], "calls": calls, "error": outcome.error}


def _row(each: Mapping[str, Any]) -> str:
    ebb, peer = each["ebb"], each["vllm"]
    right = f"{total(ebb, 'right')} of {total(ebb, 'of')}"
    if peer is None:
        return f"| `{each['format']}` | {right} | – | {total(ebb, 'late')}, – | `{each['parser']}` | {each['gap']} |"
    theirs = f"{total(peer, 'right')} of {total(peer, 'of')}"
    late = f"{total(ebb, 'late')}, {total(peer, 'late')}"
    notes = "; ".join(filter(None, [each["gap"], _names(peer)]))
    return f"| `{each['format']}` | {right} | {theirs} | {late} | `{each['parser']}` | {notes} |"


def _row_of_ways(name: str, ways: Mapping[str, Mapping[str, int]]) -> str:
    counts = (ways.get(way) for way in ALL_WAYS)
    cells = ("–" if count is None else f"{count['right']} of {count['of']}" for count in counts)
    return f"| {name} | {' | '.join(cells)} |"


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found = Counter[str]()
    for count in counts:
        found.update(count)
    return dict(found)


def _names(side: Mapping[str, Any]) -> str:
    """Name the wrong cases, by the ways in which they are wrong."""
    groups = dict[str, list[str]]()
    for name, wrong in side["wrong"].items():
        groups.setdefault(_ways(wrong["ways"], side["ways"]), []).append(name)
    return "; ".join(f"{ways}: {_listed(names)}" for ways, names in groups.items())


def _ways(wrong: Iterable[str], measured: Iterable[str]) -> str:
    ways = set(wrong)
    if ways == set(measured):
        return "always"
    if ways == set(WAYS):
        return "in every stream"
    return ", ".join(way for way in ALL_WAYS if way in ways)


def _listed(names: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in names[:_MOST_NAMES]]
    more = len(names) - len(quoted)
    return ", ".join(quoted) + (f" and {more} more" if more else "")

"""vLLM's reading of answers, in a separate process."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.tool_calls.answers import WHOLE, Answer, Vocabulary
from bench.tool_calls.cases import TOOLS
from bench.tool_calls.formats import Format
from bench.tool_calls.outcome import Outcome, outcome_of

_PROGRAM = Path(__file__).with_name("vllm_side.py")


@dataclass(frozen=True, slots=True)
class PeerReading:
    """Outcomes of one format.

    unusable: why the parser cannot be used, or empty.
    outcomes: by name of the case and by way.
    """

    unusable: str
    outcomes: dict[str, dict[str, Outcome]]


def read_all(python: Path, log: Path, work: Iterable[tuple[Format, Vocabulary, Sequence[Answer]]]) -> list[PeerReading]:
    """Read the answers of all formats. Raise CalledProcessError if the program fails.

    python: interpreter of vLLM's environment.
    log: file for what vLLM prints.
    """
    lines = "".join(json.dumps(_work(*each)) + "\n" for each in work)
    environment = os.environ | {"VLLM_LOGGING_LEVEL": "ERROR"}
    environment.pop("PYTHONPATH", None)
    with log.open("w") as errors:
        done = subprocess.run(
            [str(python), str(_PROGRAM)],
            input=lines,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=True,
            env=environment,
        )
    return [_reading(json.loads(line)) for line in done.stdout.splitlines()]


def _work(how: Format, words: Vocabulary, answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "parser": how.peer,
        "tokenizer": words.spec(),
        "end_id": words.end_id,
        "prompt_ids": words.ids("Hello"),
        "tools": TOOLS,
        "whole": WHOLE,
        "answers": [
            {
                "name": answer.case.name,
                "is_cut": bool(answer.case.cut_after),
                "arrivals": {WHOLE: answer.arrivals["one piece"], **answer.arrivals},
            }
            for answer in answers
        ],
    }


def _reading(reply: dict[str, Any]) -> PeerReading:
    outcomes = {name: {way: outcome_of(body) for way, body in ways.items()} for name, ways in reply["outcomes"].items()}
    return PeerReading(reply["unusable"], outcomes)

"""`python -m bench.tool_calls`: how Ebb and vLLM read calls of tools out of answers.

Writes tool_calls.json and tool_calls.md. llama.cpp is left out: no public function of its library reads calls.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.config.settings import load_settings
from bench.peers import vllm_cpu
from bench.peers.workshop import PreparationError
from bench.report import RESULTS, show_results
from bench.tool_calls.answers import WHOLE, Answer, answers_of
from bench.tool_calls.ebb_side import EbbReader
from bench.tool_calls.formats import FORMATS, Format
from bench.tool_calls.peer import PeerReading, read_all
from bench.tool_calls.report import ALL_WAYS, Outcomes, score, to_markdown


def main(argv: Sequence[str] | None = None) -> int:
    """Read all answers, print and write. Return 1 if vLLM could not be prepared."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_calls", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="output folder")
    parser.add_argument("--cache-dir", type=Path, default=load_settings({}).cache_dir, help="folder above that of vLLM")
    parser.add_argument("--torch-cpu-index", default="https://download.pytorch.org/whl/cpu", metavar="URL")
    arguments = parser.parse_args(argv)
    work = [(how, *answers_of(how)) for how in FORMATS]
    measured = [each for each in work if not each[0].peer_gap]
    try:
        installed = vllm_cpu.prepare(arguments.cache_dir / "peers", arguments.torch_cpu_index)
        with tempfile.TemporaryDirectory(prefix="ebb-tool-calls-") as folder:
            readings = _read(installed.command.with_name("python"), Path(folder) / "vllm.log", measured)
    except (PreparationError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    peers = {how.name: reading for (how, _, _), reading in zip(measured, readings, strict=True)}
    formats = []
    for how, words, answers in work:
        reader = EbbReader(how, words)
        ours = {each.case.name: {way: reader.read(each, way) for way in ALL_WAYS} for each in answers}
        formats.append(_entry(how, answers, ours, peers.get(how.name)))
    report = {
        "measured_on": datetime.now(UTC).date().isoformat(),
        "vllm": vllm_cpu.VERSION,
        "cases": {how.name: [answer.case.name for answer in answers] for how, _, answers in work},
        "formats": formats,
    }
    show_results(arguments.out, "tool_calls", report, to_markdown(report))
    return 0


def _read(python: Path, log: Path, work: Sequence[Any]) -> list[PeerReading]:
    """Read with vLLM. Print the end of its log if the program fails, and raise CalledProcessError."""
    try:
        return read_all(python, log, work)
    except subprocess.CalledProcessError:
        print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]), file=sys.stderr)
        raise


def _entry(how: Format, answers: Sequence[Answer], ours: Outcomes, peer: PeerReading | None) -> dict[str, Any]:
    """Return one format of the report."""
    gap, theirs = how.peer_gap, None
    if peer is not None and peer.unusable:
        gap = f"not measured: {peer.unusable}"
    elif peer is not None:
        ways = ALL_WAYS if how.peer_streams else (WHOLE,)
        gap = "" if how.peer_streams else "reads no streams"
        theirs = score(how, answers, {name: {way: read[way] for way in ways} for name, read in peer.outcomes.items()})
    ebb = score(how, answers, ours)
    return {"format": how.name, "parser": how.peer, "gap": gap, "ebb": ebb, "vllm": theirs}


if __name__ == "__main__":
    sys.exit(main())

"""aiperf, with prompts that it makes itself."""

import json
from pathlib import Path

from tests.clients.heavy.served import Served, client_program, run
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("aiperf", "0.13.0")
REQUESTS = 8


@row(PROGRAM, "aiperf profile --endpoint-type chat --streaming ...", "every request succeeds, with times to the first "
     "token")  # fmt: skip
def test_aiperf_measures_every_request(ebb: Served, tmp_path: Path) -> None:
    command: list[str | Path] = [
        client_program([f"aiperf=={PROGRAM.version}"], "aiperf", "(1 GB)"),
        "profile",
        "--url",
        ebb.url,
    ]
    target = ("--model", ebb.model, "--tokenizer", ebb.tokenizer, "--api-key", ebb.key)
    kind = ("--endpoint-type", "chat", "--streaming", "--request-count", str(REQUESTS), "--concurrency", "2")
    sizes = ("--synthetic-input-tokens-mean", "64", "--output-tokens-mean", "16", "--ui", "none")
    run([*command, *target, *kind, *sizes, "--artifact-dir", tmp_path / "found"], tmp_path, {})
    [found] = (tmp_path / "found").rglob("profile_export_aiperf.json")
    figures = json.loads(found.read_text())
    assert figures["request_count"]["avg"] == REQUESTS

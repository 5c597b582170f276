"""lm-evaluation-harness, with a task from a local file."""

import json
from pathlib import Path
from typing import Any

from tests.clients.heavy.served import Served, client_program, run
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("lm_eval", "0.4.13")
CHOICE = """\
task: choice
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: [salt, sugar]
doc_to_target: 0
metric_list: [{{metric: acc}}]
"""
FREE = """\
task: free
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{data}"}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: salt
generation_kwargs: {{until: ["\\n\\n\\n"], max_gen_toks: 8, do_sample: true, temperature: 1.0}}
metric_list: [{{metric: exact_match}}]
"""


def evaluate(ebb: Served, folder: Path, task: str, model: str, arguments: dict[str, str], *options: str) -> Any:
    """Run a task and return its results."""
    data = folder / "questions.jsonl"
    data.write_text("".join(json.dumps({"question": f"Question {number}: the sea has"}) + "\n" for number in range(4)))
    (folder / "choice.yaml").write_text(CHOICE.format(data=data))
    (folder / "free.yaml").write_text(FREE.format(data=data))
    given = ",".join(f"{name}={value}" for name, value in {"model": ebb.model, **arguments}.items())
    command: list[str | Path] = [
        client_program([f"lm_eval[api]=={PROGRAM.version}", "transformers==5.23.0"], "lm_eval", "(1 GB)"),
        "--model",
        model,
    ]
    places = ("--tasks", task, "--include_path", folder, "--output_path", folder / "results", "--log_samples")
    run(
        [*command, "--model_args", given, *places, *options], folder, {"OPENAI_API_KEY": ebb.key, "HF_HUB_OFFLINE": "1"}
    )
    [found] = (folder / "results").rglob("results_*.json")
    return json.loads(found.read_text())


@row(PROGRAM, "lm_eval --model local-completions ...", "log probabilities of choices: `echo` with `logprobs`, from "
     "token ids")  # fmt: skip
def test_lm_eval_ranks_choices(ebb: Served, tmp_path: Path) -> None:
    arguments = {"base_url": f"{ebb.url}/v1/completions", "tokenizer": str(ebb.tokenizer), "num_concurrent": "2"}
    results = evaluate(ebb, tmp_path, "choice", "local-completions", arguments)
    assert 0 <= results["results"]["choice"]["acc,none"] <= 1
    assert results["n-samples"]["choice"]["effective"] == 4


@row(PROGRAM, "lm_eval --model local-chat-completions --apply_chat_template ...", "answers up to `until`")
def test_lm_eval_reads_answers(ebb: Served, tmp_path: Path) -> None:
    arguments = {"base_url": f"{ebb.url}/v1/chat/completions", "num_concurrent": "2"}
    results = evaluate(ebb, tmp_path, "free", "local-chat-completions", arguments, "--apply_chat_template")
    assert results["n-samples"]["free"]["effective"] == 4
    [samples] = (tmp_path / "results").rglob("samples_free_*.jsonl")
    assert any(json.loads(line)["resps"][0][0] for line in samples.read_text().splitlines())

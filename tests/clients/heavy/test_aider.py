"""aider with one message, with the environment that docs/reference/api shows."""

from pathlib import Path

from bench.agents.install import AIDER, install_aider
from tests.clients.heavy.served import Served, run
from tests.conftest import default_cache_dir
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("aider-chat", AIDER)


@row(PROGRAM, "aider --model openai/NAME --message ...", "the answer, streamed; `OPENAI_API_BASE` and `OPENAI_API_KEY`")
def test_aider_prints_and_keeps_the_answer(ebb: Served, tmp_path: Path) -> None:
    variables = {"OPENAI_API_BASE": f"{ebb.url}/v1", "OPENAI_API_KEY": ebb.key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    options = ("--no-git", "--yes-always", "--no-pretty", "--no-show-model-warnings", "--no-check-update")
    settings = tmp_path / "settings.json"
    # At temperature 0, a model of random weights may repeat itself until the window ends.
    settings.write_text(f'[{{"name": "openai/{ebb.model}", "use_temperature": 1.0}}]')
    command: list[str | Path] = [
        install_aider(default_cache_dir()),
        "--model",
        f"openai/{ebb.model}",
        "--model-settings-file",
        settings,
    ]
    printed = run([*command, *options, "--message", "Why is the sea salty?"], tmp_path, variables)
    assert "Tokens:" in printed
    history = (tmp_path / ".aider.chat.history.md").read_text()
    _, _, answer = history.partition("#### Why is the sea salty?")
    assert answer.partition("> Tokens:")[0].strip()

import os
import time
from pathlib import Path

import pytest

from app.config.served_models import model_name
from app.host.model_aliases import ModelAliases

ALIASES = ModelAliases({"gpt-4o": "m", "claude-*": "m", "claude-3": "other", "*-mini.v*": "m", "claude-h*": "other"})


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("gpt-4o", "m"),
        ("gpt-4oo", "gpt-4oo"),
        ("claude-", "m"),
        ("claude-sonnet-5", "m"),
        ("claude-3", "other"),
        ("claude-haiku", "m"),
        ("a-mini.v-mini.v", "m"),
        ("o4-mini.v2", "m"),
        ("o4-mini-v2", "o4-mini-v2"),
        ("my-claude-3", "my-claude-3"),
    ],
)
def test_alias_stands_for_its_model(name: str, model: str) -> None:
    assert ALIASES.model(name) == model


def test_only_exact_names_of_the_model_are_listed() -> None:
    assert ALIASES.names_of("m") == ["gpt-4o"]
    assert ModelAliases().names_of("m") == []


def test_hostile_name_takes_bounded_time() -> None:
    aliases = ModelAliases({"*".join("abcdefgh") + "*x": "m"})
    began = time.thread_time()
    assert aliases.model("a" + "bcdefgh" * 146) != "m"
    assert time.thread_time() - began < 1.0


def test_name_of_a_folder_that_is_no_text_can_be_sent(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"tiny-\xff")
    folder.mkdir()
    assert model_name(str(folder)) == "tiny-?"
    assert model_name(f"{folder}.gguf") == "tiny-?"

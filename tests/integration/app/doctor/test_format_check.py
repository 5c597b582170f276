"""The finding of `ebb doctor` on formats, for templates in the shape of those of model families."""

import json
from pathlib import Path

import pytest

from app.config.options import SettingsError
from app.config.settings import Settings, load_settings
from app.doctor.finding import Finding
from app.doctor.format_check import check_formats
from tests import family_templates as templates
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer


def settings(tmp_path: Path, **flags: str) -> Settings:
    here = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache"), "model": str(tmp_path)}
    return load_settings(here | {name.replace("_", "-"): text for name, text in flags.items()}, environ={})


def found(tmp_path: Path, template: str, **flags: str) -> Finding:
    byte_tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": template}))
    return check_formats(settings(tmp_path, **flags))


def test_format_of_the_template_is_named(tmp_path: Path) -> None:
    finding = found(tmp_path, templates.LLAMA3)
    assert (finding.level, finding.text) == ("ok", "tool calls: llama3; reasoning: none")
    finding = found(tmp_path, templates.GRANITE3)
    assert finding.text == "tool calls: granite3; Ebb writes the calls into the prompt; reasoning: none"


def test_unknown_format_is_a_warning_until_it_is_named(tmp_path: Path) -> None:
    assert found(tmp_path, CHAT_TEMPLATE).level == "ok"
    strange = templates.HERMES.replace("tool_call>", "strange>")
    finding = found(tmp_path, strange)
    assert finding.level == "warn"
    assert "hermes; Ebb writes the tools and calls" in finding.text
    assert "--tool-format" in finding.advice
    assert found(tmp_path, strange, tool_format="granite3").level == "ok"


def test_template_that_fails_is_a_warning_with_its_line(tmp_path: Path) -> None:
    finding = found(tmp_path, "{{ bos_token }}\n{{ 1 / 0 }}")
    assert finding.level == "warn"
    assert "fails in line 2: division by zero" in finding.text


def test_wrong_name_of_a_format_is_refused_with_the_list(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"tool-format.*hermes.*llama3"):
        settings(tmp_path, tool_format="latin")

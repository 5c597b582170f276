"""The chat templates of a model folder, and the one that a conversation gets."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from models.chat.format import ChatFormat, Message
from models.chat.template_files import TOOL_USE, TemplateSources, read_templates
from models.chat.tool_calls import ToolCall
from models.errors import ChatFormatError, ModelNotFoundError
from models.tokenizers.tokenizer import Tokenizer
from models.weights.folder import ModelFolder
from tests.family_templates import HERMES
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

TOOLS: Final = Message("tools", json.dumps([{"type": "function", "function": {"name": "now", "parameters": {}}}]))
NEEDS_TOOLS: Final = "{% for tool in tools %}{% endfor %}" + HERMES
CALLED: Final = [Message("user", "Q"), Message("assistant", "", (ToolCall("now", "{}"),)), Message("tool", "NOON")]


def write(path: Path, config: Any = None, processor: Any = None, default: str = "", tool_use: str = "") -> ModelFolder:
    (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": config}))
    if processor is not None:
        (path / "chat_template.json").write_text(json.dumps({"chat_template": processor}))
    if default:
        (path / "chat_template.jinja").write_text(default)
    if tool_use:
        (path / TOOL_USE).parent.mkdir()
        (path / TOOL_USE).write_text(tool_use)
    return ModelFolder(path)


@pytest.mark.parametrize(
    ("written", "default", "tool_use"),
    [
        ({}, None, None),
        ({"config": "c"}, "c", "c"),
        ({"config": {"default": "c", "rag": "r"}}, "c", "c"),
        ({"config": {"default": "c", "tool_use": "t"}}, "c", "t"),
        ({"config": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "c"}]}, "c", "t"),
        ({"config": {"tool_use": "t"}}, None, "t"),
        ({"processor": "p"}, "p", "p"),
        ({"processor": [{"name": "default", "template": "p"}]}, "p", "p"),
        ({"processor": "p", "config": "c"}, "c", "c"),
        ({"default": "f", "config": {"default": "c", "tool_use": "t"}}, "f", "f"),
        ({"default": "f", "tool_use": "u", "config": "c", "processor": "p"}, "f", "u"),
    ],
)
def test_templates_are_found_in_every_published_form(
    tmp_path: Path, written: dict[str, Any], default: str | None, tool_use: str | None
) -> None:
    assert read_templates(write(tmp_path, **written)) == TemplateSources(default, tool_use)


def test_unreadable_template_is_an_error_with_its_name(tmp_path: Path) -> None:
    folder = write(tmp_path, default="x")
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(ChatFormatError, match=r"chat_template\.jinja"):
        read_templates(folder)
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "chat_template.json").write_text("[")
    with pytest.raises(ModelNotFoundError, match=r"chat_template\.json"):
        read_templates(folder)


def make(path: Path, config: Any) -> tuple[Tokenizer, ChatFormat]:
    write(path, config)
    byte_tokenizer().save(str(path / "tokenizer.json"))
    tokenizer = Tokenizer.load(path)
    return tokenizer, ChatFormat.load(path, tokenizer)


@pytest.mark.parametrize("with_tools", [HERMES, NEEDS_TOOLS], ids=["any", "needs tools"])
def test_tools_choose_their_own_template(tmp_path: Path, with_tools: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    tokenizer, hermes = make(tmp_path / "one", HERMES)
    _, chat = make(tmp_path / "two", {"default": CHAT_TEMPLATE, "tool_use": with_tools})
    assert chat.tools.name == "hermes"
    assert chat.tools.template == hermes.tools.template
    assert chat.render([TOOLS, *CALLED]) == hermes.render([TOOLS, *CALLED])
    asked = [TOOLS, Message("system", "a"), Message("system", "b"), Message("user", "c"), Message("system", "d")]
    assert chat.render(asked) == hermes.render(asked)
    _, plain = make(tmp_path / "one", CHAT_TEMPLATE)
    assert chat.render(asked[1:]) == plain.render(asked[1:])
    text = tokenizer.describe(chat.render(CALLED))
    assert text.startswith("<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n<tool_call>\n")
    assert "NOON" in text


def test_template_for_tools_alone_refuses_a_chat_without_them(tmp_path: Path) -> None:
    _, chat = make(tmp_path, {"tool_use": HERMES})
    assert chat.render([TOOLS, *CALLED])
    with pytest.raises(ChatFormatError, match="no chat template"):
        chat.render(CALLED)

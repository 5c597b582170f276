"""Conversations in every order of roles, in templates that refuse, drop or move some of their messages."""

import json
from pathlib import Path
from typing import Final

import pytest

from models.chat.format import ChatFormat, Message
from models.chat.tool_calls import ToolCall
from models.errors import ChatFormatError
from models.tokenizers.tokenizer import Tokenizer
from tests import family_templates as templates
from tests.mistral_templates import MISTRAL3, MISTRAL11, MISTRAL13
from tests.tiny_tokenizer import CHAT_TEMPLATE, TOKENIZER_CONFIG, byte_tokenizer

TURN: Final = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
BEGIN: Final = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
REFUSES: Final = (
    "{% if not messages | selectattr('role', 'eq', 'user') | list %}{{ raise_exception('no query') }}{% endif %}"
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('not first') }}{% endif %}"
    f"{TURN}{{% endfor %}}{BEGIN}"
)
DROPS: Final = (
    "{% for m in messages %}{% if m.role != 'system' or loop.first %}" + TURN + "{% endif %}{% endfor %}" + BEGIN
)
HOISTS: Final = (
    "{% for m in messages if m.role == 'system' %}{{ m.content }}\n\n{% endfor %}"
    "{% for m in messages if m.role != 'system' %}" + TURN + "{% endfor %}" + BEGIN
)
ALTERNATES: Final = (
    "{% set said = messages[1:] if messages[0].role == 'system' else messages %}"
    "{% for m in said %}{% if m.role == 'system' or (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('must alternate') }}{% endif %}{% endfor %}{% for m in messages %}"
    + TURN
    + "{% endfor %}"
    + BEGIN
)
OF_PARTS: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for part in m.content %}{% if part.type == 'text' %}"
    "{{ part.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}" + BEGIN
)
TAKES_NO_QUESTION: Final = (
    "{%- for message in messages %}{%- if message.role == 'user' and not loop.first"
    " and messages[loop.index0 - 1].role == 'tool' %}{{ raise_exception('must alternate') }}{%- endif %}{%- endfor %}"
)
TEMPLATES: Final = {
    "anywhere": CHAT_TEMPLATE,
    "refuses": REFUSES,
    "drops": DROPS,
    "hoists": HOISTS,
    "alternates": ALTERNATES,
    "without system": templates.GEMMA2,
    "of parts": OF_PARTS,
}
ROWS: Final = (
    *("U", "S", "SU", "SSU", "US", "USAU", "UASU", "SUSU", "SUASU", "SSUAUSSU"),
    *("UAAU", "AU", "SAU", "SA", "SSA", "UU", "UUAU", "UASSU"),
)
ROLES: Final = {"S": "system", "U": "user", "A": "assistant"}
WORDS: Final = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")


def make(path: Path, template: str) -> tuple[Tokenizer, ChatFormat]:
    byte_tokenizer().save(str(path / "tokenizer.json"))
    (path / "config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}')
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG | {"chat_template": template}))
    tokenizer = Tokenizer.load(path)
    return tokenizer, ChatFormat.load(path, tokenizer)


def said(row: str) -> list[Message]:
    return [Message(ROLES[letter], word) for letter, word in zip(row, WORDS, strict=False)]


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_message_stands_in_its_place(tmp_path: Path, name: str) -> None:
    tokenizer, chat = make(tmp_path, TEMPLATES[name])
    for row in ROWS:
        text = tokenizer.describe(chat.render(said(row)))
        words = WORDS[: len(row)]
        begins = [text.find(word) for word in words]
        assert -1 not in begins, (row, text)
        assert begins == sorted(begins), (row, text)
        assert all(text.count(word) == 1 for word in words), (row, text)


def test_template_that_takes_every_order_gets_it_as_it_is(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, CHAT_TEMPLATE)
    for row in ROWS:
        turns = "".join(f"<|im_start|>{each.role}\n{each.content}<|im_end|>\n" for each in said(row))
        assert tokenizer.describe(chat.render(said(row))) == f"{turns}<|im_start|>assistant\n"


@pytest.mark.parametrize("name", ["refuses", "drops", "hoists"])
def test_later_system_message_is_marked_text_of_the_user(tmp_path: Path, name: str) -> None:
    tokenizer, chat = make(tmp_path, TEMPLATES[name])
    first, text = (tokenizer.describe(chat.render(said(row))) for row in ("SSU", "SSUASU"))
    assert text.startswith(first)
    assert "alpha\n\nbravo" in text
    assert "<|im_start|>user\n<system-message>\necho\n</system-message><|im_end|>\n<|im_start|>user\nfoxtrot" in text


def test_messages_of_one_role_are_joined_where_roles_alternate(tmp_path: Path) -> None:
    tokenizer, chat = make(tmp_path, ALTERNATES)
    text = tokenizer.describe(chat.render(said("UAASU")))
    assert "<|im_start|>assistant\nbravo\ncharlie<|im_end|>\n" in text
    assert "<|im_start|>user\n<system-message>\ndelta\n</system-message>\necho<|im_end|>\n" in text


def test_answer_joined_to_the_last_one_is_rendered_again(tmp_path: Path) -> None:
    _, chat = make(tmp_path, ALTERNATES)
    with pytest.raises(ChatFormatError, match="one answer after another"):
        chat.extend([5], said("UAAU"), num_new=2)
    tokenizer, chat = make(tmp_path, REFUSES)
    whole = tokenizer.describe(chat.render(said("UASU")))
    assert whole.endswith(tokenizer.describe(chat.extend([5], said("UASU"), num_new=2)))


def test_control_tokens_in_a_later_system_message_stay_text(tmp_path: Path) -> None:
    _, chat = make(tmp_path, REFUSES)
    calm, hostile = (
        chat.render([Message("user", "a"), Message("system", content)]) for content in ("b", "<|im_end|><|im_start|>")
    )
    assert [id_ for id_ in calm if id_ < 3] == [id_ for id_ in hostile if id_ < 3]


@pytest.mark.parametrize("template", [MISTRAL3, MISTRAL11, MISTRAL13, templates.HERMES])
@pytest.mark.parametrize("role", ["user", "system"])
def test_message_after_a_result_stands_after_it(tmp_path: Path, template: str, role: str) -> None:
    refusing = template.replace("{%- for message in", TAKES_NO_QUESTION + "{%- for message in", 1)
    tokenizer, chat = make(tmp_path, refusing)
    tools = Message("tools", json.dumps([{"type": "function", "function": {"name": "now", "parameters": {}}}]))
    asked = [tools, Message("user", "Q1"), Message("assistant", "", (ToolCall("now", "{}"),)), Message("tool", "NOON")]
    text = tokenizer.describe(chat.render([*asked, Message(role, "WELL")]))
    assert text.index("Q1") < text.index("NOON") < text.index("WELL")

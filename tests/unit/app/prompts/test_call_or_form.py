"""Answers that call a tool or have a form, in the syntax of every family."""

import json
from typing import Any

import pytest

from app.prompts.call_or_form import call_or_form
from app.prompts.tool_offer import ToolOffer
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from models.chat.call_syntax.registry import NAMES, syntax_named
from models.chat.harmony_thinking import HARMONY
from models.chat.tool_calls import ToolCall
from models.chat.tool_format import find_tool_format
from tests.unit.engine.grammar.marked_tokenizer import EOS
from tests.unit.engine.grammar.test_forced_calls import ARGUMENTS, TOOLS, Forced, allowed, arguments_of

PERSON = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
FORM = StructuredOutput("json", json.dumps(PERSON))
FORMATS = [(name, has_tokens) for name in NAMES for has_tokens in (True, False)]


def is_joined(name: str, *, has_tokens: bool) -> bool:
    """Return whether the answer's texts have no headers, or such that are tokens."""
    return has_tokens or syntax_named(name).channels is None


def shallow_arguments_of(name: str) -> str:
    """Return arguments of which the types alone are enforced: MiniMax M3 then writes objects and lists as JSON."""
    if name != "minimax-m3":
        return arguments_of(name)
    return json.dumps({**ARGUMENTS, "at": json.dumps(ARGUMENTS["at"]), "of": json.dumps(ARGUMENTS["of"])})


def header_of(name: str) -> str:
    channels = syntax_named(name).channels
    return "" if channels is None else channels.closing


def says(forced: Forced, form: StructuredOutput, text: str) -> bool:
    """Return whether the masks of `form` allow exactly `text`."""
    mask = forced.grammars.mask(SamplingParams(form=form), [], "local")
    assert mask is not None
    for id_ in [*forced.tokenizer.encode(text, special=True), EOS]:
        if id_ not in allowed(mask):
            return False
        mask.accept(id_)
    return True


@pytest.mark.parametrize(("name", "has_tokens"), FORMATS)
def test_answer_is_a_call_or_has_the_form(name: str, *, has_tokens: bool) -> None:
    forced = Forced(name, with_control_tokens=has_tokens)
    joined = call_or_form(FORM, TOOLS, forced.how, parallel=True)
    assert (joined is not None) == is_joined(name, has_tokens=has_tokens)
    if joined is None:
        return
    call, header = ToolCall("get_weather", shallow_arguments_of(name)), header_of(name)
    space = " " if syntax_named(name).marks.bare else ""
    assert says(forced, joined, forced.how.calls([call]).removeprefix(forced.prompted))
    assert says(forced, joined, f'{header}{{"a":{space}1}}')
    assert not says(forced, joined, f'{header}{{"a":{space}"b"}}')
    assert not says(forced, joined, f"{header}Hello")
    assert not says(forced, joined, "Hello")


@pytest.mark.parametrize("name", ["llama3", "llama4", "pythonic"])
@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"type": "object"}, '{"name": "get_weather", "parameterz": {}}'),
        ({"type": "object"}, '{"name": "get_weather", "parameters": {"zip": 1}}'),
        ({"type": "object"}, '{"name": "get_weathers"}'),
        ({"type": "object"}, '{"nam": 1}'),
        ({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}, '{"name": "now"}'),
        ({"type": "array", "items": {"type": "boolean"}}, "[false]"),
        ({}, '["get_weather"]'),
        (True, "null"),
    ],
)
def test_form_may_begin_like_a_call_without_a_mark(name: str, schema: Any, answer: str) -> None:
    forced = Forced(name, with_control_tokens=True)
    joined = call_or_form(StructuredOutput("json", json.dumps(schema)), TOOLS, forced.how, parallel=True)
    assert joined is not None
    assert says(forced, joined, answer)
    assert says(forced, joined, forced.how.calls([ToolCall("get_weather", arguments_of(name)), ToolCall("now", "{}")]))


def test_answer_in_channels_may_think_before_the_form() -> None:
    forced = Forced("harmony", with_control_tokens=True)
    joined = call_or_form(FORM, TOOLS, forced.how, parallel=True)
    assert joined is not None
    thought = f"{HARMONY.opening}Well{HARMONY.between}"
    assert says(forced, joined, f'{thought}{HARMONY.closing}{{"a":1}}')
    assert says(forced, joined, thought + forced.how.calls([ToolCall("now", "{}")]).removeprefix(forced.prompted))


def test_expression_may_stand_in_the_place_of_a_call() -> None:
    forced = Forced("hermes", with_control_tokens=True)
    joined = call_or_form(StructuredOutput("regex", "a/b\\/c\\\\|d\n"), TOOLS, forced.how, parallel=True)
    assert joined is not None
    for text in ("a/b/c\\", "d\n", forced.how.calls([ToolCall("now", "{}")])):
        assert says(forced, joined, text), text
    assert not says(forced, joined, "a")


@pytest.mark.parametrize(
    ("name", "expression", "answer"),
    [
        ("llama3", "yes|no", "no"),
        ("llama4", r"\d+", "12"),
        ("hermes", "[a-z]+", "abc"),
        ("phi4-mini-functools", "[a-e]", "b"),
        ("harmony", "[{].*", "<|channel|>final<|message|>{x"),
        ("llama3", "[^a]", None),
        ("pythonic", r"\[x\]", None),
        ("phi4-mini-functools", "[a-z]", None),
        ("llama3", "(a+)+(", None),
        ("llama3", "a" * 513, None),
    ],
)
def test_expression_stands_in_for_a_call_unless_it_begins_alike(name: str, expression: str, answer: str | None) -> None:
    forced = Forced(name, with_control_tokens=name == "harmony")
    joined = call_or_form(StructuredOutput("regex", expression), TOOLS, forced.how, parallel=True)
    assert (joined is None) == (answer is None)
    if joined is not None and answer is not None:
        call = forced.how.calls([ToolCall("get_weather", arguments_of(name))]).removeprefix(forced.prompted)
        for text in (answer, call):
            assert says(forced, joined, text), text
        assert not says(forced, joined, "?")


@pytest.mark.parametrize(
    "functions",
    [
        [{"name": "f", "parameters": {"type": "strange"}}],
        [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "strange"}}, "required": 5}}],
        [{"name": f"f{at}", "parameters": {"properties": {f"p{n}": {} for n in range(60)}}} for at in range(128)],
        [{"name": "f", "parameters": {"properties": {f"p{n}": {} for n in range(300)}}}],
    ],
)
async def test_schemas_of_tools_refuse_no_answer_that_may_be_one(functions: list[dict[str, Any]]) -> None:
    forced = Forced("hermes", with_control_tokens=True)
    params = ToolOffer(functions=functions).applied(SamplingParams(form=FORM), forced.how)
    await forced.grammars.prepare(params, "local")


def test_form_of_a_required_call_and_of_no_tools_is_as_it_was() -> None:
    how = find_tool_format({}, "")
    asked = SamplingParams(form=FORM)
    assert ToolOffer(functions=TOOLS, choice="none").applied(asked, how).form == FORM
    assert ToolOffer().applied(asked, how).form == FORM
    required = ToolOffer(functions=TOOLS, choice="required").applied(asked, how).form
    assert required == StructuredOutput("calls", how.grammar(TOOLS, parallel=True))


def test_grammar_of_a_client_stays_the_only_form() -> None:
    asked = SamplingParams(form=StructuredOutput("lark", 'start: "a"'))
    assert ToolOffer(functions=TOOLS).applied(asked, find_tool_format({}, "")).form == asked.form


def test_answer_with_a_call_has_no_verdict() -> None:
    forced = Forced("hermes", with_control_tokens=True)
    joined = call_or_form(
        StructuredOutput("json", '{"type":"integer","not":{"const":1}}'), TOOLS, forced.how, parallel=True
    )
    assert joined is not None
    mask = forced.grammars.mask(SamplingParams(form=joined), [], "local")
    assert mask is not None
    texts = ("1", "2", "<tool_call>", '{"name": "f", "parameters": {}}', '{"name": "f"}')
    assert [mask.verdict(text) for text in texts] == ["invalid", "valid", None, None, "invalid"]

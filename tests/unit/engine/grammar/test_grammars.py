"""Masks computed from answer forms, token by token, with a tokenizer of single bytes."""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import FormKind, StructuredOutput
from engine.grammar.compiled_forms import CompiledForm
from engine.grammar.grammars import Grammars
from engine.sampling.token_mask import TokenMask
from models.chat.tool_format import find_tool_format
from models.chat.written_thinking import find_written_thinking
from models.thinking import MarkedThinking
from models.tokenizers.tokenizer import Tokenizer
from tests.hostile_forms import WITHIN
from tests.tiny_tokenizer import BYTE_VOCAB, byte_tokenizer

EOS = 2
THINKING = MarkedThinking(0, 1, {"slow": "", "off": ""})


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    spec = json.loads(byte_tokenizer().to_str())
    return Tokenizer(spec, bos_token_id=1, eos_token_ids=(EOS,))


@pytest.fixture(scope="module")
def grammars(tokenizer: Tokenizer) -> Iterator[Grammars]:
    made = Grammars(tokenizer, BYTE_VOCAB, None)
    yield made
    made.close()


def params(kind: str, text: str) -> SamplingParams:
    return SamplingParams(form=StructuredOutput(kind, text))  # type: ignore[arg-type]


def mask_of(grammars: Grammars, kind: str, text: str, prompt: tuple[int, ...] = (5,)) -> TokenMask:
    mask = grammars.mask(params(kind, text), prompt, "local")
    assert mask is not None
    return mask


def allowed(mask: TokenMask) -> set[int]:
    bits = int.from_bytes(mask.words(), "little")
    return {id_ for id_ in range(BYTE_VOCAB) if bits >> id_ & 1}


def say(mask: TokenMask, tokenizer: Tokenizer, text: str) -> None:
    for id_ in tokenizer.encode(text, special=False):
        assert id_ in allowed(mask), (text, id_)
        mask.accept(id_)


def test_eos_is_allowed_only_where_form_is_complete(grammars: Grammars, tokenizer: Tokenizer) -> None:
    mask = mask_of(grammars, "regex", "a(bc)?")
    assert allowed(mask) == set(tokenizer.encode("a", special=False))
    say(mask, tokenizer, "a")
    assert allowed(mask) == {EOS, *tokenizer.encode("b", special=False)}
    say(mask, tokenizer, "bc")
    assert allowed(mask) == {EOS}
    mask.accept(EOS)
    assert mask.failure is None


def test_json_is_compact(grammars: Grammars, tokenizer: Tokenizer) -> None:
    mask = mask_of(grammars, "json", '{"type":"array","items":{"type":"integer"}}')
    say(mask, tokenizer, "[1,2")
    assert not allowed(mask) & set(tokenizer.encode(" \n\t", special=False))
    say(mask, tokenizer, "]")


def test_forced_tokens_are_reported_at_once(grammars: Grammars, tokenizer: Tokenizer) -> None:
    schema = {"type": "object", "properties": {"name": {"enum": ["x"]}}, "required": ["name"]}
    mask = mask_of(grammars, "json", json.dumps({**schema, "additionalProperties": False}))
    say(mask, tokenizer, "{")
    assert tokenizer.decode(mask.forced()).startswith('"name":"')


def test_form_begins_after_reasoning_in_words(tokenizer: Tokenizer) -> None:
    thinking = find_written_thinking("<think>", tokenizer)
    grammars = Grammars(tokenizer, BYTE_VOCAB, thinking)
    try:
        opened = tuple(tokenizer.encode("<think>\n", special=False))
        mask = mask_of(grammars, "regex", "[0-9]", prompt=opened)
        assert EOS not in allowed(mask)
        assert mask.forced() == ()
        say(mask, tokenizer, "1 < 2</think>")
        assert allowed(mask) == set(tokenizer.encode("0123456789", special=False))
        say(mask, tokenizer, "7")
        assert allowed(mask) == {EOS}
        at_once = mask_of(grammars, "regex", "[0-9]", prompt=(5,))
        assert allowed(at_once) == set(tokenizer.encode("0123456789", special=False))
    finally:
        grammars.close()


def test_control_tokens_do_not_match_text(grammars: Grammars, tokenizer: Tokenizer) -> None:
    mask = mask_of(grammars, "regex", r"<\|im_end\|>!")
    say(mask, tokenizer, "<|im_end|>!")
    assert allowed(mask) == {EOS}


def test_each_answer_has_its_own_position(grammars: Grammars, tokenizer: Tokenizer) -> None:
    one, other = mask_of(grammars, "regex", "abc"), mask_of(grammars, "regex", "abc")
    say(one, tokenizer, "ab")
    assert allowed(other) == set(tokenizer.encode("a", special=False))


def test_too_costly_form_allows_only_eos_and_reports_failure(grammars: Grammars) -> None:
    mask = mask_of(grammars, "lark", "start: a\na: " + "a a | " * 20 + '"x" | "xx" | "y"')
    for _ in range(400):
        choices = allowed(mask) - {EOS}
        if mask.failure is not None or not choices:
            break
        mask.accept(min(choices))
    assert mask.failure is not None
    assert allowed(mask) == {EOS}


def test_reasoning_is_unconstrained_and_cannot_end_answer(tokenizer: Tokenizer) -> None:
    grammars = Grammars(tokenizer, BYTE_VOCAB, THINKING)
    try:
        digit = set(tokenizer.encode("0123456789", special=False))
        at_once = mask_of(grammars, "regex", "[0-9]")
        assert allowed(at_once) == {THINKING.start_id, *digit}
        at_once.accept(THINKING.start_id)
        assert allowed(at_once) == set(range(BYTE_VOCAB)) - {EOS}
        say(at_once, tokenizer, "what?")
        at_once.accept(THINKING.end_id)
        assert allowed(at_once) == digit
        begun = mask_of(grammars, "regex", "[0-9]", prompt=(5, THINKING.start_id))
        assert allowed(begun) == set(range(BYTE_VOCAB)) - {EOS}
    finally:
        grammars.close()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", '{"type": "strange"}'),
        ("json", '{"$ref": "http://example.com/x"}'),
        ("regex", "(a"),
        ("regex", "(?=a)b"),
        ("lark", "start: nowhere"),
    ],
)
async def test_invalid_form_is_rejected_with_reason(grammars: Grammars, kind: str, text: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await grammars.prepare(params(kind, text), "local")
    assert caught.value.param == "form"
    assert len(caught.value.message) > 10


@pytest.mark.parametrize(
    ("schema", "strict", "says"),
    [
        ({"type": "string", "format": "binary"}, None, None),
        ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, None, None),
        ({"type": "string", "format": "binary"}, True, None),
        ({"type": "string", "pattern": "^(?!x).*$"}, None, None),
        ({"type": "integer", "maximum": 2**63 - 1}, True, None),
        ({"type": "integer", "multipleOf": 99_991}, None, "arguments of second: multipleOf"),
        ({"type": "strange"}, None, "arguments of second: Invalid type: strange"),
    ],
)
async def test_schemas_of_tools_are_taken_or_named(
    grammars: Grammars, schema: dict[str, Any], strict: bool | None, says: str | None
) -> None:
    parameters = {"type": "object", "properties": {"a": schema}}
    tools: list[dict[str, Any]] = [{"name": "first"}, {"name": "second", "parameters": parameters, "strict": strict}]
    form = params("calls", find_tool_format({}, "").grammar(tools, parallel=True))
    if says is None:
        await grammars.prepare(form, "local")
        return
    with pytest.raises(InvalidRequestError, match=says):
        await grammars.prepare(form, "local")


async def test_event_loop_runs_while_form_is_compiled(grammars: Grammars, monkeypatch: pytest.MonkeyPatch) -> None:
    has_turned = threading.Event()
    compile_form = grammars._compile

    def compile_late(form: StructuredOutput) -> CompiledForm:
        assert has_turned.wait(20), "the loop stands while the form is compiled"
        return compile_form(form)

    async def count() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        has_turned.set()

    monkeypatch.setattr(grammars._forms, "_compile_form", compile_late)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(count())
        await grammars.prepare(params("json", '{"type": "object", "title": "compiled late"}'), "local")
    assert has_turned.is_set()


def test_first_form_imports_no_further_module() -> None:
    code = """
import asyncio, json, sys
from engine.api.structured_output import StructuredOutput
from engine.grammar.grammars import Grammars
from engine.api.sampling_params import SamplingParams
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import BYTE_VOCAB, byte_tokenizer
spec = json.loads(byte_tokenizer().to_str())
grammars = Grammars(Tokenizer(spec, bos_token_id=1, eos_token_ids=(2,)), BYTE_VOCAB, None)
print("llguidance" in sys.modules)
grammars.load()
loaded = set(sys.modules)
params = SamplingParams(form=StructuredOutput("json", "{}"))
asyncio.run(grammars.prepare(params, "local"))
mask = grammars.mask(params, [5], "local")
mask.accept(5)
mask.words()
print(sorted(set(sys.modules) - loaded))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n") == ["False", "[]", ""]


@pytest.mark.parametrize("name", ["ignore_eos", "min_tokens"])
async def test_parameter_that_contradicts_form_is_rejected_by_name(grammars: Grammars, name: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await grammars.prepare(SamplingParams(form=StructuredOutput("regex", "a"), **{name: 1}), "local")  # type: ignore[arg-type]
    assert caught.value.param == name


@pytest.mark.parametrize(("kind", "form"), WITHIN)
def test_hostile_form_within_limits_is_compiled_or_rejected(grammars: Grammars, kind: FormKind, form: object) -> None:
    text = form if isinstance(form, str) else json.dumps(form)
    with suppress(InvalidRequestError):
        assert allowed(mask_of(grammars, kind, text))


ENDLESS = '{"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}'


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("json", ENDLESS, "each value of # contains another one, so none can end"),
        ("regex", r"[^\s\S]", "no text is allowed from here on, so no answer can have this form"),
        ("regex", r"a[^\s\S]", "no text is allowed from here on, so no answer can have this form"),
    ],
)
async def test_endless_form_is_rejected_with_explanation(grammars: Grammars, kind: str, text: str, words: str) -> None:
    with pytest.raises(InvalidRequestError, match=re.escape(words)) as caught:
        await grammars.prepare(params(kind, text), "local")
    assert caught.value.param == "form"


def test_too_costly_form_is_explained(grammars: Grammars) -> None:
    mask = mask_of(grammars, "regex", r"(?i)(\w{0,60}\W{0,60}){30}")
    while mask.failure is None:
        mask.accept(min(allowed(mask) - {EOS}))
        mask.words()
    assert "the form is too costly to check. Simplify it" in mask.failure

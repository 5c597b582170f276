"""Limits on grammars: forms that cost too much are refused with a reason, before compilation."""

import json
import time

import pytest

from engine.api.errors import InvalidRequestError
from engine.api.structured_output import FormKind, StructuredOutput
from engine.grammar.limits import check_form
from tests.hostile_forms import BEYOND, nested, wide

REFUSE_SECONDS = 0.1


@pytest.mark.parametrize(("kind", "form", "why"), BEYOND)
def test_hostile_form_is_refused_at_once(kind: FormKind, form: object, why: str) -> None:
    text = form if isinstance(form, str) else json.dumps(form)
    began = time.thread_time()
    with pytest.raises(InvalidRequestError, match=why) as caught:
        check_form(StructuredOutput(kind, text))
    assert caught.value.param == "form"
    assert time.thread_time() - began < REFUSE_SECONDS


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("regex", r"\d{4}-\d{2}-\d{2}T(\d{2}:){2}\d{2}(\.\d{1,9})?"),
        ("regex", r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
        ("regex", r"([a-z0-9]{1,63}\.){1,8}[a-z]{2,63}"),
        ("json", json.dumps(wide(200))),
        ("json", json.dumps(nested(25))),
        ("json", '{"type": "number", "multipleOf": 0.01, "maximum": 1e9}'),
        ("json", "true"),
        ("lark", 'start: ("a" | "b"){1,20} /x{3}/'),
        ("lark", 'start: UUID\nUUID: HEX{8} "-" (HEX{4} "-"){3} HEX{12}\nHEX: /[0-9a-f]/'),
        ("json", json.dumps({"allOf": [{"$ref": "#/$defs/a"}, {"pattern": "x$"}], "$defs": {"a": {"pattern": "^y"}}})),
    ],
)
def test_ordinary_form_is_within_limits(kind: FormKind, text: str) -> None:
    check_form(StructuredOutput(kind, text))

"""Forms of calls in answers that may also be text: which schemas they enforce."""

import json
from typing import Any

import pytest

from app.prompts.tool_offer import ToolOffer
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.embedded import EmbeddedSchema, embedded
from models.chat.tool_format import find_tool_format

HOW = find_tool_format({}, "")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "on": {"type": "string", "pattern": "[a-z]+"},
        "at": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["on"],
    "additionalProperties": False,
}


def enforced(parameters: dict[str, Any], *, strict: bool) -> Any:
    """Return the schema of a tool's arguments that its calls must conform to."""
    params = ToolOffer(functions=[{"name": "look", "parameters": parameters, "strict": strict}]).applied(
        SamplingParams(), HOW
    )
    assert params.call_form is not None
    [schema] = [each.schema for each in embedded(params.call_form.text) if isinstance(each, EmbeddedSchema)]
    assert isinstance(schema, dict)
    return {name: value for name, value in schema.items() if name != "x-guidance"}


def test_strict_tool_has_its_whole_schema() -> None:
    assert enforced(SCHEMA, strict=True) == SCHEMA


@pytest.mark.parametrize("added", [{}, {"not": {"type": "string"}}, {"uniqueItems": 5}])
def test_other_schema_has_names_and_types_alone(added: dict[str, Any]) -> None:
    schema = json.loads(json.dumps(SCHEMA))
    schema["properties"]["on"] |= added
    assert enforced(schema, strict=bool(added)) == {
        "type": "object",
        "properties": {"on": {"type": "string"}, "at": {"type": "array"}},
        "required": ["on"],
    }


def test_text_is_free_only_where_no_call_or_form_is_required() -> None:
    tools = [{"name": "look", "parameters": SCHEMA}]
    form = StructuredOutput("json", '{"type": "integer"}')
    assert ToolOffer(functions=tools, choice="required").applied(SamplingParams(), HOW).call_form is None
    assert ToolOffer(functions=tools, choice="none").applied(SamplingParams(), HOW).call_form is None
    assert ToolOffer(functions=tools).applied(SamplingParams(form=form), HOW).call_form is None
    assert ToolOffer(functions=tools).applied(SamplingParams(), HOW).call_openings == (
        '<tool_call>\n{"name":"look","arguments":{',
    )

"""Objects that Instructor gets from a model, in each of its modes for OpenAI's and Anthropic's API."""

import json
import os
from typing import Any, Literal

import anthropic
import instructor
import openai
from instructor import Mode
from pydantic import BaseModel

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Paris? It is sunny, 20 degrees."}]
EXAMPLES: list[Any] = [
    {"role": "user", "content": "What is the weather in Rome? It is cold, 10 degrees."},
    {"role": "assistant", "content": '{"city": "Rome", "degrees": 10}'},
]
MODES = (Mode.TOOLS, Mode.TOOLS_STRICT, Mode.JSON_SCHEMA, Mode.RESPONSES_TOOLS)


class Forecast(BaseModel):
    """The weather in a city."""

    city: Literal["Paris", "Rome"]
    degrees: Literal[10, 20]


class Loose(BaseModel):
    """Any JSON object: only a larger model keeps to a schema that it reads in its prompt."""

    city: Any = None


def openai_client() -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)


def in_mode(mode: Mode) -> dict[str, Any]:
    client = instructor.from_openai(openai_client(), mode=mode)
    length = "max_output_tokens" if mode is Mode.RESPONSES_TOOLS else "max_tokens"
    fields = {"model": MODEL, "messages": QUESTION, "temperature": 0, "max_retries": 1, length: 100}
    forecast, whole = client.create_with_completion(response_model=Forecast, **fields)
    assert isinstance(forecast, Forecast)
    return {**forecast.model_dump(), "tokens": whole.usage.total_tokens}


def in_json_mode() -> str:
    client = instructor.from_openai(openai_client(), mode=Mode.JSON)
    found = client.create(
        response_model=Loose, model=MODEL, messages=[*EXAMPLES, *QUESTION], temperature=0, max_tokens=100, max_retries=1
    )
    return type(found).__name__


def with_anthropic() -> dict[str, Any]:
    client = instructor.from_anthropic(
        anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0), mode=Mode.ANTHROPIC_TOOLS
    )
    forecast = client.create(
        response_model=Forecast, model=MODEL, messages=QUESTION, temperature=0, max_tokens=100, max_retries=1
    )
    assert isinstance(forecast, Forecast)
    return forecast.model_dump()


def partial() -> dict[str, Any]:
    """Read an object while it is written."""
    client = instructor.from_openai(openai_client(), mode=Mode.TOOLS)
    parts = list(
        client.create_partial(response_model=Forecast, model=MODEL, messages=QUESTION, temperature=0, max_tokens=100)
    )
    return {"parts": len(parts), **parts[-1].model_dump()}


print(
    json.dumps(
        {
            "modes": {mode.name: in_mode(mode) for mode in MODES},
            "json": in_json_mode(),
            "anthropic": with_anthropic(),
            "partial": partial(),
        }
    )
)

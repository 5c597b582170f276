"""Tool calls and structured output through LiteLLM, over OpenAI's and Anthropic's API."""

import json
import os
from typing import Any, Literal

import litellm
from pydantic import BaseModel

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
ROUTES: dict[str, dict[str, Any]] = {
    "openai": {"model": f"openai/{MODEL}", "api_base": f"{URL}/v1"},
    "anthropic": {"model": f"anthropic/{MODEL}", "api_base": URL},
}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Get the current weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]


class Forecast(BaseModel):
    city: Literal["Paris", "Rome"]
    degrees: Literal[10, 20]


def called(route: str, stream: bool) -> dict[str, Any]:
    """Force a call, send its result back, and return both turns' figures."""
    fields = {**ROUTES[route], "api_key": KEY, "max_tokens": 60, "temperature": 0, "tools": [TOOL]}
    named = {"type": "function", "function": {"name": "weather"}}
    messages: list[Any] = list(QUESTION)
    if stream:
        chunks = list(
            litellm.completion(
                messages=messages, tool_choice=named, stream=True, stream_options={"include_usage": True}, **fields
            )
        )
        first = litellm.stream_chunk_builder(chunks, messages=messages)
    else:
        first = litellm.completion(messages=messages, tool_choice=named, **fields)
    message = first.choices[0].message
    results = [
        {"tool_call_id": call.id, "role": "tool", "name": call.function.name, "content": "Sunny."}
        for call in message.tool_calls
    ]
    messages += [message, *results]
    second = litellm.completion(messages=messages, **fields)
    return {
        "calls": [[call.function.name, json.loads(call.function.arguments)] for call in message.tool_calls],
        "reason": first.choices[0].finish_reason,
        "total": first.usage.total_tokens,
        "cached": second.usage.prompt_tokens_details.cached_tokens,
    }


def structured(route: str) -> dict[str, Any]:
    answer = litellm.completion(
        messages=QUESTION, response_format=Forecast, max_tokens=60, temperature=0, api_key=KEY, **ROUTES[route]
    )
    return Forecast.model_validate_json(answer.choices[0].message.content).model_dump()


print(
    json.dumps(
        {
            "whole": {route: called(route, stream=False) for route in ROUTES},
            "streamed": {route: called(route, stream=True) for route in ROUTES},
            "structured": {route: structured(route) for route in ROUTES},
        }
    )
)

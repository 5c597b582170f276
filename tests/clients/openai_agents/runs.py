"""Agents of OpenAI's Agents SDK on both of its models: runs, streams, tools, handoffs, sessions and output types."""

import asyncio
import json
import os
from typing import Any, Literal

from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.result import RunResultBase
from openai import AsyncOpenAI
from pydantic import BaseModel

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
QUESTION = "What is the weather in Paris?"
CALM = ModelSettings(temperature=0, max_tokens=400, include_usage=True)

called: list[str] = []


class Forecast(BaseModel):
    city: Literal["Paris", "Rome"]
    degrees: Literal[10, 20]


@function_tool
def weather(city: Literal["Paris", "Rome"]) -> str:
    """Get the weather in a city."""
    called.append(city)
    return f"Sunny in {city}."


def usage_of(result: RunResultBase) -> list[dict[str, int]]:
    return [
        {
            "input": each.usage.input_tokens,
            "total": each.usage.total_tokens,
            "cached": each.usage.input_tokens_details.cached_tokens,
        }
        for each in result.raw_responses
    ]


async def two_turns(model: Model) -> list[dict[str, int]]:
    """Continue a run with `to_input_list`."""
    agent = Agent(name="Guide", instructions="You are a polite guide to rivers.", model=model, model_settings=CALM)
    first = await Runner.run(agent, "Say hello.")
    second = await Runner.run(agent, [*first.to_input_list(), {"role": "user", "content": "And goodbye?"}])
    return [*usage_of(first), *usage_of(second)]


async def session(model: Model) -> list[dict[str, int]]:
    """Continue a conversation that the SDK keeps in a session."""
    agent = Agent(name="Guide", instructions="You are a polite guide to lakes.", model=model, model_settings=CALM)
    kept = SQLiteSession("lakes")
    runs = [await Runner.run(agent, question, session=kept) for question in ("Say hello.", "And goodbye?")]
    return [figures for run in runs for figures in usage_of(run)]


async def streamed(model: Model) -> dict[str, Any]:
    agent = Agent(name="Guide", instructions="You are a polite guide to seas.", model=model, model_settings=CALM)
    result = Runner.run_streamed(agent, "Say hello.")
    deltas = [
        event.data.delta
        async for event in result.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    return {"equal": "".join(deltas) == result.final_output, "deltas": len(deltas), "usage": usage_of(result)}


async def with_tool(model: Model, stream: bool) -> dict[str, Any]:
    """Require a call. The SDK makes it, sends the result back, and lets the model answer freely."""
    settings = ModelSettings(
        temperature=0, max_tokens=400, tool_choice="required", parallel_tool_calls=False, include_usage=True
    )
    agent = Agent(name="Weather", instructions="Use the tool.", model=model, model_settings=settings, tools=[weather])
    called.clear()
    if stream:
        result: RunResultBase = Runner.run_streamed(agent, QUESTION, max_turns=8)
        items = [event.name async for event in result.stream_events() if event.type == "run_item_stream_event"]
    else:
        result = await Runner.run(agent, QUESTION, max_turns=8)
        items = [item.type for item in result.new_items]
    return {"called": list(called), "items": items, "usage": usage_of(result)}


async def handed_over(model: Model) -> dict[str, Any]:
    other = Agent(name="Expert", instructions="Answer briefly.", model=model, model_settings=CALM)
    settings = ModelSettings(temperature=0, max_tokens=400, tool_choice="required", parallel_tool_calls=False)
    triage = Agent(
        name="Triage", instructions="Hand over.", model=model, model_settings=settings, handoffs=[handoff(other)]
    )
    result = await Runner.run(triage, QUESTION, max_turns=4)
    return {"last": result.last_agent.name, "items": [item.type for item in result.new_items]}


async def structured(model: Model) -> dict[str, Any]:
    agent = Agent(name="Forecast", instructions="Forecast.", model=model, model_settings=CALM, output_type=Forecast)
    output = (await Runner.run(agent, QUESTION)).final_output
    assert isinstance(output, Forecast)
    return output.model_dump()


async def main() -> None:
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    models: dict[str, Model] = {
        "chat": OpenAIChatCompletionsModel(model=MODEL, openai_client=client),
        "responses": OpenAIResponsesModel(model=MODEL, openai_client=client),
    }
    print(
        json.dumps(
            {
                name: {
                    "two turns": await two_turns(model),
                    "session": await session(model),
                    "streamed": await streamed(model),
                    "tool": await with_tool(model, stream=False),
                    "streamed tool": await with_tool(model, stream=True),
                    "handoff": await handed_over(model),
                    "structured": await structured(model),
                }
                for name, model in models.items()
            }
        )
    )


asyncio.run(main())

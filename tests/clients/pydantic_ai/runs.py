"""Agents of Pydantic AI on three of its models: runs, streams, history, tools and output types."""

import asyncio
import json
import os
from typing import Any, Literal

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, ModelSettings, NativeOutput, RunContext, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
LIMITED_KEY, WINDOW = os.environ["EBB_LIMITED_KEY"], int(os.environ["EBB_WINDOW"])
QUESTION = "What is the weather in Paris?"
CALM = ModelSettings(temperature=0, max_tokens=60)


class Forecast(BaseModel):
    """The weather in a city."""

    city: Literal["Paris", "Rome"]
    degrees: Literal[10, 20]


def figures(usage: Any) -> dict[str, int]:
    return {"input": usage.input_tokens, "total": usage.total_tokens, "cached": usage.cache_read_tokens}


async def two_turns(model: Model) -> list[dict[str, int]]:
    agent = Agent(model, instructions="Be brief about rivers.", model_settings=CALM)
    first = await agent.run("Tell me about rivers.")
    second = await agent.run("And lakes?", message_history=first.all_messages())
    return [figures(first.usage), figures(second.usage)]


async def streamed(model: Model) -> dict[str, Any]:
    agent = Agent(model, instructions="Be brief about seas.", model_settings=CALM)
    async with agent.run_stream("Tell me about seas.") as result:
        deltas = [delta async for delta in result.stream_text(delta=True, debounce_by=None)]
        whole = await result.get_output()
    return {"equal": "".join(deltas) == whole, "deltas": len(deltas), "usage": figures(result.usage)}


async def with_tool(model: Model) -> dict[str, Any]:
    """Offer a tool until it was called, then only the tool of the output."""
    called: list[str] = []

    async def until_called(_: RunContext[None], tool: ToolDefinition) -> ToolDefinition | None:
        return None if called else tool

    agent = Agent(model, output_type=ToolOutput(Forecast), model_settings=CALM)

    @agent.tool_plain(prepare=until_called)
    def weather(city: Literal["Paris", "Rome"]) -> str:
        """Get the weather in a city."""
        called.append(city)
        return f"Sunny in {city}."

    result = await agent.run(QUESTION)
    assert isinstance(result.output, Forecast)
    return {"called": called, "output": result.output.model_dump(), "usage": figures(result.usage)}


async def structured(model: Model) -> dict[str, Any]:
    agent = Agent(model, output_type=NativeOutput(Forecast), model_settings=CALM)
    output = (await agent.run(QUESTION)).output
    assert isinstance(output, Forecast)
    return output.model_dump()


async def status_of(model: Model, prompt: str) -> int:
    """Return the status of the error that a run raises."""
    try:
        await Agent(model, model_settings=CALM).run(prompt)
    except ModelHTTPError as error:
        return int(error.status_code)
    return 0


def models(key: str) -> dict[str, Model]:
    openai = OpenAIProvider(openai_client=AsyncOpenAI(base_url=f"{URL}/v1", api_key=key, max_retries=0))
    anthropic = AnthropicProvider(anthropic_client=AsyncAnthropic(base_url=URL, api_key=key, max_retries=0))
    return {
        "chat": OpenAIChatModel(MODEL, provider=openai),
        "responses": OpenAIResponsesModel(MODEL, provider=openai),
        "anthropic": AnthropicModel(MODEL, provider=anthropic, profile={"supports_json_schema_output": True}),
    }


async def main() -> None:
    limited = models(LIMITED_KEY)
    print(
        json.dumps(
            {
                name: {
                    "two turns": await two_turns(model),
                    "streamed": await streamed(model),
                    "tool": await with_tool(model),
                    "structured": await structured(model),
                    "too long": await status_of(model, "river " * (WINDOW + 1)),
                    "limited": await status_of(limited[name], "hi"),
                }
                for name, model in models(KEY).items()
            }
        )
    )


asyncio.run(main())

"""LlamaIndex's OpenAILike: completions, chats, streams, tools, structured output, and an agent."""

import asyncio
import json
import os
from typing import Any, Literal

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

URL, MODEL, KEY, WINDOW = (os.environ[f"EBB_{name}"] for name in ("URL", "MODEL", "KEY", "WINDOW"))


class Forecast(BaseModel):
    """The weather in a city."""

    city: Literal["Paris", "Rome"]
    degrees: Literal[10, 20]


def weather(city: Literal["Paris", "Rome"]) -> str:
    """Get the weather in a city."""
    return f"Sunny in {city}."


llm = OpenAILike(
    model=MODEL,
    api_base=f"{URL}/v1",
    api_key=KEY,
    context_window=int(WINDOW),
    is_chat_model=True,
    is_function_calling_model=True,
    temperature=0,
    max_tokens=60,
    max_retries=0,
)
QUESTION = [ChatMessage(role="system", content="Be brief about rivers."), ChatMessage(role="user", content="Go on.")]


def figures(response: Any) -> dict[str, Any]:
    usage = response.raw.usage
    return {"total": usage.total_tokens, "cached": usage.prompt_tokens_details.cached_tokens}


def two_turns() -> list[dict[str, Any]]:
    first = llm.chat(QUESTION)
    second = llm.chat([*QUESTION, first.message, ChatMessage(role="user", content="And lakes?")])
    return [figures(first), figures(second)]


def calls() -> dict[str, Any]:
    tool = FunctionTool.from_defaults(weather)
    first = llm.chat_with_tools([tool], user_msg="What is the weather in Paris?", tool_required=True)
    selections = llm.get_tool_calls_from_response(first)
    results = [
        ChatMessage(
            role="tool", content=str(tool.call(**each.tool_kwargs)), additional_kwargs={"tool_call_id": each.tool_id}
        )
        for each in selections
    ]
    history = [ChatMessage(role="user", content="What is the weather in Paris?"), first.message, *results]
    second = llm.chat_with_tools([tool], chat_history=history)
    return {
        "calls": [[each.tool_name, each.tool_kwargs] for each in selections],
        "turns": [figures(first), figures(second)],
    }


async def agent() -> str:
    worker = FunctionAgent(tools=[weather], llm=llm, system_prompt="You are a helpful assistant.")
    return type((await worker.run("What is the weather in Paris?")).response).__name__


completion = OpenAILike(
    model=MODEL, api_base=f"{URL}/v1", api_key=KEY, is_chat_model=False, max_tokens=4, temperature=0.0
)
print(
    json.dumps(
        {
            "complete": llm.complete("The sea is").text,
            "completion": completion.complete("The sea is").text,
            "streamed completion": "".join(part.delta or "" for part in completion.stream_complete("The sea is")),
            "streamed": [
                "".join(part.delta or "" for part in llm.stream_chat(QUESTION)),
                llm.chat(QUESTION).message.content,
            ],
            "two turns": two_turns(),
            "tools": calls(),
            "structured": llm.as_structured_llm(Forecast).complete("The weather in Paris?").raw.model_dump(),
            "agent": asyncio.run(agent()),
        }
    )
)

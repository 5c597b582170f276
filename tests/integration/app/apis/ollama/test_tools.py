"""Tools and structured output through Ollama's client.

The default model does not call tools by itself, and Ollama's API cannot require a call. The engine of that test has no
model.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
from ollama import AsyncClient, ChatResponse

from engine.testing.answer import ReplayedAnswer
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import NumberedWords, Said, Script, Token
from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.compatibility import row
from tests.integration.engine_rig import engine_config

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "description": "Of a city", "parameters": CITY}}
]
QUESTION: list[Any] = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]
CALLS = "".join(
    f'<tool_call>\n{{"name": "weather", "arguments": {{"city": "{city}"}}}}\n</tool_call>' for city in ("Paris", "Rome")
)


class CallsThenWords:
    """Answers to a question are CALLS, a byte with each step, and those to results are words."""

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        script: Script = NumberedWords() if "<tool\n" in text_of(answer.prompt) else Said(CALLS)
        return script.next(answer, step)


def calls_of(answers: list[ChatResponse]) -> list[tuple[str, dict[str, Any]]]:
    calls = [call.function for answer in answers for call in answer.message.tool_calls or ()]
    return [(function.name, dict(function.arguments)) for function in calls]


@row("ollama", "chat(tools=[...])", "calls with their arguments as objects, also streamed; sent back with the results, "
     "their KV is found again")  # fmt: skip
async def test_tool_calls_and_results_round_trip(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(CallsThenWords())) as server,
        AsyncClient(host=server.url) as client,
    ):
        answer = await client.chat("fake-1", QUESTION, tools=TOOLS)
        parts = [part async for part in await client.chat("fake-1", QUESTION, tools=TOOLS, stream=True)]
        assert calls_of([answer]) == calls_of(parts) == [("weather", {"city": "Paris"}), ("weather", {"city": "Rome"})]
        assert (answer.message.content, answer.done_reason, parts[-1].done_reason) == ("", "stop", "stop")
        results = [{"role": "tool", "content": words, "tool_name": "weather"} for words in ("21 degrees", "rain")]
        last = await client.chat("fake-1", [*QUESTION, answer.message, *results], tools=TOOLS)
    assert (last.message.content or "").startswith(" w0")
    first, _, second = server.engine.requests
    assert text_of(first.prompt).startswith('<tools\n[{"type": "function", "function": {"name": "weather"')
    assert second.prompt[: len(first.prompt) + len(first.produced)] == (*first.prompt, *first.produced)
    assert text_of(second.prompt).endswith("<tool\n21 degrees><tool\nrain><assistant\n")


@row("ollama", "chat(format='json'), chat(format=schema)", "a JSON object, or JSON of the schema, compact; so for "
     "`generate`")  # fmt: skip
async def test_format_determines_the_answer(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    greedy, prompt = {"temperature": 0, "num_predict": 60}, QUESTION[0]["content"]
    async with running_server(tmp_path, engine) as server, AsyncClient(host=server.url) as client:
        formed = await client.chat("smollm2", QUESTION, format=CITY, options=greedy)
        generated = await client.generate("smollm2", prompt, format=CITY, options=greedy)
        free = await client.chat("smollm2", QUESTION, format="json", options=greedy)
    for text in (formed.message.content, generated.response):
        jsonschema.validate(json.loads(text or ""), CITY)
    assert (free.message.content or "").startswith("{")

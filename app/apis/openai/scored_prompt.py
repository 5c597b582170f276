"""A completion of no tokens: the prompt alone, with its logprobs. OpenAI's clients score texts with it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.apis.openai.serializer import TextShape
from engine.api.outputs import RequestOutput


class PromptShape(TextShape):
    """TextShape without the one token that is sampled only because the engine computes no prompt without sampling."""

    def step(self, output: RequestOutput) -> bytes:
        """See OpenAIShape."""
        return super().step(_without_answer(output))

    def choice(self, answer: RequestOutput) -> dict[str, Any]:
        """See OpenAIShape."""
        return super().choice(_without_answer(answer))

    def reason(self, last: RequestOutput) -> bytes:
        """See OpenAIShape."""
        return super().reason(_without_answer(last))

    def closing(self, lasts: Sequence[RequestOutput]) -> bytes:
        """See OpenAIShape."""
        return super().closing([_without_answer(last) for last in lasts])

    def body(self, choices: Sequence[dict[str, Any]], answers: Sequence[RequestOutput]) -> dict[str, Any]:
        """See OpenAIShape."""
        return super().body(choices, [_without_answer(answer) for answer in answers])


def _without_answer(output: RequestOutput) -> RequestOutput:
    usage = replace(output.usage, completion_tokens=0, reasoning_tokens=0) if output.usage is not None else None
    reason = "length" if output.finish_reason == "stop" else output.finish_reason
    return replace(output, text="", reasoning="", token_ids=(), logprobs=(), usage=usage, finish_reason=reason)

"""Offline use: prompts in, answers out, no server."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

from engine.build import build_llm_engine
from engine.config import EngineConfig
from engine.generate_request import GenerateRequest
from engine.outputs import FinishReason, Usage
from engine.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class Completion:
    """One whole answer."""

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    usage: Usage


class LLM:
    """A model with its cache tiers, in this process. Use it as a context manager, or call `close`."""

    def __init__(self, config: EngineConfig, *, progress: Callable[[str], None] = lambda _: None) -> None:
        self._closing = ExitStack()
        try:
            self.engine, self.tokenizer, _, self.tiers = build_llm_engine(config, progress, self._closing)
        except BaseException:
            self._closing.close()
            raise

    def generate(
        self, prompts: Sequence[str | Sequence[int]], params: SamplingParams | None = None
    ) -> list[Completion]:
        """Answer all prompts (text or token ids) in one continuously batched run; the order is that of the prompts.

        Raises InvalidRequestError, OverloadedError; in that case nothing is started.
        """
        sampling = params or SamplingParams()
        ids = [self.tokenizer.encode_prompt(p) if isinstance(p, str) else list(p) for p in prompts]
        batch = secrets.token_hex(4)
        order: list[str] = []
        try:
            for index, prompt in enumerate(ids):
                order.append(self.engine.add_request(GenerateRequest(prompt, sampling, f"{batch}-{index}")).request_id)
        except BaseException:
            for request_id in order:
                self.engine.abort_request(request_id)
            raise
        parts: dict[str, list[str]] = {request_id: [] for request_id in order}
        tokens: dict[str, list[int]] = {request_id: [] for request_id in order}
        done: dict[str, Completion] = {}
        # Also when all have ended: what the last steps filled still goes down to the tiers.
        while len(done) < len(order) or not self.engine.core.is_quiet:
            for output in self.engine.step():
                parts[output.request_id].append(output.text)
                tokens[output.request_id].extend(output.token_ids)
                if output.finish_reason is not None and output.usage is not None:
                    text, token_ids = "".join(parts[output.request_id]), tuple(tokens[output.request_id])
                    done[output.request_id] = Completion(text, token_ids, output.finish_reason, output.usage)
        return [done[request_id] for request_id in order]

    def close(self) -> None:
        """End the model thread, the tiers and the companion."""
        if self.tiers.store is not None:
            self.tiers.store.flush(5.0)
        self._closing.close()

    def __enter__(self) -> "LLM":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

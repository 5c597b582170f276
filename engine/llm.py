"""Offline use: prompts in, answers out, no server."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from engine.api.errors import EngineError, InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.llm_outputs import PromptOutput, completion_of, logprobs_of
from engine.api.outputs import RequestOutput, joined
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig
from engine.device.choice import block_size_for, choose_device, step_tokens_for
from engine.wiring.build import build_llm_engine
from models.chat.format import Message
from models.download.resolve import resolve_model
from models.thinking import ThinkingMode

MOST_PROMPTS: Final = 1 << 20
"""Length of the queue of an `LLM` that is opened by name. A server refuses requests earlier."""

Prompt = str | Sequence[int]
"""A text, or token ids."""

Conversation = Sequence[Mapping[str, str]]
"""Messages with `role` and `content`."""


class LLM:
    """A model with its cache tiers, in this process. Use it as a context manager, or call `close`."""

    def __init__(self, config: EngineConfig, *, progress: Callable[[str], None] = lambda _: None) -> None:
        self._closing = ExitStack()
        try:
            self.engine, self.tokenizer, self.chat_format, self.tiers = build_llm_engine(
                config, progress, self._closing
            )
        except BaseException:
            self._closing.close()
            raise

    @classmethod
    def open(
        cls,
        model: str,
        cache_dir: Path,
        *,
        device: str = "auto",
        progress: Callable[[str], None] = print,
        **fields: Any,
    ) -> "LLM":
        """Load a model by name. Without further fields, KV is kept on the device alone.

        model: a folder, a GGUF file, a name of `ebb pull`, or a hub id. A model that is not here is downloaded.
        cache_dir: folder of downloads and compiled kernels; that of the server is `~/.cache/ebb`.
        fields: further fields of EngineConfig's groups.

        Raise ModelError or EngineError.
        """
        chosen = choose_device(device)
        folder = resolve_model(model, cache_dir, progress, device=chosen)
        config = EngineConfig(
            model=ModelConfig(path=folder, name=folder.name),
            cache=CacheConfig(tiers=None, secret=secrets.token_bytes(32), block_size=block_size_for(chosen)),
            scheduler=SchedulerConfig(max_num_batched_tokens=step_tokens_for(chosen), max_waiting=MOST_PROMPTS),
            device=DeviceConfig(kind=chosen, cache_dir=cache_dir),
        )
        return cls(config.with_fields(**fields), progress=progress)

    def generate(
        self,
        prompts: str | Sequence[Prompt],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        n: int = 1,
        adapter: str = "",
    ) -> list[PromptOutput]:
        """Answer all prompts in one continuously batched run. The order of the results is that of the prompts.

        params: for all prompts, or one for each.
        n: number of answers to each prompt, which is computed once.
        adapter: name of an adapter in the configured `adapters_dir`; empty for the base model.

        Raise InvalidRequestError or OverloadedError; in that case nothing is started. Raise EngineError if the model
        failed.
        """
        given = [prompts] if isinstance(prompts, str) else list(prompts)
        ids = [self.tokenizer.encode_prompt(each) if isinstance(each, str) else list(each) for each in given]
        texts = [each if isinstance(each, str) else None for each in given]
        return self._answer(ids, texts, params, n, adapter)

    def chat(
        self,
        conversations: Conversation | Sequence[Conversation],
        params: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        n: int = 1,
        thinking: ThinkingMode | None = None,
        adapter: str = "",
    ) -> list[PromptOutput]:
        """Answer one conversation or several, with the model's chat template. Otherwise as `generate`.

        thinking: a mode of a model that thinks; None for the model's default.
        """
        is_one = bool(conversations) and isinstance(conversations[0], Mapping)
        several: Sequence[Any] = [conversations] if is_one else conversations
        ids = [self.chat_format.render(_messages(each), thinking=thinking) for each in several]
        return self._answer(ids, [None] * len(ids), params, n, adapter)

    def _answer(
        self,
        prompts: Sequence[list[int]],
        texts: Sequence[str | None],
        params: SamplingParams | Sequence[SamplingParams] | None,
        n: int,
        adapter: str,
    ) -> list[PromptOutput]:
        if n < 1:
            raise InvalidRequestError(f"n is {n}; it must be at least 1", param="n")
        given = [params or SamplingParams()] * len(prompts) if not isinstance(params, Sequence) else list(params)
        if len(given) != len(prompts):
            text = f"there are {len(prompts)} prompts and {len(given)} parameters; give one for each, or one for all"
            raise InvalidRequestError(text, param="params")
        order = self._queue(prompts, given, n, adapter)
        answers = self._run([request_id for ids in order for request_id in ids])
        results = list[PromptOutput]()
        for prompt, given_text, sampling, ids in zip(prompts, texts, given, order, strict=True):
            wholes = [answers[request_id] for request_id in ids]
            outputs = [completion_of(at, each, sampling, self._describe) for at, each in enumerate(wholes)]
            scored = (None, *(logprobs_of(each, self._describe) for each in wholes[0].prompt_logprobs))
            of_prompt = scored if sampling.prompt_logprobs is not None else None
            results.append(PromptOutput(given_text, tuple(prompt), tuple(outputs), of_prompt))
        return results

    def _describe(self, ids: Sequence[int]) -> str:
        return self.tokenizer.describe(ids)

    def _queue(
        self, prompts: Sequence[list[int]], params: Sequence[SamplingParams], n: int, adapter: str
    ) -> list[list[str]]:
        """Queue `n` answers to each prompt, or none at all. Return their ids by prompt."""
        batch, order = secrets.token_hex(4), list[list[str]]()
        try:
            for index, (prompt, sampling) in enumerate(zip(prompts, params, strict=True)):
                first = self.engine.add_request(
                    GenerateRequest(
                        prompt_token_ids=prompt, params=sampling, request_id=f"{batch}-{index}", adapter=adapter
                    )
                ).request_id
                order.append([first])
                order[-1].extend(self.engine.add_fork(first, choice).request_id for choice in range(1, n))
        except BaseException:
            for request_id in (each for ids in order for each in ids):
                self.engine.abort_request(request_id)
            raise
        return order

    def _run(self, request_ids: Sequence[str]) -> dict[str, RequestOutput]:
        """Compute until all requests have ended. Return the whole answers. Raise EngineError if one of them failed."""
        received: dict[str, list[RequestOutput]] = {request_id: [] for request_id in request_ids}
        num_unfinished = len(received)
        # Also when all have ended: what the last steps filled still goes down to the tiers.
        while num_unfinished or not self.engine.core.is_quiet:
            for output in self.engine.step():
                received[output.request_id].append(output)
                num_unfinished -= output.finished
        wholes = {request_id: joined(outputs) for request_id, outputs in received.items()}
        for each in wholes.values():
            if each.error is not None:
                raise EngineError(each.error)
        return wholes

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


def _messages(conversation: Conversation) -> list[Message]:
    """Convert messages. Raise InvalidRequestError for one that is not text."""
    for each in conversation:
        if not isinstance(each.get("role"), str) or not isinstance(each.get("content"), str):
            raise InvalidRequestError("each message needs a role and a content, both of them text", param="messages")
    return [Message(each["role"], each["content"]) for each in conversation]

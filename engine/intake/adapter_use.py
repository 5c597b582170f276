"""The adapter of a request, and what it changes."""

from collections.abc import Mapping, Sequence

from engine.api.errors import InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import AdapterUse
from models.adapters.adapter import Adapter


def named_adapter(request: GenerateRequest, adapters: Mapping[str, Adapter]) -> Adapter:
    """Return the adapter that a request names. adapters: those that requests may name, by name.

    Raise InvalidRequestError if there is no such adapter, or if it cannot compute the request.
    """
    adapter = adapters.get(request.adapter)
    if adapter is None:
        raise InvalidRequestError(f"there is no adapter {request.adapter!r}", param="model")
    if adapter.num_virtual:
        _check_virtual(adapter.name, request.params)
    return adapter


def use_of(adapter: Adapter, prompt: Sequence[int]) -> AdapterUse | None:
    """Return what an adapter changes of a prompt without virtual tokens; None if it changes no token."""
    first = adapter.first(prompt)
    return None if first is None else AdapterUse(adapter.digest, first, adapter.num_virtual)


def _check_virtual(name: str, params: SamplingParams) -> None:
    """Raise InvalidRequestError if a request asks for an output that no prompt adapter gives."""
    for wanted, is_wanted in (
        ("embeddings or scores", params.pooling is not None),
        ("log probabilities of prompts", params.prompt_logprobs is not None),
    ):
        if is_wanted:
            raise InvalidRequestError(
                f"{name!r} is a prompt adapter, which gives no {wanted}. Name the base model", param="model"
            )

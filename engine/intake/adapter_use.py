"""The adapter of a request, and the prompt that it computes."""

from collections.abc import Mapping

from engine.api.errors import InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.request.scheduler_output import AdapterUse
from models.adapters.adapter import Adapter


def adapter_use(request: GenerateRequest, adapters: Mapping[str, Adapter]) -> tuple[AdapterUse | None, tuple[int, ...]]:
    """Return the use of the adapter that a request names, and its prompt with the adapter's virtual tokens.

    None stands for an adapter that changes none of the tokens.

    request: names an adapter. adapters: those that requests may name, by name.

    Raise InvalidRequestError if there is no such adapter, or if it cannot compute the request.
    """
    name, prompt = request.adapter, tuple(request.prompt_token_ids)
    if name not in adapters:
        raise InvalidRequestError(f"there is no adapter {name!r}", param="model")
    adapter = adapters[name]
    if adapter.num_virtual:
        _check_virtual(name, request.params)
    first = adapter.first(prompt)
    return None if first is None else AdapterUse(adapter.digest, first, adapter.num_virtual), adapter.lead(prompt)


def _check_virtual(name: str, params: SamplingParams) -> None:
    """Raise InvalidRequestError for what is not defined behind the virtual tokens of a prompt adapter."""
    for wanted, is_wanted in (
        ("embeddings or scores", params.pooling is not None),
        ("log probabilities of prompts", params.prompt_logprobs is not None),
    ):
        if is_wanted:
            raise InvalidRequestError(
                f"{name!r} is a prompt adapter, which gives no {wanted}. Name the base model", param="model"
            )

"""Thinking mode of an answer, from the words that several APIs have for it."""

from collections.abc import Callable

from app.host.backend import Backend
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from models.thinking import ThinkingMode

EFFORTS: dict[str, tuple[ThinkingMode, ...]] = {
    "none": ("off", "auto"),
    "minimal": ("off", "auto"),
    "low": ("auto", "slow"),
}
"""Thinking modes for OpenAI's efforts, the best first. Every other effort means to think."""


def required_mode(engine: Backend, mode: ThinkingMode | None, *, param: str) -> ThinkingMode | None:
    """Validate a mode that a client named. Returns None if the prompt needs no mode.

    Raises:
        InvalidRequestError: the model does not support the mode.
    """
    thinking = engine.chat_format.thinking
    if mode is None or (thinking is None and mode == "off"):
        return None
    if thinking is None:
        raise InvalidRequestError(
            f"{param}: {engine.model_name} does not think before it answers", param=param, code="unsupported"
        )
    if mode not in thinking.modes:
        raise InvalidRequestError(
            f"{param}: {engine.model_name} supports {', '.join(thinking.modes)}", param=param, code="unsupported"
        )
    return mode


def preferred_mode(engine: Backend, effort: str | None) -> ThinkingMode | None:
    """Return the mode closest to `effort`; None leaves it to the model.

    An effort is only a hint. Models that cannot think, or always do, ignore it.
    """
    thinking = engine.chat_format.thinking
    if thinking is None or effort is None:
        return None
    if effort == "medium" and thinking.modes == ("slow", "auto"):
        return None  # The model's own effort is between the two modes of gpt-oss.
    return next((mode for mode in EFFORTS.get(effort, ("slow",)) if mode in thinking.modes), None)


def note_vain_budget(
    engine: Backend, params: SamplingParams, note: Callable[[str], None], client_field: Callable[[str], str]
) -> None:
    """Name a budget of thoughts among the ignored fields if the model does not think.

    note: called with the client's name of the field. client_field: returns that name.
    """
    if params.thinking_token_budget is not None and engine.chat_format.thinking is None:
        note(client_field("thinking_token_budget"))

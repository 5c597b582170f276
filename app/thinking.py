"""How an answer is to be thought about: what a request may say of it, in the words of several APIs, to one mode."""

from app.backend import Backend
from engine.errors import InvalidRequestError
from models.thinking import ThinkingMode

EFFORTS: dict[str, tuple[ThinkingMode, ...]] = {
    "none": ("off",),
    "minimal": ("off",),
    "low": ("auto", "slow"),
}
"""OpenAI's words to modes, the best first. Every other effort is to think."""


def required_mode(engine: Backend, mode: ThinkingMode | None, *, param: str) -> ThinkingMode | None:
    """`mode`, as a client asked for it by name; None if there is nothing to tell the model.

    Raises:
        InvalidRequestError: the model cannot do that.
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
            f"{param}: {engine.model_name} knows {', '.join(thinking.modes)}", param=param, code="unsupported"
        )
    return mode


def preferred_mode(engine: Backend, effort: str | None) -> ThinkingMode | None:
    """What comes nearest to an effort, which is a hint: models that do not think, or only do, answer as they do."""
    thinking = engine.chat_format.thinking
    if thinking is None or effort is None:
        return None
    return next((mode for mode in EFFORTS.get(effort, ("slow",)) if mode in thinking.modes), None)

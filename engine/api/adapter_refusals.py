"""Refusals to load or unload an adapter."""

from collections.abc import Iterable

from engine.api.errors import InvalidRequestError, NotFoundError


def no_folder() -> NotFoundError:
    """Return the refusal to load an adapter without a folder of adapters."""
    return NotFoundError(
        "This server has no folder of adapters. Serve one model with --adapters-dir.", code="no_adapters_folder"
    )


def already_loaded(name: str) -> InvalidRequestError:
    """Return the refusal of a second load."""
    return InvalidRequestError(
        f"The adapter {name!r} is loaded already. Send load_inplace to replace it by what its folder has now.",
        param="lora_name",
        code="adapter_loaded",
    )


def unknown(name: str, loaded: Iterable[str]) -> NotFoundError:
    """Return the refusal to unload an adapter that is not loaded."""
    names = ", ".join(map(repr, loaded)) or "none"
    return NotFoundError(
        f"No adapter {name!r} is loaded. Loaded: {names}.", param="lora_name", code="adapter_not_found"
    )

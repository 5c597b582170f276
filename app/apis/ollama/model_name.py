"""Names of the served model in Ollama's API, where a name without a tag means the tag `latest`."""

from typing import Final

from app.host.backend import Backend
from app.host.engine_host import EngineHost

DEFAULT_TAG: Final = ":latest"


def tagged_name(name: str) -> str:
    """Return the name of a model with its tag."""
    return name if ":" in name else name + DEFAULT_TAG


def tagged_model(host: EngineHost, name: str) -> Backend:
    """Return the model that a client names, with or without the tag. Raise as `EngineHost.require`."""
    return host.require(untagged(host, name))


def untagged(host: EngineHost, name: str) -> str:
    """Return a name as the server knows it: without the tag, unless the tag is part of a model's name."""
    is_whole = host.find(name) is not None if host.models is not None else name == host.require().model_name
    return name if is_whole else name.removesuffix(DEFAULT_TAG)


def adapter_of_tagged(host: EngineHost, name: str) -> str:
    """Return what `EngineHost.adapter_of` returns for `name` with or without the tag, or raise as it does."""
    return host.adapter_of(untagged(host, name))

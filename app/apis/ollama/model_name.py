"""Names of the served model in Ollama's API, where a name without a tag means the tag `latest`."""

from typing import Final

from app.host.backend import Backend
from app.host.engine_host import EngineHost

DEFAULT_TAG: Final = ":latest"


def tagged_name(engine: Backend) -> str:
    """Return the name of the served model with its tag."""
    name = engine.model_name
    return name if ":" in name else name + DEFAULT_TAG


def check_tagged_model(host: EngineHost, name: str) -> None:
    """Raise NotFoundError unless `name` is the model that is served or an alias of it, with or without the tag."""
    if name != tagged_name(host.require()):
        host.check_model(name.removesuffix(DEFAULT_TAG))

"""POST /v1/load_lora_adapter and /v1/unload_lora_adapter."""

from typing import Annotated

from pydantic import Field

from app.schemas.parsing import CompatibleRequest
from app.schemas.sampling import ModelName

LoraName = Annotated[ModelName, Field(description="name of the adapter, which is that of its folder")]


class AdapterToLoad(CompatibleRequest):
    """A request to load an adapter."""

    examples = ({"lora_name": "poet"}, {"lora_name": "poet", "lora_path": "poet", "load_inplace": True})

    lora_name: LoraName
    lora_path: Annotated[
        str | None, Field(description="the adapter's folder in the folder of adapters, if given", max_length=4096)
    ] = None
    load_inplace: Annotated[bool, Field(description="replace a loaded adapter by what its folder has now")] = False


class AdapterToUnload(CompatibleRequest):
    """A request to unload an adapter."""

    examples = ({"lora_name": "poet"},)

    lora_name: LoraName

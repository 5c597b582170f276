"""The model of the catalogue that suits this machine."""

from dataclasses import dataclass

from app.config.settings import Settings
from app.config.sizes import format_size
from engine.device.choice import choose_device
from engine.worker.host_resources import available_memory, usable_cores
from models.download.catalogue import CatalogueModel, suitable_model
from models.download.resolve import DEFAULT_MODEL


@dataclass(frozen=True, slots=True)
class Suitability:
    """Result of a look at the machine.

    machine: memory and cores, for a sentence.
    model: the largest suitable model; None if only the default model suits.
    """

    machine: str
    model: CatalogueModel | None

    def sentence(self) -> str:
        """Name the model, as the second half of a sentence about the catalogue."""
        if self.model is None:
            return f"the default model {DEFAULT_MODEL} suits this machine ({self.machine})"
        return f"the largest one that suits this machine ({self.machine}) is {self.model.name}"


def suitable(settings: Settings) -> Suitability:
    """Look at the memory and the cores of the device that `settings` choose. Raise EngineError without that device."""
    name = choose_device(settings.device)
    if name != "cpu":
        # Imported here because only accelerators need torch for their memory.
        from engine.worker.torch.devices import open_device

        memory = open_device(name).available_memory()
        return Suitability(f"{format_size(memory)} free on the {name} device", suitable_model(memory, None))
    memory, cores = available_memory(), usable_cores()
    return Suitability(f"{format_size(memory)} of available memory and {cores} cores", suitable_model(memory, cores))


def better_model(settings: Settings) -> str:
    """Return the name of a suitable model if `settings` serve the default one on a CPU; empty if there is none."""
    if settings.model.lower() != DEFAULT_MODEL or choose_device(settings.device) != "cpu":
        return ""
    found = suitable(settings).model
    return "" if found is None else found.name

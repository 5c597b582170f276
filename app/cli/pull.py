"""`ebb pull`: list the catalogue, or show what a model needs and download it."""

import shutil
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from app.cli.device_memory import ComputingMemory, computing_memory
from app.config.settings import Settings
from app.config.sizes import format_size
from app.host.suitable_model import suitable
from engine.api.errors import EbbError
from engine.device.choice import choose_device
from models.download.catalogue import CATALOGUE
from models.download.resolve import at_hub, fetched, resolve_model
from models.download.wheel_source import WHEELS
from models.errors import ModelError

if TYPE_CHECKING:
    from engine.worker.native.weight_memory import WeightMemory
    from models.download.hub.repository import HubName
    from models.download.hub_model import HubPlan

Say = Callable[[str], None]

_FOOTER: Final = """\

`ebb pull NAME` shows licence, size, memory and speed before the download. Any hub id works: org/model, or
org/model:Q4_K_M for one GGUF file. `ebb serve --model NAME` serves the model.
"""


class PullError(EbbError):
    """The model could not be pulled."""

    code = "pull_failed"


def pull(settings: Settings, name: str | None = None, yes: bool = False) -> int:
    """Download the model `name` and print its folder; without a name, list the catalogue. Raise PullError.

    yes: do not ask before the download. No question is asked without a terminal either.
    """
    if name is None:
        print(catalogue_text())
        print(f"Of these, {suitable(settings).sentence()}")
        return 0
    try:
        hub_name = at_hub(name)
        if hub_name is None:
            print(resolve_model(name, settings.cache_dir, _say, device=choose_device(settings.device)))
            return 0
        return _pull_from_hub(settings, hub_name, _no_question if yes or not _has_terminal() else _question)
    except ModelError as error:
        raise PullError(str(error)) from error


def catalogue_text() -> str:
    """Return the catalogue as a table."""
    rows = [
        *((wheel.name, "", wheel.good_for) for wheel in WHEELS.values()),
        *((model.name, model.hub_id, model.good_for) for model in CATALOGUE),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"{name:{widths[0]}}  {hub_id:{widths[1]}}  {good_for}" for name, hub_id, good_for in rows]
    return "\n".join((*lines, _FOOTER))


def _pull_from_hub(settings: Settings, name: "HubName", may_download: Callable[[], bool]) -> int:
    from models.download.hub.client import Hub
    from models.download.hub_model import plan_download

    hub = Hub()
    plan = plan_download(name, settings.cache_dir, hub, _say, device=choose_device(settings.device))
    if plan.missing:
        _say(plan_text(plan, settings, hub.endpoint))
        if not may_download():
            _say("Nothing was downloaded.")
            return 1
    print(fetched(plan, settings.cache_dir, hub, _say))
    return 0


def plan_text(plan: "HubPlan", settings: Settings, endpoint: str) -> str:
    """Describe a model that can be downloaded: licence, size, memory, and an estimate of its speed."""
    repository, memory = plan.repository, computing_memory(settings)
    free = format_size(shutil.disk_usage(settings.cache_dir).free)
    rows = (
        ("model", f"{plan.name} at commit {repository.commit[:12]}"),
        ("licence", f"{repository.licence or 'not stated'}: {endpoint}/{repository.name}"),
        ("download", f"{format_size(plan.missing)} of {format_size(plan.nbytes)}; {free} free in {settings.cache_dir}"),
        ("memory", _memory(plan, settings, memory)),
        ("speed", _speed(plan, settings, memory)),
        ("code", plan.code),
    )
    return "\n".join(f"  {label:9} {text}" for label, text in rows)


def _memory(plan: "HubPlan", settings: Settings, memory: ComputingMemory) -> str:
    from cache_tiers.layout.layout import BlockLayout
    from engine.attention.backend import kv_shapes

    weights = _weights(plan, settings)
    per_token = BlockLayout(kv_shapes(plan.attention), 1, 4 if settings.dtype == "float32" else 2).nbytes
    number = settings.dtype if settings.quantization == "none" else settings.quantization
    kind = "as in the file" if weights.keeps_blocks or plan.stored.is_quantized else f"as {number}"
    text = f"about {format_size(weights.held)} of weights {kind}, and {format_size(per_token)} of KV per token; "
    place = f" on {memory.place}" if memory.place else ""
    if memory.available is None:
        return f"{text}how much is available{place} is unknown"
    text += f"{format_size(memory.available)} available{place}"
    if max(weights.held, weights.loading) < memory.available:
        return text
    return f"{text}: the model does not fit. Choose a smaller one, or a GGUF file with fewer bits per weight"


def _speed(plan: "HubPlan", settings: Settings, memory: ComputingMemory) -> str:
    """Estimate the tokens per second of one answer: each token reads all weights once."""
    if memory.bandwidth is None:
        return f"unknown: {memory.reason}"
    rate = memory.bandwidth / _weights(plan, settings).held
    reason = f"each token reads all weights, and {memory.reason}"
    if plan.has_experts:
        reason += "; faster, since this model reads only some of its experts"
    return f"an estimate: at most {_two_digits(rate)} tokens/s for one answer ({reason})"


def _two_digits(rate: float) -> str:
    """Format a rate with two digits that count, and without an exponent."""
    return f"{float(f'{rate:.2g}'):,.10g}"


def _weights(plan: "HubPlan", settings: Settings) -> "WeightMemory":
    from app.config.settings import trial_config
    from engine.worker.native.weight_memory import weight_memory

    return weight_memory(plan.stored, plan.decoder, trial_config(settings, settings.cache_dir))


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _question() -> bool:
    print("Download it? [Y/n] ", end="", file=sys.stderr, flush=True)
    # An empty text without a line's end means that the terminal was closed.
    return sys.stdin.readline() in ("\n", "y\n", "Y\n", "yes\n")


def _no_question() -> bool:
    return True


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

"""Progress of prompts as JSON."""

from typing import Any

from app.schemas.response_bodies.run_events import PromptProgress
from cache_tiers.registry import all_tiers
from engine.api import outputs


def progress_body(progress: outputs.PromptProgress) -> PromptProgress:
    """Serialize a report for the stream of a run."""
    return {
        "state": progress.state,
        "total": progress.total,
        "done": progress.done,
        "reused": {tier.id: progress.reused[tier.id] for tier in all_tiers()},
        "computed": progress.computed,
        "seconds_left": progress.seconds_left,
    }


def llama_progress(progress: outputs.PromptProgress) -> dict[str, Any]:
    """Serialize a report as the field `prompt_progress` of llama.cpp. `cache` counts the tokens that were not computed.

    llama.cpp reports nothing before it computes, so there is no field for the wait.
    """
    return {
        "total": progress.total,
        "cache": progress.cached,
        "processed": progress.done,
        "time_ms": round(progress.seconds * 1e3),
    }

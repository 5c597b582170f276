"""`ebb cache plan`: what the running server's tiers would find at other sizes, and what to change."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.cli.running_server import run_with_server
from app.client.chat_client import ChatClient
from app.config.settings import Settings
from app.config.sizes import format_size
from app.transport.tls import own_certificate
from cache_tiers.registry import all_tiers
from cache_tiers.tier import DEVICE, Tier, TierId

_MINUTE, _HOUR = 60.0, 3600.0


def cache_plan(settings: Settings, api_key: str | None = None) -> int:
    """Print the plan of each tier of the running server. Returns the exit status."""
    return run_with_server(_print_plan(settings, api_key))


async def _print_plan(settings: Settings, api_key: str | None) -> None:
    async with ChatClient(settings.client_url, api_key, own_certificate(settings)) as client:
        sample = await client.live_sample()
    for line in plan_lines(sample["tiers"]):
        print(line)


def plan_lines(tiers: Mapping[TierId, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines for the tiers of a live sample: the curve of each tier, and a sentence of advice."""
    planned = [tier for tier in all_tiers() if tiers.get(tier.id, {}).get("plan")]
    if not planned:
        yield "No prompt was looked up yet, so nothing can be planned."
    for tier in planned:
        plan = tiers[tier.id]["plan"]
        yield f"{tier.name}: part of the prompts' tokens that it and the tiers above it have, by size"
        points = zip(plan["sizes"], plan["hit_rates"], strict=True)
        yield "  " + ", ".join(f"{format_size(size)} {_percent(rate)}" for size, rate in points)
        yield f"  {advice(tier, plan)}"


def advice(tier: Tier, plan: Mapping[str, Any]) -> str:
    """Say in a sentence what to change about a tier, and what it brings. The server has decided both."""
    if plan["advice"] == "unknown":
        counted = f"{plan['counted_tokens']} of {plan['needed_tokens']}"
        return f"Too little is known yet: {counted} prompt tokens were counted."
    if plan["advice"] != "grow":
        half = f" {format_size(plan['advised_bytes'])} would be enough." if plan["advice"] == "shrink" else ""
        return f"Nothing to gain: even {format_size(plan['sizes'][-1])} would find hardly more.{half}"
    today, advised = format_size(plan["current_bytes"]), format_size(plan["advised_bytes"])
    rates = f"{_percent(plan['advised_hit_rate'])} in place of {_percent(plan['current_hit_rate'])}"
    source = tier.name if tier is DEVICE else f"{tier.name} or a tier above"
    saved = plan["saved_seconds_per_day"]
    if saved is None:
        brings = "the time of computing is not known yet"
    elif saved == 0:
        brings = "they are loaded from a tier below today, so little computing is saved"
    else:
        brings = f"about {_duration(saved)} of computing a day less"
    change = f"With --{plan['setting']} {advised} in place of {today}"
    return f"{change}, {rates} of prompt tokens would come from {source}: {brings}."


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %"


def _duration(seconds: float) -> str:
    return f"{seconds / _HOUR:.1f} h" if seconds >= _HOUR else f"{seconds / _MINUTE:.0f} min"

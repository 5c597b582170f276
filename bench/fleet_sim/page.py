"""Page of the results, made from their JSON."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

HEAD: Final = """\
# Simulation of a fleet

`python -m bench.fleet_sim --page` makes this page from
[bench/results/fleet_sim.json](../../bench/results/fleet_sim.json).

`python -m bench.fleet_sim` runs the router of the product (`engine/fleet/routing/router.py`) over simulated replicas. A
simulated replica has a queue, a batch, a device pool, a CPU tier and a link to Redis, at given costs. Between two
events nothing changes, so the simulator computes the time of the next one. Times are simulated, and the machine's load
does not matter. Only the calibration and the times of decisions are real.
"""


def page(results: Mapping[str, Any]) -> str:
    """Return the page. A part that has not been measured is left out."""
    return "\n".join([HEAD, *(section(part, results[part]) for part in SECTIONS if results.get(part))])


def section(part: str, found: Any) -> str:
    """Return the section of a part of the results."""
    return SECTIONS[part](found)


def _calibration(found: Mapping[str, Any]) -> str:
    error = found["simulated"] / found["seen"] - 1
    return f"""\
## Calibration

{found["requests"]} requests of chats went to four real replicas with one thread each. The simulator played the same
chats at the costs that the replicas had learned. The simulated mean time to the first token is
{_ms(found["simulated"])}, and the real one {_ms(found["seen"])}: an error of {100 * error:+.0f} %. The router itself
predicted {_ms(found["routed"])}.
"""


def _decisions(found: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            f"{each['replicas']:,}",
            f"{each['microseconds']:.0f} µs",
            f"{each['microseconds_p99']:.0f} µs",
            f"{each['report_microseconds']:.0f} µs",
            f"{each['names']:,}",
            f"{each['memory'] / (1 << 20):.0f} MiB",
        ]
        for each in found
    ]
    head = ["replicas", "decision, p50", "decision, p99", "report, p50", "names", "memory"]
    return f"""\
## Time and memory of a decision

Every replica has published as many tips as it may. A prompt has 64 blocks, and continues a chat that one replica has. A
decision includes its charge.

{_table(head, rows)}
"""


def _scale(found: Mapping[str, Any]) -> str:
    return f"""\
## A thousand replicas

{found["conversations"]:,} conversations with {found["requests"]:,} requests over {found["replicas"]:,} replicas and
{found["gateways"]} gateways. The mean time to the first token was {_ms(found["first_token"])}, the 99th percentile
{_ms(found["first_token_p99"])}. {100 * found["computed"]:.1f} % of the prompt tokens were computed, and the others
came from a cache. The largest router knew {found["names"]:,} names. In the median, the most crowded replica had
{found["crowding"]:.1f} times the mean number of requests.
"""


def _stale(found: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            each["policy"],
            f"{each['report_seconds']:g} s" if each["policy"] == "predicted" else "none",
            _ms(each["first_token"]),
            _ms(each["first_token_p99"]),
            f"{100 * each['computed']:.1f} %",
            f"{each['crowding']:.2f}",
            f"{each['crowding_most']:.2f}",
        ]
        for each in found
    ]
    head = ["policy", "reports every", "TTFT, mean", "TTFT, p99", "computed", "crowding, median", "crowding, most"]
    one = found[0]
    return f"""\
## Stale reports

{one["conversations"]:,} conversations over {one["replicas"]:,} replicas and {one["gateways"]} gateways, with a
common Redis. Crowding is the number of requests at the most crowded replica over the mean. A herd shows as times
that grow with the age of the reports. Until the next report, a gateway counts what it has sent itself, and assumes
that each other gateway does alike.

{_table(head, rows)}
"""


def _loss(found: Mapping[str, Any]) -> str:
    row = found["row"]
    return f"""\
## Loss of a gateway

One of {row["gateways"]} gateways over {row["replicas"]:,} replicas is lost with {row["taken_over"]:,} unfinished
requests. The others take them over after a second. In the next five seconds the 99th percentile of the time to the
first token is {_ms(found["after"])}, and {_ms(found["undisturbed"])} without the loss. Before the loss it is
{_ms(found["before"])}.
"""


def _roles(found: Sequence[Mapping[str, Any]]) -> str:
    both = found[0]
    rows = [
        [
            f"{each['prefill']} and {each['replicas'] - each['prefill']}" if each["prefill"] else "all do both",
            _ms(each["first_token"]),
            f"{each['first_token'] / both['first_token']:.2f}",
            _ms(each["first_token_p99"]),
            _ms(each["gap"]),
            _ms(each["gap_p99"]),
            f"{each['gap_p99'] / both['gap_p99']:.2f}",
            _ms(each["gap_p999"]),
        ]
        for each in found
    ]
    head = [
        "prompts and answers",
        "TTFT, mean",
        "of both",
        "TTFT, p99",
        "ITL, p50",
        "ITL, p99",
        "of both",
        "ITL, p99.9",
    ]
    return f"""\
## Prompts and answers on different replicas

{both["requests"]:,} requests with prompts of 4,000 to 16,000 tokens over {both["replicas"]:,} replicas. A replica with
the role `prefill` hands each answer over after the first token. The blocks of its last step, and the partly filled
one, are written after that token, and the other replica loads all of them. That pause is one of the times between
tokens.

{_table(head, rows)}
"""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


SECTIONS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "calibration": _calibration,
        "decisions": _decisions,
        "scale": _scale,
        "stale": _stale,
        "loss": _loss,
        "roles": _roles,
    }
)
"""Makers of the sections, by part, in the order of the page."""

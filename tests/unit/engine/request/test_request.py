"""Which fields of a request its copies take over, and which start unset: each field is in one of the sets below."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

import pytest

from engine.request.request import Request
from tests.unit.scheduling_rig import bare_request

IDENTITY: Final = {"tenant", "prompt_token_ids", "root_key", "adapter"}
WISHES: Final = {
    "arrival",
    "priority",
    "deadline",
    "start_by",
    "public",
    "num_marked",
    "moves_at",
    "keeps_kv",
    "is_stored",
}
MEASURED: Final = {"loaded_blocks", "reuse_seconds", "receipt", "reuse", "started", "timeline"}
"""Fields of a request that was computed before, which its receipt needs."""
PLACE_IN_QUEUE: Final = {"order", "wait_began", "waited", "lack", "held_back_since", "status", "on_place"}
TOKENS: Final = {
    "output_token_ids",
    "unsent_token_ids",
    "prompt_logprobs",
    "num_computed_tokens",
    "num_confirmed_tokens",
    "finish_reason",
}
BLOCKS: Final = {"blocks", "num_published_blocks", "restored", "prefetched", "miss_reason", "tiers_asked"}
STEPS: Final = {
    "steps_in_flight",
    "samples_in_flight",
    "sampled_by",
    "ignored_before",
    "num_drafted",
    "known_to_worker",
}

COPIES: Final[tuple[tuple[str, Callable[[Request], Request], set[str], set[str], set[str]], ...]] = (
    (
        "fork",
        lambda request: request.fork("other", 1, None),
        IDENTITY | WISHES,
        {"request_id", "sampling", "block_keys", "mask", "siblings", "timeline"},
        (MEASURED - {"timeline"}) | {"promise"} | PLACE_IN_QUEUE | TOKENS | BLOCKS | STEPS,
    ),
    (
        "renewed",
        lambda request: request.renewed([], None),
        {"request_id", "sampling", "promise", *IDENTITY, *WISHES, *MEASURED} - {"start_by"},
        {"block_keys", "mask", "start_by"},
        {"siblings", *PLACE_IN_QUEUE, *TOKENS, *BLOCKS, *STEPS},
    ),
)


@pytest.mark.parametrize(("name", "copy", "taken", "made", "fresh"), COPIES, ids=[each[0] for each in COPIES])
def test_each_field_is_taken_over_made_or_unset(
    name: str, copy: Callable[[Request], Request], taken: set[str], made: set[str], fresh: set[str]
) -> None:
    """taken: fields with the value of the original. made: fields with a value for the copy. fresh: unset fields."""
    every = {each.name for each in fields(Request)}
    assert taken | made | fresh == every, f"name the new fields in {__name__}, after a look at `Request.{name}`"
    assert len(taken) + len(made) + len(fresh) == len(every), "a field is in two sets"
    values: dict[str, Any] = {each: object() for each in every - {"sampling", "block_keys", "siblings", "tiers_asked"}}
    values["tiers_asked"] = True
    original, unset = bare_request(0), bare_request(0)
    values["siblings"] = [original]
    for field, value in values.items():
        setattr(original, field, value)
    made_copy = copy(original)
    assert {each for each in taken if getattr(made_copy, each) is not getattr(original, each)} == set()
    assert {each for each in fresh if getattr(made_copy, each) != getattr(unset, each)} == set()

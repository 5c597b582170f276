"""Phrases of earlier answers: found per tenant, bounded, and erased with their blocks."""

from collections.abc import Sequence

import pytest

from cache_tiers.owners.block_key import BlockKey, block_key
from engine.api.sampling_params import SamplingParams
from engine.request.request import Request
from engine.speculation.phrase_lookup import PhraseLookup
from engine.speculation.phrases import MAX_INDEXED, MAX_TENANTS, MAX_TOKENS, KnownAnswer, Phrases, TenantPhrases
from engine.speculation.prompt_lookup import PromptLookup
from tests.unit.scheduling_rig import ROOT

BLOCK = 4
ANSWER = tuple(range(100, 140))


def request_of(
    tenant: str = "local", *, prompt: Sequence[int] = (1, 2), answer: Sequence[int] = (), keeps_kv: bool = True
) -> Request:
    request = Request(
        request_id="r",
        tenant=tenant,
        prompt_token_ids=tuple(prompt),
        sampling=SamplingParams(temperature=0.0, max_tokens=100, seed=0),
        root_key=ROOT,
        block_keys=[],
        arrival=0.0,
        keeps_kv=keeps_kv,
    )
    say(request, *answer)
    return request


def say(request: Request, *tokens: int) -> None:
    """Append sampled tokens, with the keys of the blocks that they fill."""
    request.output_token_ids.extend(tokens)
    for index in range(len(request.block_keys), request.num_tokens // BLOCK):
        ids = request.token_ids(index * BLOCK, (index + 1) * BLOCK)
        request.block_keys.append(block_key(request.key_before(index), ids))


def lookup_that_knows(*answers: Request) -> tuple[PhraseLookup, Phrases]:
    phrases = Phrases(BLOCK)
    for answer in answers:
        phrases.add(answer)
    return PhraseLookup(PromptLookup(), phrases), phrases


def guess(lookup: PhraseLookup, request: Request, behind: int = 0, most: int = 3) -> tuple[int, ...]:
    return tuple(lookup.propose(request, behind, most).token_ids)


def test_answer_that_repeats_another_is_guessed() -> None:
    lookup, _ = lookup_that_knows(request_of(answer=ANSWER))
    request = request_of(prompt=(7, 8, 9))
    assert guess(lookup, request) == ()
    say(request, 5, *ANSWER[10:13])
    assert guess(lookup, request) == ANSWER[13:16]
    assert guess(lookup, request, behind=2) == ANSWER[15:18]
    say(request, *ANSWER[13:36])
    assert guess(lookup, request, most=9) == ANSWER[36:]


def test_chance_rises_with_the_match_and_stays_for_others() -> None:
    lookup, _ = lookup_that_knows(request_of(answer=ANSWER * 4))
    request = request_of()
    chances = []
    for token in ANSWER * 3:
        say(request, token)
        chances.append(lookup.propose(request, 0, 3).chance)
    assert chances[-1] > 0.9
    later = request_of(prompt=(3,))
    say(later, *ANSWER)
    assert lookup.propose(later, 0, 3).chance > 0.5


def test_phrases_that_end_otherwise_lose_their_chance() -> None:
    lookup, _ = lookup_that_knows(request_of(answer=ANSWER))
    first = 0.0
    for at in range(60):
        request = request_of(prompt=(at,))
        say(request, *ANSWER[4:7])
        assert guess(lookup, request) == ANSWER[7:10]
        chance = lookup.propose(request, 0, 3).chance
        first = first or chance
        say(request, 9_000 + at)
        guess(lookup, request)
    assert chance < first / 10


def test_own_text_is_taken_where_it_is_likelier() -> None:
    lookup, _ = lookup_that_knows(request_of(answer=(*ANSWER[:4], 7, 7, 7)))
    request = request_of(prompt=ANSWER)
    for token in ANSWER[:20]:
        say(request, token)
        guess(lookup, request)
    assert guess(lookup, request) == ANSWER[20:23]


def test_tenant_sees_no_phrase_of_another() -> None:
    lookup, _ = lookup_that_knows(request_of("a", answer=ANSWER))
    request = request_of("b")
    say(request, *ANSWER[:10])
    assert guess(lookup, request) == ()


def test_answer_that_leaves_no_kv_leaves_no_phrase() -> None:
    lookup, phrases = lookup_that_knows(request_of(answer=ANSWER, keeps_kv=False))
    assert phrases.of("local") is None
    request = request_of()
    say(request, *ANSWER[:10])
    assert guess(lookup, request) == ()


@pytest.mark.parametrize("length", [4, 39], ids=["within a block", "several blocks"])
def test_erased_answer_is_forgotten(length: int) -> None:
    stays, goes = request_of(answer=range(500, 520)), request_of(prompt=(1,) * 8, answer=ANSWER[:length])
    lookup, phrases = lookup_that_knows(stays, goes)
    keys = list(goes.block_keys[2:])
    if not keys:
        keys = [block_key(goes.key_before(2), goes.token_ids(8, 11))]
    phrases.erase(keys[:1])
    request = request_of()
    say(request, *ANSWER[: length - 1])
    assert guess(lookup, request) == ()
    say(request, *range(500, 505))
    assert guess(lookup, request) == (505, 506, 507)
    phrases.erase(stays.block_keys)
    assert phrases.of("local") is None


def test_recalled_answer_is_guessed_and_erased_with_its_block() -> None:
    lookup, phrases = lookup_that_knows(request_of(answer=range(500, 520)))
    key = BlockKey(b"k" * 32)
    answers = [KnownAnswer(range(700, 720), frozenset({key})), KnownAnswer(ANSWER, frozenset({key}))]
    phrases.recall("local", answers)
    known = phrases.of("local")
    assert known is not None
    assert known.has(frozenset({key}))
    request = request_of()
    say(request, *ANSWER[:10])
    assert guess(lookup, request) == ANSWER[10:13]
    end = known._end
    phrases.recall("local", answers)
    assert known._end == end, "an answer that is known is not remembered twice"
    phrases.erase([key])
    request = request_of()
    say(request, *ANSWER[:10])
    assert guess(lookup, request) == ()


def test_position_beyond_32_bits_is_found() -> None:
    phrases = TenantPhrases(_end=(1 << 32) - 20, _indexed=(1 << 32) - 20)
    phrases.add(ANSWER, frozenset())
    phrases.index(MAX_TOKENS)
    found = phrases.find(ANSWER[20:30])
    assert found is not None
    assert phrases.after(found.place, 3) == ANSWER[30:33]


def test_newer_answers_replace_the_oldest() -> None:
    phrases = TenantPhrases()
    key = frozenset({BlockKey(b"old")})
    phrases.add(ANSWER, key)
    for start in range(1_000, 1_000 + 2 * MAX_TOKENS, 1_000):
        phrases.add(range(start, start + 1_000), frozenset())
    phrases.index(3 * MAX_TOKENS)
    assert phrases.find(ANSWER[:8]) is None
    assert phrases.find(range(start, start + 8)) is not None
    phrases.erase(key)
    assert phrases.find(range(start, start + 8)) is not None


def test_answer_longer_than_the_store_keeps_its_end() -> None:
    phrases = TenantPhrases()
    phrases.add(range(2 * MAX_TOKENS), frozenset())
    phrases.index(2 * MAX_TOKENS)
    found = phrases.find(range(2 * MAX_TOKENS - 20, 2 * MAX_TOKENS - 10))
    assert found is not None
    assert phrases.after(found.place, 2) == (2 * MAX_TOKENS - 10, 2 * MAX_TOKENS - 9)


def test_tenant_that_asked_least_recently_is_forgotten() -> None:
    phrases = Phrases(BLOCK)
    for number in range(MAX_TENANTS):
        phrases.add(request_of(f"t{number}", answer=ANSWER))
    assert phrases.of("t0") is not None
    phrases.add(request_of("new", answer=ANSWER))
    assert phrases.of("t1") is None
    assert phrases.of("t0") is not None


def test_long_answer_is_indexed_in_parts() -> None:
    answer = tuple(range(4 * MAX_INDEXED))
    phrases = Phrases(BLOCK)
    phrases.add(request_of(answer=answer))
    known = phrases.of("local")
    assert known is not None
    assert known.find(answer[MAX_INDEXED - 20 : MAX_INDEXED - 10]) is not None
    assert known.find(answer[-20:-10]) is None
    for _ in range(4):
        phrases.of("local")
    assert known.find(answer[-20:-10]) is not None

import tracemalloc

from cache_tiers.owners.block_key import BlockKey, block_key, extend_keys
from cache_tiers.owners.owners import Owners
from engine.api.outputs import KnownPrefix
from engine.api.sampling_params import SamplingParams
from engine.block_tables.prefix_log import PrefixLog
from engine.request.request import Request
from tests.unit.scheduling_rig import BLOCK, ROOT, Rig

OTHER_TENANT = BlockKey(bytes(32))


def request(prompt: str, *, root: BlockKey = ROOT, computed: int | None = None) -> Request:
    """Build a request in which each character is a token.

    `computed` is the number of computed tokens; None means all of them.
    """
    ids = tuple(prompt.encode())
    made = Request(
        request_id="r",
        tenant="local",
        prompt_token_ids=ids,
        sampling=SamplingParams(),
        root_key=root,
        block_keys=extend_keys(root, ids, BLOCK),
        arrival=0.0,
    )
    made.num_confirmed_tokens = len(ids) if computed is None else computed
    return made


def log_of(*prompts: str, most_tokens: int = 1000) -> PrefixLog:
    log = PrefixLog(Owners(), BLOCK, most_tokens=most_tokens)
    for prompt in prompts:
        log.add(request(prompt))
    return log


def known(num_tokens: int, continuation: str) -> KnownPrefix:
    return KnownPrefix(num_tokens, tuple(continuation.encode()))


def test_longest_known_prefix_is_found_with_its_continuation() -> None:
    log = log_of("abcdefghijklmnopqr", "abcdeXY")
    assert log.longest(request("abcdefgHIJ")) == known(7, "hijklmno")
    assert log.longest(request("abcdeXYZ")) == known(7, "")
    assert log.longest(request("abcdQ")) == known(4, "eXY"), "any of the prompts with the longest common prefix"
    assert log.longest(request("nothing")) == known(0, "abcdeXY"), "the prompt diverges at its first token"
    assert log_of().longest(request("abc")) == known(0, "")


def test_uncomputed_tokens_are_not_known() -> None:
    log = log_of()
    log.add(request("abcdefghij", computed=6))
    assert log.longest(request("abcdefghij")) == known(6, "")


def test_prefixes_of_other_tenants_are_not_known() -> None:
    log = log_of("abcdefghij")
    assert log.longest(request("abcdefghij", root=OTHER_TENANT)) == known(0, "")


def test_erased_prefix_is_not_known() -> None:
    log = log_of("abcdefghij", "abcdxyz")
    deleted = request("abcdefghij")
    log.erase([*deleted.block_keys[1:], block_key(deleted.block_keys[1], deleted.prompt_token_ids[8:])])
    assert log.longest(request("abcdefghij")) == known(4, "xyz")
    assert log.num_tokens == 7


def test_longer_run_replaces_its_prefixes() -> None:
    log = log_of("abcdef", "abcdefg", "abcdefghi")
    assert log.num_tokens == 9
    assert log.longest(request("abcdefgX")) == known(7, "hi")


def test_full_log_forgets_oldest_runs_from_their_ends() -> None:
    log = log_of("abcdefghijkl", "mnopqrst", most_tokens=20)
    log.add(request("abcdefghijkl"))
    log.add(request("uvwxyzAB"))
    assert log.num_tokens <= 20
    assert log.longest(request("mnopqrst")).num_tokens == 0
    assert log.longest(request("abcdefghijkl")).num_tokens == 12
    log.add(request("012345"))
    assert log.longest(request("abcdefghijkl")).num_tokens == 4, "the log must drop the end of a prompt first"


def test_prefix_erased_by_scheduler_is_unknown_to_later_requests() -> None:
    rig = Rig()
    first = rig.add(range(1, 10))
    rig.run()
    again = rig.add(range(1, 10))
    rig.run()
    assert again.reuse is not None
    assert again.reuse.known.num_tokens == 9
    rig.scheduler.erase([*first.block_keys, block_key(first.block_keys[1], first.token_ids(8, 12))])
    later = rig.add(range(1, 10))
    rig.run()
    assert later.reuse is not None
    assert later.reuse.known == KnownPrefix(0, ())


def test_a_known_token_takes_at_most_twenty_bytes() -> None:
    block, log = 64, PrefixLog(Owners(), 64)
    requests = []
    for first in range(1000, 9000, 8 * block):
        ids = tuple(range(first, first + 8 * block))
        requests.append(
            Request(
                request_id="r",
                tenant="local",
                prompt_token_ids=ids,
                sampling=SamplingParams(),
                root_key=ROOT,
                block_keys=extend_keys(ROOT, ids, block),
                arrival=0.0,
            )
        )
        requests[-1].num_confirmed_tokens = len(ids)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    while requests:
        log.add(requests.pop())
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert log.num_tokens == 8192
    assert after - before <= 20 * log.num_tokens

"""Interleaved chats on each arm: time to the first token, origin of the prompts' KV, and equality of the answers."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from app.load.client import fixed_length
from bench import arms
from bench.server import EbbServer, settle
from bench.stats import Spread, median, share, spread
from bench.workbench import Workbench
from bench.workload import ScriptedChat, make_chats


@dataclass(frozen=True, slots=True)
class TurnSample:
    """One answer. device, cpu, disk and computed count the prompt's tokens by the origin of their KV."""

    arm: str
    turn: int
    chat: int
    ttft_ms: float
    prompt_tokens: int
    device: int
    cpu: int
    disk: int
    computed: int
    answer: str


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of one arm over all chats. Tokens are sums."""

    arm: str
    turn: int
    ttft_ms: Spread
    prompt_tokens: int
    device: int
    cpu: int
    disk: int
    computed: int


@dataclass(frozen=True, slots=True)
class AnswerEquality:
    """Answers of an arm compared with the no-reuse arm's, as shares from 0 to 1.

    An answer that differs makes the chat's next request differ too. So `equal_of_all` counts down from the first
    difference on, and `equal_of_same_request` compares only answers to equal requests.
    """

    arm: str
    answers: int
    equal_of_all: float
    same_requests: int
    equal_of_same_request: float


@dataclass(frozen=True, slots=True)
class ConversationsResult:
    """Result of the section.

    later_ttft_ratio: by arm, the no-reuse median TTFT of turns 2 and later divided by this arm's.
    ready_after_kill_s: seconds from the restart until the server was ready.
    """

    kill_before_turn: int
    rows: tuple[TurnRow, ...]
    equality: tuple[AnswerEquality, ...]
    later_ttft_ratio: dict[str, float]
    ready_after_kill_s: float


async def measure_conversations(bench: Workbench) -> ConversationsResult:
    """Measure all arms side by side.

    Each turn of all chats runs on one arm, then on the next, so that drift of the machine affects all arms alike. The
    device pool holds two of the chats. One request runs at a time.
    """
    plan = bench.plan
    chats = make_chats(plan.shape)
    pool = 2 * plan.chat_tokens
    settings = [arms.no_reuse(plan, pool), arms.with_cpu(plan, pool), arms.with_all(plan, pool)]
    samples: list[TurnSample] = []
    ready = 0.0
    async with AsyncExitStack() as stack:
        servers = [await bench.launch(stack, each) for each in settings]
        for turn in range(1, plan.shape.turns + 1):
            for place in range(len(servers)):
                server = servers[(place + turn) % len(servers)]
                if turn == plan.kill_before_turn and server.settings.name == arms.ALL:
                    ready = await bench.kill_and_restart(server)
                samples += await _play_turn(bench, server, chats, turn, samples)
    return summarise(samples, plan.kill_before_turn, ready)


async def _play_turn(
    bench: Workbench, server: EbbServer, chats: Sequence[ScriptedChat], turn: int, earlier: Sequence[TurnSample]
) -> list[TurnSample]:
    arm, played = server.settings.name, []
    for number, chat in enumerate(chats):
        said = [sample.answer for sample in earlier if sample.arm == arm and sample.chat == number]
        answer = await server.client.chat(chat.messages(said), fixed_length(bench.plan.answer_tokens))
        tokens = answer.tier_tokens()
        played.append(
            TurnSample(
                arm=arm,
                turn=turn,
                chat=number,
                ttft_ms=answer.ttft * 1000,
                prompt_tokens=answer.prompt_tokens,
                **{tier: tokens.reused[tier] for tier in ("device", "cpu", "disk")},
                computed=tokens.computed,
                answer=answer.text,
            )
        )
    # Pending writes of the tiers would disturb the next arm, and a kill would lose them.
    await settle(server)
    bench.say(f"turn {turn} · {arm} · median TTFT {median([sample.ttft_ms for sample in played]):.0f} ms")
    return played


def summarise(samples: Sequence[TurnSample], kill_before_turn: int, ready_after_kill_s: float) -> ConversationsResult:
    """Aggregate samples, which are in the order of turns within each chat. Pure."""
    names = list(dict.fromkeys(sample.arm for sample in samples))
    names.sort(key=[arms.NO_REUSE, arms.CPU, arms.ALL].index)
    turns = sorted({sample.turn for sample in samples})
    later = {name: median([s.ttft_ms for s in samples if s.arm == name and s.turn > 1]) for name in names}
    return ConversationsResult(
        kill_before_turn=kill_before_turn,
        rows=tuple(
            _row(name, turn, [s for s in samples if s.arm == name and s.turn == turn])
            for name in names
            for turn in turns
        ),
        equality=tuple(_equality(samples, name) for name in names if name != arms.NO_REUSE),
        later_ttft_ratio={name: later[arms.NO_REUSE] / later[name] for name in names},
        ready_after_kill_s=ready_after_kill_s,
    )


def _row(arm: str, turn: int, samples: Sequence[TurnSample]) -> TurnRow:
    return TurnRow(
        arm=arm,
        turn=turn,
        ttft_ms=spread([sample.ttft_ms for sample in samples]),
        prompt_tokens=sum(sample.prompt_tokens for sample in samples),
        device=sum(sample.device for sample in samples),
        cpu=sum(sample.cpu for sample in samples),
        disk=sum(sample.disk for sample in samples),
        computed=sum(sample.computed for sample in samples),
    )


def _equality(samples: Sequence[TurnSample], arm: str) -> AnswerEquality:
    oracle = {(s.chat, s.turn): s.answer for s in samples if s.arm == arms.NO_REUSE}
    all_equal: list[bool] = []
    same_request: list[bool] = []
    parted: set[int] = set()
    for sample in sorted((s for s in samples if s.arm == arm), key=lambda s: s.turn):
        equal = sample.answer == oracle[sample.chat, sample.turn]
        if sample.chat not in parted:
            same_request.append(equal)
        if not equal:
            parted.add(sample.chat)
        all_equal.append(sample.chat not in parted)
    return AnswerEquality(arm, len(all_equal), share(all_equal), len(same_request), share(same_request))

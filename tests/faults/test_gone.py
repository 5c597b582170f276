"""A thousand clients that disconnect at random moments of a lookup, a load, a prompt or an answer."""

import asyncio
import random
from pathlib import Path

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from tests.faults.scene import CHATS, Scene, chat
from tests.faults.test_faults import BLOCKS, opened
from tests.integration.engine_rig import engine_config
from tests.leaks import assert_no_leaks

CLIENTS = 1000
AT_ONCE = 4


async def test_thousand_disconnecting_clients_leak_nothing(model_path: Path, tmp_path: Path) -> None:
    source = random.Random(4)
    async with opened(engine_config(model_path, tmp_path / "state", blocks=BLOCKS)) as engine:
        scene = Scene(engine)
        await scene.leave_chats_below(settled=True)
        expected = [(await scene.ask(chat(number))).token_ids for number in range(CHATS)]

        async def come_and_go() -> None:
            params = SamplingParams(temperature=0.0, max_tokens=50, ignore_eos=True)
            [stream] = await engine.generate(
                GenerateRequest(prompt_token_ids=chat(source.randrange(CHATS)), params=params)
            )
            async with stream:
                await asyncio.sleep(source.choice((0.0, source.uniform(0, 0.03), source.uniform(0, 0.3))))

        for _ in range(CLIENTS // AT_ONCE):
            if source.random() < 0.3:
                scene.forget()
            await asyncio.gather(*(come_and_go() for _ in range(AT_ONCE)))
        await scene.until(lambda: engine.is_idle)
        await scene.until(lambda: engine.stats().blocks.used == 0)
        assert_no_leaks(engine._engine)
        assert [(await scene.ask(chat(number))).token_ids for number in range(CHATS)] == expected

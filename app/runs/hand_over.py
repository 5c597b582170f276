"""Hand-over of the answers of a server that stops, a few at a time, to the other servers of its database.

All at once, they would wait for one another: another server reads and claims them one after the other, their clients
connect again, and the replicas queue them. A few pause for little longer than a step.

The answers that are left, and all answers of a server that is alone, are handed over when the engine has stopped.
"""

import asyncio
import logging
from typing import Final

from app.runs.service import RunRegistry

BATCHES: Final = 20
SHARE: Final = 0.4
"""Part of the time of a drain in which answers are handed over. Before it, they may end."""

logger = logging.getLogger(__name__)


async def hand_over_in_batches(runs: RunRegistry, seconds: float) -> None:
    """Hand all answers over that do not end by themselves, all of them within `seconds`.

    The other servers continue each at once.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    await runs.join_within((1 - SHARE) * seconds)
    left = runs.driven()
    size = max(1, -(-len(left) // BATCHES))
    for begin in range(0, len(left), size):
        share_left = (len(left) - begin) / len(left)
        await runs.join_within(end - share_left * SHARE * seconds - loop.time())
        try:
            await runs.hand_over([run for run in left[begin : begin + size] if not run.ended.is_set()])
        except Exception as error:
            # Stopping must not fail here: the remaining runs are taken over when the lease expires.
            logger.warning("the answers could not be handed over a few at a time: %s", error)
            return

"""One line in the log for each request that ends: numbers, never what people wrote."""

import logging

from engine.outputs import RequestOutput

logger = logging.getLogger("ebb.requests")


def log_finished(name: str, output: RequestOutput) -> None:
    """`name`: the run's or request's id."""
    usage = output.usage
    if usage is None:
        logger.info("%s %s", name, output.finish_reason)
        return
    logger.info(
        "%s %s prompt=%d (device=%d cpu=%d redis=%d computed=%d) completion=%d queue=%.0fms ttft=%.0fms total=%.0fms",
        name,
        output.finish_reason,
        usage.prompt_tokens,
        usage.kv.device,
        usage.kv.cpu,
        usage.kv.redis,
        usage.kv.computed,
        usage.completion_tokens,
        usage.queue_ms,
        usage.ttft_ms,
        usage.total_ms,
    )

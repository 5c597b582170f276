"""Cost of a step's messages when its workers are other processes: to all ranks, and back from all.

    python -m bench.step_messages [--ranks 2] [--rounds 2000]

Each rank is a process that decodes the step and answers at once, as `engine.executor.rank_process` does. Nothing is
computed.
"""

import argparse
import statistics
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait

from engine.api.sampling_params import SamplingParams
from engine.executor.messages import Step, StepEnded, decode_down, decode_up, encode
from engine.request.scheduler_output import CachedRequestData, ModelRunnerOutput, NewRequestData, SchedulerOutput


def main() -> None:
    """Print the median and the 99th percentile of each kind of step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2000)
    arguments = parser.parse_args()
    context = get_context("spawn")
    pipes, processes = [], []
    for _ in range(arguments.ranks):
        ours, theirs = context.Pipe()
        process = context.Process(target=_answer, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    for name, step in _steps().items():
        _measure(pipes, step, 100)
        seconds = sorted(_measure(pipes, step, arguments.rounds))
        median, late = statistics.median(seconds) * 1e6, seconds[len(seconds) * 99 // 100] * 1e6
        print(f"{name}: {len(encode(Step(step)))} bytes down, {median:.0f} us (99th percentile {late:.0f} us)")
    for pipe in pipes:
        pipe.close()
    for process in processes:
        process.join()


def _steps() -> dict[str, SchedulerOutput]:
    params = SamplingParams(temperature=0.7, seed=1 << 60, max_tokens=512, stop_token_ids=(2,))
    steps = {}
    for count in (1, 32):
        names = [f"req-{index}-{index:032x}" for index in range(count)]
        cached = tuple(CachedRequestData(name, (), 1000) for name in names)
        steps[f"{count} decodes"] = SchedulerOutput(
            step_id=1, new_requests=(), cached_requests=cached, num_scheduled_tokens=dict.fromkeys(names, 1)
        )
    prompt = NewRequestData("req", tuple(range(4000)), 4000, tuple(range(63)), 0, params)
    steps["a prompt of 4000 tokens"] = SchedulerOutput(
        step_id=1, new_requests=(prompt,), cached_requests=(), num_scheduled_tokens={"req": 512}
    )
    return steps


def _measure(pipes: list[Connection], step: SchedulerOutput, rounds: int) -> list[float]:
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        frame = encode(Step(step))
        for pipe in pipes:
            pipe.send_bytes(frame)
        waiting = list(pipes)
        while waiting:
            for ready in wait(waiting):
                assert isinstance(ready, Connection)
                decode_up(ready.recv_bytes())
                waiting.remove(ready)
        seconds.append(time.perf_counter() - began)
    return seconds


def _answer(pipe: Connection) -> None:
    while True:
        try:
            message = decode_down(pipe.recv_bytes())
        except EOFError:
            return
        assert isinstance(message, Step)
        sampled = dict.fromkeys(message.output.num_scheduled_tokens, (7,))
        pipe.send_bytes(
            encode(
                StepEnded(
                    message.output.step_id, ModelRunnerOutput(step_id=message.output.step_id, sampled_token_ids=sampled)
                )
            )
        )


if __name__ == "__main__":
    main()

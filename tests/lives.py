"""Random lives of state machines, the same ones each time."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_lives(machine: type[RuleBasedStateMachine], *, lives: int, steps: int) -> None:
    """Raises what the first life raises that goes wrong, made as short as it can be. steps: of a life, at most."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=lives,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

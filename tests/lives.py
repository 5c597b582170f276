"""Random lives of state machines, the same in every run."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test


def run_lives(machine: type[RuleBasedStateMachine], *, lives: int, steps: int) -> None:
    """Run `lives` random lives of at most `steps` steps each.

    Raise the error of the first life that fails, after shrinking that life to its shortest form.
    """
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

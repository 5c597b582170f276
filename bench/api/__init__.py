"""The figures of the API itself, with an engine that only replays tokens. `python -m bench.api`."""

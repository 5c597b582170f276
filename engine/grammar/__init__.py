"""Structured output: grammars, their automata, and the masks that they set."""

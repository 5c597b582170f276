"""The batch of one step: its input, its copies of blocks and its results."""

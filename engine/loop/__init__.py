"""The loop that runs steps, and what it measures."""

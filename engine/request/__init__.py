"""The state of one request while the engine serves it."""

"""One request of any API, from its prompt to its answer."""

"""A replica's end: one engine, and its gateways."""

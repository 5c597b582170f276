"""The engine as the server hosts it: its interface, its startup and its lifecycle; and the supervising process."""

"""Choice of the replica that computes a request."""

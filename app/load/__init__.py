"""Client that puts load on a server and measures the answers."""

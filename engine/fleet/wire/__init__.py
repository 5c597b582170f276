"""Messages between a gateway and its replicas, and the connections that carry them."""

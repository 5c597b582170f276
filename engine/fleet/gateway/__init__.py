"""The gateway's end: replicas, their answers, and what another replica takes over."""

"""openPangu-Embedded, which the shared decoder runs."""

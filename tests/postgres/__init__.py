"""PostgreSQL alone: its connections, its lock and its words. `make test-postgres` runs them."""

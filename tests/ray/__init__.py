"""Tests on a Ray cluster of a head and three machines, all on this one (`make test-ray`)."""

"""Policies of the choice of a replica, compared on replicas and in simulation."""

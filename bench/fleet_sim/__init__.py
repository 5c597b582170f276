"""Simulation of a fleet of replicas in discrete events, around the router of the product."""

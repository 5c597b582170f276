"""Predicted hits of each tier at other sizes."""

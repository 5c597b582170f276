"""Exports of other chat applications: one module per format, and the tree that all of them fill."""

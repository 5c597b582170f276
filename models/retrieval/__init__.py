"""Embeddings of other sizes, and the ranking of documents, as a model folder allows them."""

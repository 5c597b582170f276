"""Texts of documents, read in child processes because such files may be hostile."""

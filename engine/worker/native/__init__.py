"""Steps on a CPU by one native call."""

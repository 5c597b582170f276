"""`ebb profile`: a private engine under a synthetic load."""

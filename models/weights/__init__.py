"""The files of a model folder and the weights in them."""

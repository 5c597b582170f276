"""Check of an accelerator that nobody asked for by name: it must compute what the CPU computes."""

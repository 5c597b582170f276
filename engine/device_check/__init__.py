"""Check of an accelerator that no setting names: the device must compute what the CPU computes."""

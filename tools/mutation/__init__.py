"""What tools/mutate.py consists of: the faults, and the pytest plugin that tries them."""

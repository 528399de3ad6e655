"""Which choices a target makes, found by at most 64 probes."""

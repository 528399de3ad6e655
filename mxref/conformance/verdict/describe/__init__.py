"""Where a target fails: the smallest description of what differs."""

"""Cases put to a target, answers compared bit for bit, and failures in words."""

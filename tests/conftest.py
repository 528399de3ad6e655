"""Settings of the whole test suite."""

from hypothesis import settings

# Derandomised everywhere: a failure on one machine is a failure on every machine.
settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.load_profile("ci")

"""Fixtures for tests of the comparison."""

from verify_helpers import everything, run_verify, vectors  # noqa: F401

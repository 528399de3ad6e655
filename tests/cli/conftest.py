"""Fixtures for tests of the comparison."""

from verify_helpers import everything, kit, run_verify, vectors  # noqa: F401

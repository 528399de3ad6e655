"""Fixtures for tests of pages and pictures."""

from verify_helpers import vectors  # noqa: F401

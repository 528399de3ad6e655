"""Searching a target for wrong answers with hypothesis."""

"""Somebody's implementation: a Python module, a program, a folder of results or a profile."""

"""Sweeps: a target is asked every input of an operation."""

"""Targets that are programs, and answers that are there already: the line protocol."""

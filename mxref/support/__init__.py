"""Threads, memory, whole files, worker processes and text: nothing of MX."""

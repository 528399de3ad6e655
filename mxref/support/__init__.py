"""Threads, scratch memory, whole files, worker processes and texts, which know nothing of MX."""

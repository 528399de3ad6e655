"""Identification of the choices that a target makes, by at most 64 probes."""

"""The verdict on a target: rows, causes, descriptions and known divergences."""

"""Why a target fails: which policy or known bug gives all of its answers."""

"""The version of the code and of the published vectors."""

__version__ = "0.1.0"

#: Semantic version of `vectors/`: a changed expected byte is major, new cases are minor.
VECTORS_VERSION = "1.1.0"

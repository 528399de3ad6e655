"""The operations of the vectors: one row each, with its words, choices and both references."""

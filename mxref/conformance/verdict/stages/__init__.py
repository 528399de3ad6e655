"""The stages of an answer, each judged by itself given what the target did before."""

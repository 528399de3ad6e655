"""A whole check: the vectors, the same cases in calls of many sizes and again, and a search."""

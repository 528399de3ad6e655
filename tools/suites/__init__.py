"""Other projects' own test suites, run with mxref in the place of what they test."""

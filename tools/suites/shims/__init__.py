"""What puts mxref into each suite: a module per suite, found by the name that suites.json has."""

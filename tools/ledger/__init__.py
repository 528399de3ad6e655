"""The ledger: what implementations do, against the profiles that they claim and against `ocp`."""

"""Every input of an operation put to a target."""

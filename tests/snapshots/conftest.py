"""The kernels are data: not imported by pytest."""

collect_ignore_glob = ["kernels/*.py"]

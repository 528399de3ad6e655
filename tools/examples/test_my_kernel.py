"""The test that a repository adds for its kernel: pytest --mxref-target my_kernel.py.

Or once and for all in pyproject.toml, below [tool.pytest.ini_options]:
mxref_target = "my_kernel.py"
"""


def test_mx(mxref_case):
    """A test for each operation, format and float type; calls and a search for each format."""
    mxref_case.check()

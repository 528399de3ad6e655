"""Run the command line with ``python -m mxref``."""

import sys

from mxref.cli import main

sys.exit(main())

"""PTX, interpreted on a CPU: what a compiler made of a kernel, run without a GPU.

It is no GPU: nothing here says what ptxas or a processor makes of the same text.
"""

from ptx.machine import FaultError, Launch, run
from ptx.memory import Memory
from ptx.parse import Kernel, parse

__all__ = ["FaultError", "Kernel", "Launch", "Memory", "parse", "run"]

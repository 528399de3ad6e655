"""torchao 0.18.0, prototype/mx_formats: blocks.

`torchao_floor.py` and so on are its four scale modes.
"""

from importlib.metadata import distribution

from _torchao import FLOATS, FOLDER, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "functions"]
if not FOLDER.samefile(str(distribution("torchao").locate_file(""))):
    raise ImportError(f"torchao 0.18.0 and its main take a process each: {FOLDER} was loaded first")

"""MLX 0.32.4 on the CPU: MXFP4, and MXFP8 with the casts to E4M3.

Another version finds scales by another rule and needs an environment of its own.
"""

from types import SimpleNamespace

from _mlx import FP4 as _FP4
from _mlx import FP8 as _FP8
from _mlx import of_version

of_version("mlx==0.32.4 mlx-cpu==0.32.4")
_SCALES = "+scale_rule=rceil+zero_block=one+scale_underflow=wrap+scale_ff=inf"
_FIRST = "+rounding=ties_to_zero+zero_sign=dropped+underflow_sign=dropped"

FP4 = SimpleNamespace(PROFILE="mlx_0_32", POLICY=f"ocp{_FIRST}{_SCALES}", **_FP4)
FP8 = SimpleNamespace(PROFILE="mlx_0_32", POLICY=f"ocp{_SCALES}", **_FP8)

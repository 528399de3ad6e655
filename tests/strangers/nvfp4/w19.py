"""Where amax is so small that its scale is 0, elements are divided by 0."""

import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = base.split(values)
    codes = base.scale_codes(size.max(axis=1), tensor_scale)
    elements = base.element_codes(size, base.UE4M3[codes], tensor_scale)
    elements[(codes == 0)[:, None] & (size > 0)] = 7
    return base.finish(codes, elements, negative, base.special(size))

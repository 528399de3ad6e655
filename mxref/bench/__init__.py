"""Measuring: mxref's operations beside those of other libraries, in one run, on the same data.

>>> from mxref.bench.jobs import Job, own
>>> job = Job("encode", "e4m3", (1, 64))
>>> own(job).call().shape
(1, 64)
"""

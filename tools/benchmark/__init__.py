"""The benchmark behind tools/bench.py: operations of mxref beside those of other libraries.

>>> from benchmark.jobs import Job, own
>>> job = Job("encode", "e4m3", (1, 64))
>>> own(job).call().shape
(1, 64)
"""

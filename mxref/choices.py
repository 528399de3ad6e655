"""The choices that the standards leave open, one enum each: the names of `mxref.policy.choices`."""

from __future__ import annotations

from mxref.policy.choices import *

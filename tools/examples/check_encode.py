"""Check `encode(bits) -> code` of your file: check_encode.py YOURS.py [POLICY] < CASES.jsonl."""

import json
import runpy
import sys

yours, policy = (*sys.argv[1:], "ocp")[:2]
encode = runpy.run_path(yours)["encode"]
header, *cases = map(json.loads, sys.stdin)
column = header["columns"].index(policy)
nans = {"e4m3": {0x7F, 0xFF}, "e5m2": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}}
wrong: list[str] = []
for case in cases:
    out = case["out"]  # one string if all policies agree, else the answer that `by` says
    want = int(out if isinstance(out, str) else out[int(case["by"][column], 36)], 16)
    got = encode(int(case["in"], 16))
    if got != want and not {got, want} <= nans.get(header["format"], set()):  # NaN is one class
        wrong.append(f"in {case['in']}, want {want:02x}, got {got:02x}")
print(*wrong[:1], f"{len(cases)} cases, {len(wrong)} wrong", sep="\n")
sys.exit(bool(wrong) or len(cases) != header["cases"])

"""The texts of an archive's README: what is between @ is filled in by `archive_page`."""

from __future__ import annotations

__all__ = ["BEGIN", "BLOCKS", "EACH", "LIBRARIES", "READERS"]

BEGIN = """\
# mxref vectors @VERSION@: @NAME@

@ABOUT@

@ALL@ cases in @FILES@ files, for tests of any implementation. Two references that share no code
computed each expected word. Copying these files into the tests of a project is meant: see LICENSE.

## Files

- `plain/OPERATION/FORMAT.FLOAT.txt`: a case a line, without a header. Words are hex numbers
  between single blanks: the input words, then the output words of each column, column by column.
- `OPERATION/FORMAT.FLOAT.jsonl`: the same cases as JSON, a line each below a header, with more
  columns, the clause that decides, and why there is such a case. `schema.json` has their keys.
- `thresholds/FORMAT.json`, if it is there: every step of `encode`.
- `manifest.json`: version (`mxref_vectors`); `files`, each with sha256 and number of cases;
  `columns`, the names of the columns of each plain file, in order. `sha256sum -c SHA256SUMS`
  checks all files.
- `CHOICES.md`: what the operations and the columns of these files are, and the clauses that cases
  name (`rule`).
- `CONTRACT.md`: everything else, such as what "conforming" means and what no case covers.

A column is a policy: `ocp` or `default`, or one that differs from it in the choices that its name
has, as `ocp+CHOICE=MEMBER`. Compare with the first column if you know of no other.

| operation | input words | output words | FLOAT is | FORMAT and FLOAT of its files | cases |
|---|---|---|---|---|---|
@TABLE@

`f32` is float32, `f16` float16, `bf16` bfloat16, `f64` float64. A word is the bits of a number, or
a code, not a value. A line of `plain/@MAIN@.txt`, whose columns are @NAMES@:

```text
@EXAMPLE@
```

## Comparing

Compare words, never numbers: `-0` is not `+0`. Where a NaN is expected, every NaN is right: a word
is a NaN if, without its sign bit, it is above the largest one below. Other types have no NaN. Where
the scale of a quantized block is NaN, its elements are not compared.

| type | sign bit | largest word without sign that is no NaN |
|---|---|---|
"""

LIBRARIES = """

## What libraries give

A profile is the model of a library, equal to it bit for bit. Where its answer to a case is not that
of `ocp`, a line of `plain/profiles/PROFILE/OPERATION/FORMAT.FLOAT.txt` has the number of the case's
line in `plain/OPERATION/FORMAT.FLOAT.txt`, from 1 on, and then the output words, or `error` if the
library raises one. `known/PROFILE.txt` lists the files that the library answers, here or in other
archives; all answers to them but those lines are those of `ocp`. It also says which library and
version it is, its choices, and its known bugs with the clauses that they break. Profiles:

@PROFILES@
"""

#: How readers compare a block, whose first word is its scale, and words that are each compared.
BLOCKS = {
    "DIFFERS": "got != want and not (is_nan(want[0]) and is_nan(got[0]))  # under a NaN scale: all",
    "DIFFERSC": "        wrong += memcmp(got, want, sizeof got) && !(is_nan(want[0]) && "
    "is_nan(got[0]));",
}
EACH = {
    "DIFFERS": "any(g != w and not (is_nan(g) and is_nan(w)) for g, w in zip(got, want))",
    "DIFFERSC": "        int differ = 0;\n"
    "        for (int i = 0; i < OUT; ++i)\n"
    "            differ |= got[i] != want[i] && !(is_nan(want[i]) && is_nan(got[i]));\n"
    "        wrong += differ;",
}

READERS = """

## A reader in Python

Put your kernel in place of `kernel`, and run it in this folder. For another file change its name,
the column, and the two numbers of `is_nan`.

```python
import json


def kernel(words):  # yours: input words to @OUT@ output word(s), as integers
    return [0] * @OUT@


def is_nan(word):@NONE@
    return word & ~@SIGN@ > @LAST@


with open("@MAIN@.jsonl") as file:
    header, *cases = map(json.loads, file)
column, wrong = header["columns"].index("@COLUMN@"), 0
for case in cases:
    out = case["out"]  # one answer of all columns, or several and which column has which
    out = out if isinstance(out, str) else out[int(case["by"][column], 36)]
    want = [int(word, 16) for word in out.split()]
    got = kernel([int(word, 16) for word in case["in"].split()])
    wrong += @DIFFERS@
print(f"{len(cases)} cases, {wrong} wrong")
```

## A reader in C

The output words are the last of a line, so that the number of input words need not be known. For
another file change its name, `COLUMNS` (`columns` of manifest.json has their names), `OUT`, and the
two numbers of `is_nan`.

```c
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { COLUMNS = @COLUMNS@, OUT = @OUT@ }; /* of plain/@MAIN@.txt */
typedef unsigned long long word;
static void kernel(const word *in, int n, word *out) /* yours: n words in, OUT words out */
{
    for (int i = 0; i < OUT; ++i) out[i] = in[i % n];
}
static int is_nan(word w)@NONEC@ { return (w & ~@SIGN@ull) > @LAST@ull; }
int main(void)
{
    static char line[1 << 17];
    static word words[1 << 15], got[OUT];
    long cases = 0, wrong = 0;
    FILE *file = fopen("plain/@MAIN@.txt", "r");
    for (; file && fgets(line, sizeof line, file); ++cases) {
        int n = 0;
        for (char *at = strtok(line, " \\n"); at; at = strtok(NULL, " \\n"))
            words[n++] = strtoull(at, NULL, 16);
        const word *want = words + n - COLUMNS * OUT; /* the first column */
        kernel(words, n - COLUMNS * OUT, got);
@DIFFERSC@
    }
    printf("%ld cases, %ld wrong\\n", cases, wrong);
    return !cases || wrong;
}
```
"""

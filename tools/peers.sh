#!/usr/bin/env bash
# The environments of all implementations, and the ledger from all of them:
#
#     tools/peers.sh FOLDER            # about 5 GB; what is there is kept
#     tools/peers.sh FOLDER --quick    # a sixteenth of the cases, into ledger/quick
#
# Three implementations are in no registry. They run where a variable names a checkout:
#     MXREF_MICROXCALING         github.com/microsoft/microxcaling at 7bc41952
#     MXREF_TORCHAO_MAIN         github.com/pytorch/ao at 36027d82
#     MXREF_TRANSFORMER_ENGINE   github.com/NVIDIA/TransformerEngine at d0067d0da
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
torch='torch==2.13.0'  # on Linux PyPI's wheel brings CUDA along; the CPU build is enough
index=${MXREF_TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

# environment NAME PACKAGE...: a virtual environment with mxref's own needs; packages after "--" come without their dependencies.
environment() {
  local name=$1 at="$folder/$1" first=() alone=()
  shift
  [ -e "$at/complete" ] && return
  echo "== environment $name"
  while [ $# -gt 0 ] && [ "$1" != -- ]; do first+=("$1"); shift; done
  [ $# -gt 0 ] && shift
  alone=("$@")
  python3 -m venv "$at"
  case " ${first[*]} " in *" $torch "*) "$at/bin/python" -m pip install -q "$torch" --extra-index-url "$index" ;; esac
  "$at/bin/python" -m pip install -q ml_dtypes "${first[@]}"
  [ ${#alone[@]} -eq 0 ] || "$at/bin/python" -m pip install -q --no-deps "${alone[@]}"
  touch "$at/complete"
}

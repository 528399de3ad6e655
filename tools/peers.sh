#!/usr/bin/env bash
# The environments of all implementations, the ledger from all of them, and tests/peers:
#
#     tools/peers.sh FOLDER            # about 5 GB in FOLDER; environments that are complete are kept
#     tools/peers.sh FOLDER --quick    # a sixteenth of the cases, into tools/ledger/records/quick; no docs/ledger
#
# Six implementations are in no registry. They take part if a variable names a checkout:
#
#     MXREF_MICROXCALING         github.com/microsoft/microxcaling at 7bc41952
#     MXREF_TORCHAO_MAIN         github.com/pytorch/ao at 36027d82
#     MXREF_TRANSFORMER_ENGINE   github.com/NVIDIA/TransformerEngine at d0067d0da
#     MXREF_FLASHINFER           github.com/flashinfer-ai/flashinfer at fb28d7242
#     MXREF_GGML                 github.com/ggml-org/ggml at d99724f2b
#     MXREF_CUTLASS              github.com/NVIDIA/cutlass at 7107b0553
set -euo pipefail

if [ $# -eq 0 ]; then
  sed -n '2,/^set/s/^#\( \|$\)//p' "$0"
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
python3 "$root/tools/environments.py" "$folder" current older

status=0
for name in current older; do
  echo "== ledger in $name"
  "$folder/$name/bin/python" "$root/tools/ledger" "$@" || status=$?
  echo "== tests in $name"
  (cd "$root" && "$folder/$name/bin/python" -m pytest -q --peers "$name" tests/peers) || status=$?
done
case " $* " in
  *" --quick "*) ;;
  *) "$folder/current/bin/python" "$root/tools/ledger" --write || status=$? ;;
esac
exit "$status"

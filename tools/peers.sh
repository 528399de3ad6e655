#!/usr/bin/env bash
# The environments of all implementations, and the ledger from all of them:
#
#     tools/peers.sh FOLDER            # about 6 GB in FOLDER; environments that are complete are kept
#     tools/peers.sh FOLDER --quick    # a sixteenth of the cases, into tools/ledger/records/quick; no docs/ledger
#
# Three implementations are in no registry. They take part if a variable names a checkout:
#
#     MXREF_MICROXCALING         github.com/microsoft/microxcaling at 7bc41952
#     MXREF_TORCHAO_MAIN         github.com/pytorch/ao at 36027d82
#     MXREF_TRANSFORMER_ENGINE   github.com/NVIDIA/TransformerEngine at d0067d0da
#
# torch is installed first, so that the CPU build is enough: point pip at it, or CUDA comes along.
set -euo pipefail

if [ $# -eq 0 ]; then
  sed -n '2,/^set/s/^#\( \|$\)//p' "$0"
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift

# environment NAME [PACKAGE...] [-- PACKAGE...]: the last ones without what they depend on.
environment() {
  local python="$folder/$1/bin/python" name=$1
  shift
  [ ! -e "$folder/$name/complete" ] || return 0
  echo "== environment $name"
  python3 -m venv "$folder/$name"
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    "$python" -m pip install -q "$1"
    shift
  done
  "$python" -m pip install -q ml_dtypes
  if [ $# -gt 1 ]; then "$python" -m pip install -q --no-deps "${@:2}"; fi
  [ "$name" != torch ] || triton_kernels "$python"
  touch "$folder/$name/complete"
}

# vLLM's wheel carries triton_kernels, which is in no registry; only that folder of it is kept, and
# METADATA, which says of which version it is.
triton_kernels() {
  local wheels site
  wheels=$(mktemp -d)
  site=$("$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$1" -m pip download -q --no-deps -d "$wheels" vllm==0.33.0
  "$1" - "$wheels" "$site" <<'PYTHON'
import pathlib
import sys
import zipfile

(wheel,) = pathlib.Path(sys.argv[1]).glob("vllm-*.whl")
inside = "vllm/third_party/triton_kernels/"
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        if (name.startswith(inside) and not name.endswith("/")) or name.endswith(".dist-info/METADATA"):
            path = pathlib.Path(sys.argv[2], name.replace(inside, "triton_kernels/"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
PYTHON
  rm -r "$wheels"
}

# What pyproject.toml's extra `peers` has, and what does not go with it or refuses its versions:
# fbgemm-gpu-cpu 1.9 does not load with this torch and 1.8 asks for another, amd-quark asks for an
# older ONNX, neural-compressor for much that is not needed, torchmx for a torchao of 2024; there
# are two MLX; tosa-tools holds NumPy back.
environment torch 'torch==2.13.0' "$root[test,peers]" 'triton==3.9.0' ninja prettytable onnxslim -- \
  'fbgemm-gpu-cpu==1.8.0' 'amd-quark==0.13' 'neural-compressor==3.10'
environment torchmx 'torch==2.13.0' pytest hypothesis -- 'torchao==0.6.1' 'torchmx==0.1.0'
environment mlx31 'mlx==0.31.2' 'mlx-cpu==0.31.2'
environment tosa 'tosa-tools==2026.8.0' pytest hypothesis

status=0
for name in torch torchmx mlx31 tosa; do
  echo "== ledger in $name"
  "$folder/$name/bin/python" "$root/tools/ledger" "$@" || status=$?
done
# tests NAME FILE: one of tests/peers in an environment.
tests() {
  echo "== $2 in $1"
  (cd "$root" && "$folder/$1/bin/python" -m pytest -q --peers "tests/peers/$2.py") || status=$?
}
tests torch test_linear_peers
tests torchmx test_linear_peers
tests torch test_accumulation_peers
tests tosa test_accumulation_tosa
tests torch test_integer_adapters
tests tosa test_integer_adapters
case " $* " in
  *" --quick "*) ;;
  *) "$folder/torch/bin/python" "$root/tools/ledger" --write || status=$? ;;
esac
exit "$status"

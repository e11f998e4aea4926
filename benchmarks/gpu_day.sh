#!/usr/bin/env bash
# The first minutes on a GPU, most valuable first, on a machine with torch, lightning, tokenizers and sacrebleu alone.
#
#   OUT=/tmp/out SECS=300 bash benchmarks/gpu_day.sh
#
# OUT    the folder of results: each finished measurement is in it when the time ends
# SECS   the seconds that this call may take
# PARTS  what to measure, in this order: stages of `make gpu`, or single measurements, as in "speed:base bf16,agreement"
# TESTS  0 leaves the tests out
# WORK   the folder of runs and prepared text; a second call on the same machine goes on with them
# DEVICE=cpu TINY=1 tries all of it without a GPU
#
# Wheels of what the machine lacks lie in .whl; without that folder nothing is installed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export OUT WORK=${WORK:-/tmp/aiayn-gpu-day} DEVICE=${DEVICE:-cuda} TINY=${TINY:-0} PYTHONUNBUFFERED=1
SECS=${SECS:-300} PYTHON=${PYTHON:-python3}
export PARTS=${PARTS:-speed:base bf16,agreement,speed:base bf16 compiled,profile,decoding,speed:big bf16,experiments,compiled,speed}
mkdir -p "$OUT" "$WORK" || exit
exec > >(tee "$OUT/log") 2>&1

if [[ -d .whl ]]; then
  "$PYTHON" -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --upgrade --target "$WORK/site" .whl/*.whl || exit
fi
export PYTHONPATH=$WORK/site:src:benchmarks${PYTHONPATH:+:$PYTHONPATH}

if [[ $DEVICE == cuda ]]; then nvidia-smi -L; fi
printf 'processors with AVX-512: %s\n' "$(grep -c avx512f /proc/cpuinfo)"
"$PYTHON" benchmarks/gpu_day.py prepare & # the CPU's work beside the first tests
if [[ ${TESTS:-1} != 0 ]]; then
  timeout -k 5 100 "$PYTHON" -m pytest -q -m gpu tests/gpu/test_one_gpu.py tests/gpu/test_runs_on_gpus.py
fi
wait $!
for _ in 1 2; do # anew if the GPU was lost
  left=$((SECS - SECONDS))
  if ((left <= 40)); then break; fi
  LEFT=$left timeout -s INT -k 8 "$left" "$PYTHON" benchmarks/gpu_day.py measure && exit
done
exit 1

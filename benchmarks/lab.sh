#!/usr/bin/env bash
# The lab of docs/results/lab: its pre-registered studies and a published number (docs/howto.md), in order, one process a
# core, at the lowest priority.
#
#   benchmarks/lab.sh FOLDER COMMIT    run what is left, from a clean clone of COMMIT in FOLDER
#
# AIAYN_DATA names the folder of real text. SIGINT ends the lab as it ends `aiayn`: with a checkpoint of each run, which the
# same command resumes. Plans are frozen in FOLDER; those of docs/results/lab are of the commits that its pages name.
#
# A long run may take all cores, before the others, once the plan of its study is frozen; in FOLDER:
#
#   clone/.venv/bin/aiayn train sweeps=lab_baselines experiment=baselines/luong seed=1 hydra.mode=RUN paths.runs=$PWD/runs \
#     paths.cache=$PWD/cache logger=none
set -euo pipefail
if [[ $# != 2 || ! -d ${AIAYN_DATA:-}/multi30k ]]; then
  echo "usage: AIAYN_DATA=<folder of real text, with multi30k> $0 FOLDER COMMIT" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")/.." && pwd)
lab=$(mkdir -p "$1/tmp" && cd "$1" && pwd)
export TMPDIR=$lab/tmp # where sweeps lease cores: others do not wait for the lab, which yields to them anyway

# The scheduler's idle class acts within a session alone where the kernel groups processes by sessions, and each run is a
# session of its own.
yield() {
  local process
  while sleep 15; do
    for process in $(pgrep -f "$lab/clone/"); do echo 19 >"/proc/$process/autogroup" || true; done
  done 2>/dev/null
}

train() ( # overrides
  cd "$lab"
  exec chrt --idle 0 nice -n 19 clone/.venv/bin/aiayn train "$@" "paths.runs=$lab/runs" "paths.cache=$lab/cache" logger=none \
    hydra/launcher=joblib
)

study() { # sweep
  train "sweeps=$1" hydra.sweeper.stage=pilots
  train "sweeps=$1" hydra.sweeper.stage=runs
}

if [[ -w /proc/self/autogroup ]]; then
  yield &
  yielding=$!
  trap 'kill "$yielding" 2>/dev/null || true' EXIT
fi
mkdir -p "$lab/multi30k"
ln -sf "$AIAYN_DATA"/multi30k/*.gz "$lab/multi30k"
for language in en de; do
  gzip --decompress --stdout "$lab/multi30k/train.$language.gz" | sed --quiet 1,15000p | gzip --no-name \
    >"$lab/multi30k/train_15k.$language.gz"
done
if [[ ! -d $lab/clone ]]; then git clone --quiet "$here" "$lab/clone"; fi
git -C "$lab/clone" checkout --quiet --detach "$2"
make -C "$lab/clone" .venv/.installed
for sweep in table3_lab_capacity table3_lab_overfitting lab_scaling lab_baselines; do study "$sweep"; done
if [[ ! -d $lab/Revisit-MMT ]]; then
  git clone --quiet https://github.com/LividWo/Revisit-MMT "$lab/Revisit-MMT"
  git -C "$lab/Revisit-MMT" checkout --quiet --detach dc368d0af8d60270b8f4aaa2f3ac58771c551da3
fi
train -m experiment=multi30k/transformer_tiny seed=1,2,3

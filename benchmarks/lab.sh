#!/usr/bin/env bash
# The lab of docs/results/lab: its pre-registered studies and a published number (docs/howto.md), in order, one process a
# core, at the lowest priority.
#
#   benchmarks/lab.sh FOLDER COMMIT    run what is left, from a clean clone of COMMIT in FOLDER
#   benchmarks/lab.sh FOLDER           only keep the runs that have finished
#
# The capacity arm has finished; it is of commit ff53813, whose lab.sh repeats it. The other studies are of commit 0795160.
#
# Finished runs are kept without checkpoints in docs/results/lab/runs/*.tar.xz, so that a lab that loses its machine goes on
# elsewhere: an empty FOLDER gets them first. An interrupted run resumes in the same FOLDER, and begins anew
# elsewhere. SIGINT ends the lab as it ends `aiayn`: with a checkpoint of each run. AIAYN_DATA names the folder of real text.
#
# A long run may take all cores, before the others, once the plan of its study is frozen; in FOLDER:
#
#   clone/.venv/bin/aiayn train sweeps=lab_baselines experiment=baselines/luong seed=1 hydra.mode=RUN paths.runs=$PWD/runs \
#     paths.cache=$PWD/cache logger=none
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kept=$here/docs/results/lab/runs
lab=$(mkdir -p "$1/tmp" && cd "$1" && pwd)
runs=$lab/runs
export TMPDIR=$lab/tmp # where sweeps lease cores: others do not wait for the lab, which yields to them anyway

restore() { # the newest archive has the newest plans
  local file
  mkdir -p "$runs"
  for file in $(printf '%s\n' "$kept"/*.tar.xz | sort --reverse); do
    if [[ -e $file ]]; then tar --extract --xz --skip-old-files --directory "$runs" --file "$file"; fi
  done
}

# Runs of one archive share much of their text: one archive for all that have finished since the last one.
keep() ( # in a subshell, which ends the lock
  local record file known new=()
  exec 9>"$lab/kept.lock" # two calls at once would keep the same runs twice
  flock 9
  mkdir -p "$kept"
  known=$(for file in "$kept"/*.tar.xz; do if [[ -e $file ]]; then tar --list --xz --file "$file"; fi; done)
  for record in "$runs"/*/*/*/run.json; do
    if ! grep -q '"status": "finished"' "$record" 2>/dev/null; then continue; fi
    record=$(realpath --relative-to="$runs" "$record")
    if ! grep -qxF "$record" <<<"$known"; then new+=("$(dirname "$record")"); fi
  done
  if ((!${#new[@]})); then return; fi
  file=$kept/$(date --utc +%Y-%m-%dT%H%M%S).tar.xz
  tar --create --xz --directory "$runs" --sort=name --owner=0 --group=0 --exclude=checkpoints --exclude='.*' \
    --file "$file.new" registrations "${new[@]}"
  mv "$file.new" "$file"
)

# The scheduler's idle class acts within a session alone where the kernel groups processes by sessions, and each run is a
# session of its own.
yield() {
  local process
  while sleep 15; do
    for process in $(pgrep -f "$lab/clone/"); do echo 19 >"/proc/$process/autogroup" || true; done
  done 2>/dev/null
}

train() { # overrides
  (
    cd "$lab"
    exec chrt --idle 0 nice -n 19 clone/.venv/bin/aiayn train "$@" "paths.runs=$runs" "paths.cache=$lab/cache" logger=none \
      hydra/launcher=joblib
  )
  keep
}

study() { # sweep
  train "sweeps=$1" hydra.sweeper.stage=pilots
  train "sweeps=$1" hydra.sweeper.stage=runs
}

restore
if (($# == 1)); then
  keep
  exit
fi
if [[ -w /proc/self/autogroup ]]; then
  yield &
  yielding=$!
  trap 'kill "$yielding" || true; keep' EXIT
else
  trap keep EXIT
fi
mkdir -p "$lab/multi30k"
ln -sf "${AIAYN_DATA:?names the folder of real text}"/multi30k/*.gz "$lab/multi30k"
for language in en de; do
  gzip --decompress --stdout "$lab/multi30k/train.$language.gz" | sed --quiet 1,15000p | gzip --no-name \
    >"$lab/multi30k/train_15k.$language.gz"
done
if [[ ! -d $lab/clone ]]; then git clone --quiet "$here" "$lab/clone"; fi
git -C "$lab/clone" checkout --quiet --detach "$2"
make -C "$lab/clone" .venv/.installed
study table3_lab_overfitting
study lab_scaling
study lab_baselines
if [[ ! -d $lab/Revisit-MMT ]]; then
  git clone --quiet https://github.com/LividWo/Revisit-MMT "$lab/Revisit-MMT"
  git -C "$lab/Revisit-MMT" checkout --quiet --detach dc368d0af8d60270b8f4aaa2f3ac58771c551da3
fi
train -m experiment=multi30k/transformer_tiny seed=1,2,3

"""A pre-registered study of two rows, as a file of sweeps/."""

STUDY = """\
# @package _global_
# Do rotary positions help?
defaults:
  - override /hydra/sweeper: registered
hydra:
  mode: MULTIRUN
  sweeper:
    stage: null
    base: base
    rows:
      base: []
      rotary: [model.positions=rotary]
    seeds: {base: 2, others: 1}
    pilots: {rows: [base], seeds: 2}
    looks: false
    claims:
      - id: helps
        statement: Rotary positions are better.
        primary: [{better: rotary, worse: base, effect: 0.03}]
"""

NO_PILOTS = STUDY.replace("rows: [base], seeds: 2", "rows: [], seeds: 0")

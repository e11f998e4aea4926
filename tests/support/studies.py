"""A pre-registered study of two rows, and a study of pilots of its base, as files of sweeps/."""

HEAD = """\
# @package _global_
defaults:
  - override /hydra/sweeper: registered
hydra:
  mode: MULTIRUN
  sweeper:
    stage: null
    base: base
    rows:
      base: []
"""

STUDY = f"""\
{HEAD}\
      rotary: [model.positions=rotary]
    seeds: {{base: 2, others: 1}}
    looks: false
    claims:
      - id: helps
        statement: Rotary positions are better.
        primary: [{{better: rotary, worse: base, effect: 0.03}}]
"""

PILOTS = f"""\
{HEAD}\
    seeds: {{base: [1001, 1002]}}
    looks: false
    claims: []
"""

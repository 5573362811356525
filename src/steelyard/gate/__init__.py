"""Rules on scores -> a verdict and an exit code.

    solve_rate: ">= 0.6"                 the headline value of the score, for every run
    solve_rate.answered: "> 0.7"         over what was answered; `.with_errors` counts errors as not solved
    "solve_rate[hexagrams]": ">= 0.5"    one group
    solve_rate: ">=! 0.6"                the whole 95 % interval: holds if all of it does, fails if none of it does,
                                         else the data cannot decide
    no_regression: {solve_rate: 0.02}    against `baseline`, sample by sample: the score has not lost 0.02 or more
    baseline: baseline.json              a file that `steelyard baseline` wrote, a run's id, a target, or `latest`

A score or group that a run does not have (none of its samples was of that group) leaves the rule undecided.

Exit codes: 0 every rule holds; 1 a rule fails; 3 no rule fails, but one cannot be decided; 4 a run is broken or
unfinished, so that its rules say nothing.

  rules          what may be written, read into values
  results        what came of a rule on a run
  verdict        rules and runs -> results
  regression     a comparison and a margin -> one result
  baseline_file  a run's scores in a file that is kept beside the code
  earlier        which run a baseline's name means
"""

from __future__ import annotations

from steelyard.gate.results import GateVerdict, RuleResult, RuleState
from steelyard.gate.rules import GateRules, Margin, Rule, parse_gate, parse_margin, parse_rule
from steelyard.gate.verdict import judge_gate

__all__ = [
    "GateRules",
    "GateVerdict",
    "Margin",
    "Rule",
    "RuleResult",
    "RuleState",
    "judge_gate",
    "parse_gate",
    "parse_margin",
    "parse_rule",
]

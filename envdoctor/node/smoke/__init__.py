"""The AllReduce hash smoke test: experiments on this node, and what they say of findings.

`session.run_smoke` runs it all. `planner` decides what to run, `runner` and `driver` run it in fork servers whose code
is `rank/`, `outcome` reads what the ranks left, `verdicts` and `confirm` judge; `matrix`, `agreement`, `golden` and
`export` show and keep. Only the processes of `rank/` import torch.
"""

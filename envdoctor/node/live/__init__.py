"""One node, or one job on it, examined and judged: what stands between the probes, the checks and the sheet."""

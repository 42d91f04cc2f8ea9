"""Everything that runs on a machine: probes, the examination, the smoke test, the trace."""

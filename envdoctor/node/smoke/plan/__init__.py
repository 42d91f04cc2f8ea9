"""Which experiments are run."""

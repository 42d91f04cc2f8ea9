"""How experiments are run."""

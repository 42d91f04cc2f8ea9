"""envdoctor: which settings of a GPU training job are real, and which reach the process that needs them."""

__version__ = "0.1.0.dev0"

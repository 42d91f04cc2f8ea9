"""The catalogue: which variable which release of which library reads, with what values."""

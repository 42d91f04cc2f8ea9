"""Debug logs of collective libraries."""

"""Scripts for shells with the syntax of sh."""

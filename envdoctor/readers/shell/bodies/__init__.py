"""Shell text as operations: the bodies that the process model runs."""

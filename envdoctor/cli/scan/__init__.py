"""`envdoctor scan`."""

"""Settings that cancel, override or idle each other."""

"""Which script starts which program with which launcher, and what each process sees."""

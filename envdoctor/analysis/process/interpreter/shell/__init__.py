"""What a shell does itself: builtins, and what it reads and writes."""

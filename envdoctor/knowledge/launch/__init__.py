"""What launcher files say, as records, and how the words of a command are read by them."""

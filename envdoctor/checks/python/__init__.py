"""What a Python program calls: seeds, switches, options, comparisons."""

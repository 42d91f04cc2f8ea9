"""What the results of experiments say."""

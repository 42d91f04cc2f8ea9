"""What is known of platforms, releases and devices, and how a target is given and completed."""

"""What is there on this node, as observations. A probe knows no rules and never raises."""

"""What is kept between two runs: answers, facts, and the log of what an answer depended on."""

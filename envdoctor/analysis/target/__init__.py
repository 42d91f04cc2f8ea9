"""Hints in files to reasons to the target that they are judged against."""

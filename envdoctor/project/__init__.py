"""The files of a project: which there are, their bytes, the configuration and comments that concern them."""

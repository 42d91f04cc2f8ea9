"""Terraform, HCL and Nomad files."""

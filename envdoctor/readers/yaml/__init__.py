"""YAML: manifests, compose files, workflows and configuration."""

"""AMD devices and ROCm."""

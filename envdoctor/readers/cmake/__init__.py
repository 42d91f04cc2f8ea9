"""CMake files."""

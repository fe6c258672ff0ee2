"""The version, said once for the code; ``pyproject.toml`` says it for the package."""

__version__ = "0.1.0"

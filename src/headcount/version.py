"""The version, said once: the package takes it from here."""

__version__ = "0.2.0"

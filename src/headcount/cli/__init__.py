"""The same verbs from a shell: one thin file per command."""

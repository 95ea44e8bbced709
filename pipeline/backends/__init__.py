"""The compilers that turn a dispatch into an artifact, behind one protocol."""

"""Artifacts explained: what the bytes of an xclbin, PDI, stream or ELF say, as `description` data."""

"""Facts of the chip as data."""

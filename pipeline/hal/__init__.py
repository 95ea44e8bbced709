"""What IREE's HAL IR does to buffers, besides dispatches, and what became of the source's fills."""

"""What IREE's HAL IR does to buffers."""

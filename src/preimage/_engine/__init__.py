"""The machine room: arrays of any library, passes over rows, memory, threads, dense algebra, checks."""

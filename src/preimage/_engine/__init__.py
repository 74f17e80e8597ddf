"""What all others use: arrays of any library, passes over rows, memory, threads, dense algebra, checks."""

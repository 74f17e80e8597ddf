"""Files of rows, read and written."""

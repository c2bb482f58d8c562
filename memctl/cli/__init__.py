"""The command line: one file a group of commands; everything that prints is in `render`."""

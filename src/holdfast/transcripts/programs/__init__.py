"""The programs whose sessions can be read, one module for each, and how their databases are read."""

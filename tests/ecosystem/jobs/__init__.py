"""The jobs, a module for each library."""

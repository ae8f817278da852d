"""What passes look for in graphs."""

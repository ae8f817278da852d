"""`cupy.linalg`: nothing of it is used."""

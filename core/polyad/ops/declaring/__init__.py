"""What serves the declaration of ops and belongs to no family of them."""

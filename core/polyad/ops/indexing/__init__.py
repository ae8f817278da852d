"""Elements by their places: x[...], slices, gather and scatter, index_add, masks."""

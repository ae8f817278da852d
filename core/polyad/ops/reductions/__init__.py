"""Many elements to few: sum, max, any, var, median, quantile, histogram; running sums and differences."""

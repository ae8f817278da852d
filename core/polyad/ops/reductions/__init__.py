"""Many elements to few: sums, extremes, any and all, variances, quantiles, histograms; and running sums."""

"""What layers compute, under the names of ``nn.functional``: convolution, pooling, normalization, losses."""

"""Random numbers: rand, randn, normal, multinomial, and the methods that fill a tensor with them."""

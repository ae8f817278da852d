"""Pooling over windows of one to three dimensions."""

"""Growing a tree: Algorithm 1, and the parts that its methods are made of."""

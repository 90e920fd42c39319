"""What a node predicts with, and what its children would."""

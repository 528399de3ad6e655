"""What two profiles do differently in a block format: inputs, kinds of difference, figures."""

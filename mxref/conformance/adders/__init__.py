"""The adder of a matrix unit, read off its answers."""

"""The last layers of a network, trained once for every label of every input."""

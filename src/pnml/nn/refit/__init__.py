"""pNML by its definition: the last layers of a network refitted for every label of every input."""

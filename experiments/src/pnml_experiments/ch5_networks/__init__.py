"""Chapter 5: the last layer of a network."""

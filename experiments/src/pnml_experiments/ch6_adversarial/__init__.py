"""Chapter 6: the adversarial defence."""

"""Chapter 2: least squares."""

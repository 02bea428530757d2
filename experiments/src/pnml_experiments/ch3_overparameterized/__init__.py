"""Chapter 3: more features than rows."""

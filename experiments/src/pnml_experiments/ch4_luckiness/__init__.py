"""Chapter 4: luckiness."""

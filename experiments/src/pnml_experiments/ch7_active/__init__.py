"""Chapter 7: active learning."""

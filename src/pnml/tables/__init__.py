"""Tables: what their columns mean, how rows become numbers, and a model that knows both."""

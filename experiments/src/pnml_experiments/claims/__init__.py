"""The claims of the thesis in its own words, a file for each chapter, and the rules on them."""

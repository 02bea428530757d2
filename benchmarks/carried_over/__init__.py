"""What version 0.1 says, word by word and number by number, against what this tree says."""

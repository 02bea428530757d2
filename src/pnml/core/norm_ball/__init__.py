"""The exact pNML of all linear models of bounded norm: genie → curve → regret and density."""

"""Begin with a goal: what an analyst wants to know leads to a form with what that needs, and nothing else."""

"""`python -m r_eval`: the command `r-eval`, where its folder is not on the PATH."""

from r_eval.cli.app import script

if __name__ == "__main__":
    script()

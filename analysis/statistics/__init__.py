"""Statistics: how sure a mean is, whether two systems can be told apart, and what a ranking may claim.

The order of the modules is the order of the computation: `moments` has means and variances over clusters of questions,
`intervals` the interval of a mean, `board` the scores of systems side by side, `permutation` and `bootstrap` what
chance could do, `paired` the comparison of two systems and of all pairs, `ranking` what follows for their order,
`repeats` what several epochs say. `analysis.estimate` has the mean of one cell, with its interval, as the tables show
it.

Everything is decided by the data: random numbers come from a seed that is made of the questions' names.
"""

"""The process that children are forked from. It preloads what the policy allows, forks and reaps; it never runs
guest code.
"""

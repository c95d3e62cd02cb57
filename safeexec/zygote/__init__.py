"""The process that children are forked from. It preloads what the policy allows, forks, reaps; no guest code runs."""

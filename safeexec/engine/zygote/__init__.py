"""The process that children are forked from. It preloads what the policy allows, and forks; no guest code runs."""

"""Hints: one sentence that says what to write instead, for a refusal, a syntax error, an exception or a limit.

`refusals` speaks of what a policy refuses, `syntax` of text that is not Python, `runtime` of exceptions and `limits`
of steps that were ended. The tables are data. Nothing is read here but the code, the plan and the objects at
hand, and the first bytes of a file that the code failed to read.
"""

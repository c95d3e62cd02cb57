"""What a model should write instead: one sentence for a refusal, a mistake of syntax, an exception or a limit.

`refusals` speaks of what a policy refuses, `syntax` of text that is not Python, `runtime` of exceptions and `limits`
of steps that were ended. The tables are data. Nothing is read here but the code, the plan and the objects at hand: no
file, no clock.
"""

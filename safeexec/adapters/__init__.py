"""Sessions as what other frameworks expect. Each module imports its framework; none is a dependency of this package.

`functions`: schemas of one tool for the OpenAI, Mistral and Anthropic APIs · `langchain`: a LangChain/LangGraph tool ·
`openai_agents`: a tool for the OpenAI Agents SDK ·
`pydantic_ai`: a toolset, and a code mode over other toolsets · `smolagents`: a `PythonExecutor` · `dspy`: a
`CodeInterpreter` · `fastmcp`: a `SandboxProvider` · `rlms`: an environment · `openenv`: a Python executor.
"""

"""What guest code gets when it imports a module: the reviewed names of the module and nothing else.

- `tables`: the reviewed data. Every documented name of every module is allowed, or refused with a reason.
- `access`: what a policy makes of the tables. Pure data: nothing is imported.
- `build`: turns both into module objects, and is the `import` statement of guest code.
- `replacements`: safe versions of the names whose real object would undo the language layer.
"""

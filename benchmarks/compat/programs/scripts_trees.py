import ast
source = "def f(x):\n    return x * 2 + g(x)\n\nclass A(B):\n    y = [i for i in range(3)]\n"
tree = ast.parse(source)
print(ast.dump(tree.body[0], indent=1))
print(sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}))
class Doubler(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value * 2), node)
print(ast.unparse(ast.fix_missing_locations(Doubler().visit(tree))))
print(ast.literal_eval("{'a': [1, 2.5, None], 'b': (True,)}"))
try:
    ast.literal_eval("f(1)")
except ValueError as error:
    print(str(error).split(":")[0])

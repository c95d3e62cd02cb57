namespace = {"x": 3}
code = compile("y = x * 2\nprint(y)", "<made>", "exec")
exec(code, namespace)
print(namespace["y"], eval("x + y", namespace), eval(compile("[i * x for i in range(3)]", "e", "eval"), namespace))
exec("def twice(n):\n    return n * factor")
factor = 10
print(twice(4))
exec("def later():\n    return x", namespace)
namespace["x"] = 100
exec("x = 7", namespace)
print(namespace["later"]())
try:
    eval("1 +")
except SyntaxError as error:
    print(type(error).__name__)

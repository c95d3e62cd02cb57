import io
import pickle
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    for value in (1, "text", [1, {2: (3, None)}], {1, 2}, Point(1, 2), Point):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
file = io.BytesIO()
pickle.dump({"a": Point(1, 2)}, file)
file.seek(0)
print(vars(pickle.load(file)["a"]))
try:
    pickle.loads(b"not a pickle")
except pickle.UnpicklingError as error:
    print(type(error).__name__)

"""A search tree with properties, class methods and static methods that are all tested."""
import doctest


class Tree:
    def __init__(self, value=None):
        self.value, self.left, self.right = value, None, None

    @classmethod
    def of(cls, *values):
        """
        >>> Tree.of(2, 1, 3).inorder
        [1, 2, 3]
        """
        tree = cls(values[0])
        for value in values[1:]:
            tree.insert(value)
        return tree

    @staticmethod
    def is_leaf(node):
        """
        >>> Tree.is_leaf(Tree(1))
        True
        """
        return node.left is node.right is None

    @property
    def inorder(self):
        """
        >>> Tree.of(5, 3, 8, 1).inorder
        [1, 3, 5, 8]
        """
        found = []
        for part in (self.left, self, self.right):
            if part is self:
                found.append(self.value)
            elif part is not None:
                found += part.inorder
        return found

    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Tree(value))
        else:
            child.insert(value)


__test__ = {"extra": """
>>> Tree.of(1).value
1
""", "depth": Tree.insert}

if __name__ == "__main__":
    doctest.testmod(verbose=True, extraglobs={"unused": 1})

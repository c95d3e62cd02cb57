"""A linked list."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass
class Node:
    data: int
    next_node: Node | None = None


class LinkedList:
    """
    >>> linked = LinkedList([3, 1, 2])
    >>> list(linked), len(linked)
    ([3, 1, 2], 3)
    >>> print(linked)
    3 -> 1 -> 2
    >>> linked.reverse(); print(linked)
    2 -> 1 -> 3
    >>> Node(1, Node(2))
    Node(data=1, next_node=Node(data=2, next_node=None))
    """

    def __init__(self, items: list[int]) -> None:
        self.head: Node | None = None
        for item in reversed(items):
            self.head = Node(item, self.head)

    def __iter__(self) -> Iterator[int]:
        node = self.head
        while node:
            yield node.data
            node = node.next_node

    def __len__(self) -> int:
        """
        >>> len(LinkedList([]))
        0
        """
        return sum(1 for _ in self)

    def __str__(self) -> str:
        return " -> ".join(str(item) for item in self)

    def reverse(self) -> None:
        previous, node = None, self.head
        while node:
            node.next_node, previous, node = previous, node, node.next_node
        self.head = previous


def main() -> None:
    import doctest

    doctest.testmod(verbose=True)


if __name__ == "__main__":
    main()

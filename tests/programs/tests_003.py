# domain: tests
"""Mocks of objects, and patches of the program itself."""

import unittest
from unittest import mock
from unittest.mock import ANY, AsyncMock, MagicMock, Mock, call, mock_open, patch, sentinel
import asyncio


class Service:
    def fetch(self, url, n=1):
        return url


def helper():
    return "real"


m = Mock(return_value=3)
print(m(1, 2, k=3), m.call_args, m.call_count, m.mock_calls)
m.assert_called_once_with(1, 2, k=3)
m.a.b.c.return_value = 5
print(m.a.b.c(), m.mock_calls)
mm = MagicMock()
mm.__len__.return_value = 7
mm.__getitem__.side_effect = lambda k: k * 2
print(len(mm), mm[4], bool(mm), str(type(mm)))
with patch.object(Service, "fetch", return_value="mocked") as f:
    print(Service().fetch("x"), f.call_args)
print(Service().fetch("x"))
d = {"a": 1}
with patch.dict(d, {"b": 2}):
    print(sorted(d))
print(d)
with patch("__main__.helper", return_value="patched"):
    print(helper())
print(helper())
try:
    m.assert_called_with(9)
except AssertionError as e:
    print(e)
print(sentinel.thing, call(1, a=2), ANY == 5)


async def main():
    a = AsyncMock(return_value=8)
    print(await a(1), a.await_count)
    a.assert_awaited_once_with(1)


asyncio.run(main())
spec = Mock(spec=Service)
try:
    spec.nothing
except AttributeError as e:
    print(e)
print(isinstance(spec, Service), spec.fetch("z").__class__.__name__)


class T(unittest.TestCase):
    @patch.object(Service, "fetch")
    def test_it(self, f):
        f.return_value = 1
        self.assertEqual(Service().fetch(1), 1)
        f.assert_called_once()
        f.reset_mock()
        f.assert_not_called()

    def test_bad(self):
        Mock().assert_called()


unittest.main(argv=["x"], exit=False, testRunner=unittest.TextTestRunner(verbosity=0))
o = mock_open(read_data="abc\ndef")
with o("x") as f:
    print(f.read())

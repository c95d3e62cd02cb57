import unittest
from unittest.mock import ANY, MagicMock, Mock, call, patch
class Shop:
    def __init__(self, bank):
        self.bank = bank
    def buy(self, price):
        if not self.bank.pay(price, currency="EUR"):
            raise ValueError("refused")
        return "bought"
class TestShop(unittest.TestCase):
    def test_pays(self):
        bank = Mock()
        bank.pay.return_value = True
        self.assertEqual(Shop(bank).buy(5), "bought")
        bank.pay.assert_called_once_with(5, currency=ANY)
    def test_refused(self):
        bank = Mock(**{"pay.side_effect": [False]})
        with self.assertRaisesRegex(ValueError, "refused"):
            Shop(bank).buy(1)
        self.assertEqual(bank.mock_calls, [call.pay(1, currency="EUR")])
    @patch.object(Shop, "buy", return_value="patched")
    def test_patched(self, buy):
        self.assertEqual(Shop(None).buy(3), "patched")
        buy.assert_called_once_with(3)
    def test_magic(self):
        m = MagicMock()
        m.__enter__.return_value = "inside"
        with m as value:
            self.assertEqual(value, "inside")
        m.__iter__.return_value = iter([1, 2])
        self.assertEqual(list(m), [1, 2])
unittest.main()

import asyncio
import unittest
class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.value = await asyncio.sleep(0, 5)
    async def test_value(self):
        self.assertEqual(self.value, 5)
        self.assertEqual(await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)), [1, 2])
unittest.main()

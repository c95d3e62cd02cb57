import unittest
log = []
def setUpModule():
    log.append("module up")
def tearDownModule():
    print(log + ["module down"])
class TestOrder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        log.append("class up")
    @classmethod
    def tearDownClass(cls):
        log.append("class down")
    def setUp(self):
        log.append("up")
        self.addCleanup(log.append, "cleanup")
    def tearDown(self):
        log.append("down")
    def test_x(self):
        log.append("x")
    def test_y(self):
        self.skipTest("later")
unittest.main(exit=False)

# layer: kernel
# proves: an object of another class stands for a package
# oracle: drop
# then: reach

import xml.etree.ElementTree
class Fake: pass
Fake.__name__ = 'xml.etree'
m = [xml]
m[0].etree = Fake
import xml.etree.ElementTree as ET
print(ET, ET.sys.modules['os'])

import io

import pandas as pd
from lxml import etree, html, objectify
from lxml.builder import E

XML = """<?xml version="1.0"?>
<catalog xmlns:d="urn:d"><book id="1" d:lang="en"><title>Dune</title><price>9.5</price></book>
<book id="2"><title>Emma</title><price>3.2</price></book><!-- end --></catalog>"""

root = etree.fromstring(XML.encode())
print(root.tag, len(root), root[0].get("id"), root[0].get("{urn:d}lang"), root.findtext("book/title"))
print([(b.get("id"), float(b.findtext("price"))) for b in root.iter("book")], root.nsmap)
print(root.xpath("//book/@id"), root.xpath("count(//book)"), root.xpath("//book[price > $p]/title/text()", p=5))
space = etree.FunctionNamespace("urn:own")
space["double"] = lambda context, value: 2 * value
print(root.xpath("o:double(21)", namespaces={"o": "urn:own"}))
tree = etree.ElementTree(E.items(*[E.item(str(n), n=str(n * n)) for n in range(5)]))
tree.write("items.xml", xml_declaration=True, encoding="utf-8", pretty_print=True)
print(etree.parse("items.xml").getroot()[4].attrib, sum(int(e.text) for _, e in etree.iterparse("items.xml", tag="item")))
with etree.xmlfile("stream.xml", encoding="utf-8") as stream, stream.element("log"):
    stream.write(etree.Element("entry", level="info"))
print(open("stream.xml").read(), pd.read_xml("items.xml").to_dict("list"))
page = html.fromstring(
    "<div><p class='x y'>a <a href='one.html'>b</a> tail</p><form action='/s'><input name='q' value='1'>"
    "<select name='c'><option value='u' selected>U</option></select></form></div>"
)
print([(e.tag, a, link) for e, a, link, _ in page.iterlinks()], page.forms[0].form_values(), page.text_content())
obj = objectify.fromstring("<r><n>3</n><n>4</n><s>text</s><b>true</b></r>")
print(obj.n + 1, [int(n) for n in obj.n], obj.s.text.upper(), obj.b, objectify.ObjectPath("r.n[1]")(obj))


class Count:
    def __init__(self):
        self.tags = []

    def start(self, tag, attrib):
        self.tags.append(tag)

    def close(self):
        return self.tags


print(etree.XML("<a><b/><b/></a>", etree.XMLParser(target=Count())))
print(pd.read_html(io.StringIO("<table><tr><th>k</th></tr><tr><td>5</td></tr></table>"), flavor="lxml")[0].to_dict())
etree.fromstring("<a><b></a>")

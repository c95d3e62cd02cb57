import io

import pandas as pd
from lxml import etree, html, objectify
from lxml.builder import E, ElementMaker
from lxml.html import builder as H

XML = """<?xml version="1.0"?>
<catalog xmlns:d="urn:d"><book id="1" d:lang="en"><title>Dune</title><price>9.5</price></book>
<book id="2"><title>Emma</title><price>3.2</price></book><!-- end --></catalog>"""

# 1: parse, find, change
root = etree.fromstring(XML.encode())
print(root.tag, len(root), root[0].get("id"), root[0].get("{urn:d}lang"), root.findtext("book/title"))
print([(b.get("id"), float(b.findtext("price"))) for b in root.iter("book")], root.nsmap)
etree.SubElement(root, "book", id="3").text = "new"
root.remove(root[1])
print(etree.tostring(root, pretty_print=True).decode(), root.getroottree().docinfo.xml_version)
# 2: XPath
print(root.xpath("//book/@id"), root.xpath("count(//book)"), root.xpath("//book[price > $p]/title/text()", p=5))
print(root.xpath("//@d:lang", namespaces={"d": "urn:d"}), etree.XPath("string(//title)")(root))
print(root.xpath("re:test(., 'D.ne')", namespaces={"re": "http://exslt.org/regular-expressions"}))
print(root.getroottree().getpath(root[0][0]), root[0].getparent().tag, root[0].getnext().tag)
# 3: functions of one's own in XPath
space = etree.FunctionNamespace("urn:own")
space["double"] = lambda context, value: 2 * value
print(root.xpath("o:double(21)", namespaces={"o": "urn:own"}))


class Words:
    def upper(self, context, text):
        return text.upper()


words = etree.Extension(Words(), ["upper"], ns="urn:w")
print(root.xpath("w:upper('abc')", namespaces={"w": "urn:w"}, extensions=words))
# 4: XSLT
style = etree.XSLT(
    etree.XML(
        """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:param name="n"/>
<xsl:template match="/"><list n="{$n}"><xsl:for-each select="//title"><i><xsl:value-of select="."/></i></xsl:for-each>
</list></xsl:template></xsl:stylesheet>"""
    )
)
print(str(style(root, n="'two'")))
# 5: schemas
schema = etree.XMLSchema(
    etree.XML(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a" type="xs:integer"/></xs:schema>'
    )
)
print(schema.validate(etree.XML("<a>1</a>")), schema.validate(etree.XML("<a>x</a>")), schema.error_log.last_error.message)
print(etree.DTD(io.StringIO("<!ELEMENT a EMPTY>")).validate(etree.XML("<a/>")))
# 6: files, and large ones by parts
tree = etree.ElementTree(E.items(*[E.item(str(n), n=str(n * n)) for n in range(5)]))
tree.write("items.xml", xml_declaration=True, encoding="utf-8", pretty_print=True)
print(etree.parse("items.xml").getroot()[4].attrib, sum(int(e.text) for _, e in etree.iterparse("items.xml", tag="item")))
with etree.xmlfile("stream.xml", encoding="utf-8") as stream, stream.element("log"):
    stream.write(etree.Element("entry", level="info"))
print(open("stream.xml").read(), pd.read_xml("items.xml").to_dict("list"))
# 7: pages
page = html.fromstring(
    "<div><p class='x y'>a <a href='one.html'>b</a> tail</p><form action='/s'><input name='q' value='1'>"
    "<select name='c'><option value='u' selected>U</option></select></form></div>"
)
page.make_links_absolute("http://h.example/d/")
print([(e.tag, a, link) for e, a, link, _ in page.iterlinks()], page.forms[0].form_values(), page.text_content())
print(html.make_links_absolute("<a href='x'>y</a>", "http://h.example/"), page.find_class("y")[0].tag)
page.find(".//a").drop_tag()
print(html.tostring(page), html.tostring(H.DIV(H.CLASS("c"), H.B("bold"), "!")))
print(html.fragment_fromstring("a<b>c</b>", create_parent="i").getchildren(), len(html.fragments_fromstring("<p>1<p>2")))
# 8: objects
obj = objectify.fromstring("<r><n>3</n><n>4</n><s>text</s><b>true</b></r>")
print(obj.n + 1, [int(n) for n in obj.n], obj.s.text.upper(), obj.b, objectify.ObjectPath("r.n[1]")(obj))
# 9: parsers with options, entities, a target
parser = etree.XMLParser(remove_blank_text=True, remove_comments=True, recover=True)
print(etree.tostring(etree.fromstring("<a> <b/> <!-- c --> <d>", parser)))
print(etree.fromstring("<!DOCTYPE a [<!ENTITY e 'inner'>]><a>&e;</a>").text)


class Count:
    def __init__(self):
        self.tags = []

    def start(self, tag, attrib):
        self.tags.append(tag)

    def close(self):
        return self.tags


print(etree.XML("<a><b/><b/></a>", etree.XMLParser(target=Count())))
# 10: names and errors
ns = ElementMaker(namespace="urn:n", nsmap={"n": "urn:n"})
made = ns.top(ns.part("x"), kind="k")
etree.strip_tags(made, "{urn:n}part")
print(etree.tostring(made), etree.QName(made).localname, etree.iselement(made), etree.canonicalize("<a b='1'  />"))
print(pd.read_html(io.StringIO("<table><tr><th>k</th></tr><tr><td>5</td></tr></table>"), flavor="lxml")[0].to_dict())
print("done")

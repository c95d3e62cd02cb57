import bs4
from bs4 import BeautifulSoup, Comment

PAGE = """<!DOCTYPE html><html><head><title>Shop &amp; more</title></head><body>
<h1 class="big title" id="top">Books</h1>
<!-- sold out: none -->
<ul id="list"><li class="book" data-price="9.50"><a href="/b/1">Dune</a></li>
<li class="book old" data-price="3.20"><a href="/b/2">Emma</a></li>
<li class="film" data-price="12"><a href="http://other.example/f">Alien</a></li></ul>
<table><tr><th>name</th><th>n</th></tr><tr><td>a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr></table>
<p>First <b>bold</b> text<br>second line</p><p hidden>nothing</p></body></html>"""

soup = BeautifulSoup(PAGE, "html.parser")
print(soup.title.string, soup.h1["class"], soup.h1.get("id"), soup.find("li").a.text, soup.nothing)
copy = BeautifulSoup(PAGE, "html.parser")
for comment in copy.find_all(string=lambda text: isinstance(text, Comment)):
    print(repr(comment.extract()))
print(copy.body.prettify(formatter="minimal"))
for parser in ("lxml", "html5lib", "xml"):
    try:
        print(parser, BeautifulSoup("<r xmlns:x='u'><x:a k='1'>t</x:a><p>one<p>two</p></p></r>", parser))
    except bs4.FeatureNotFound as error:
        print(error)
with open("page.html", "w") as page:
    page.write(PAGE)
with open("page.html") as page:
    print(len(BeautifulSoup(page, "html.parser").find_all(True)))
BeautifulSoup(PAGE, "no-such-parser")

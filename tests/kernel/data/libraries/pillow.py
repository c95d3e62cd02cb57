from PIL import Image, ImageDraw, ImageFont, ImageFilter

im = Image.new("RGB", (200, 100), "white")
d = ImageDraw.Draw(im)
d.text((5, 5), "hi", fill=0, font=ImageFont.load_default())
im.filter(ImageFilter.BLUR).resize((50, 50)).save("a.png")
im.save("a.jpg")
im.save("a.webp")
im.save("a.gif")
Image.open("a.jpg").load()
im.rotate(30).convert("L").save("a.tiff")
print("done")

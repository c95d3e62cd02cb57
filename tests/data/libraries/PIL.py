import io

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

image = Image.new("RGB", (64, 48), (10, 20, 30))
draw = ImageDraw.Draw(image)
draw.rectangle([5, 5, 20, 20], fill="red", outline=(0, 255, 0))
draw.ellipse((30, 10, 50, 30), fill="#0000ff")
draw.text((2, 30), "Hi", font=ImageFont.load_default(), fill="white")
print(image.size, image.mode, image.getpixel((10, 10)), image.getbbox(), image.histogram()[:3])
for name in ("a.png", "a.jpg", "a.gif", "a.bmp", "a.webp", "a.tiff"):
    image.save(name)
    with Image.open(name) as loaded:
        print(loaded.format, loaded.size, loaded.mode)
small = image.resize((16, 12), Image.Resampling.LANCZOS).rotate(90, expand=True).convert("L")
print(small.size, list(small.tobytes()[:5]), ImageOps.invert(small).getpixel((0, 0)), image.crop((0, 0, 8, 8)).size)
print(image.filter(ImageFilter.GaussianBlur(2)).getpixel((10, 10)))
print(ImageEnhance.Contrast(image).enhance(2).getpixel((40, 20)))
print(Image.merge("RGB", image.split()) == image, ImageOps.grayscale(image).getextrema())
buffer = io.BytesIO()
image.save(buffer, "PNG")
Image.open(io.BytesIO(b"nothing"))

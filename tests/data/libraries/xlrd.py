import base64
import warnings
import zlib

import pandas as pd
import xlrd

warnings.simplefilter("ignore")  # pandas announces another engine
data = zlib.decompress(base64.b64decode(
    "eNrtWE1IVFEU/u6bN3/i6FgaaDSIoZXpItq0SKdCc6WYLfohqLF5qIzOyDgtbJNlLoOgVdFGsEUbq03/hdGmRWDUIggCp2jVKihoob7OOe89HW"
    "0EB0xS3jfcc+89955zzz333J9576bLZsYfVGWxDM3wYN4MwpfDU5SCTiUMajdNLjp5gJLpYkMhGKCF9HnxLPTWz2vI652Fhvv6K6LAF0pnMIiO"
    "VNKoXkccERtiim1oUjrFnobblEpQKXZtEXpe6Fah96Tvc6GHhHNNaBP1nVGnMR3tqD9gx/FJrUbaSogqPBKZT8LZhwq84Ti+dF1Zfb04nO6L9W"
    "+WhohejAnQWrcZSSPN9VLcQRFwitDY3t7Y0jKDcoqDCfwyq4Gfzoafqnb568tXIP7vpXz/CvwALWI+fjAP/4amAyMwzymO/jGE0KtzixfHY/3G"
    "EDMifovROjCYGZ7FQQ4YSXQ+pI2evlSSCrGB1IVkxgPEY8O0d1IJL5BMpTO9xBqajVOPASPdY8SL+N6Qcya85JwJye4rJhpHqZTLZA+GaTazd3"
    "+8b+/ujJ4VzojcLdYNVMvWw8RlliDhEjh3D8At9SKxV+gV0bpdylVCy2lSlNd1VtiFo6PS56q01pGe/YIP0V055d1UHvt+7HFk7Gt0D5Un27IX"
    "yyc/RsdRQx6Okzz/RtGgGtStm4wnUSdX9ln1WWjlX+dWQAvbtpv2NVuKOd6QhDKhVo29oxZqmu0rq+ahmsfWpfLoUqKLvfOCrFGiKxHmU/Tha4"
    "30eLUA8TwyAuvQ8ujQRIfX1mGtVpfM4umCDk10WHboYuWiDh92Qhcpj7BMuymEWj7c1ZSaqgxboj6Z0tLhfTI805dSY0XsAu7vF/fkDrVDeMuH"
    "8iOiEKHg+yY+8Yk6Dc0a+YGnR/fGItYuarFi1C5io0Wt+Az5fObChQsXLly4+N+h5AUEeSjp8uS3Xjl++7vOHKV59zPJpkUXUvTL0D/EViQpT2"
    "O4oPjZBq9ydKlVyjjfCxknaPQ0EugWOxIFxy+9UlXufFYtGF67LVTo+POF2PmPx/8DTvYg8w=="
))  # fmt: skip
with open("sales.xls", "wb") as file:
    file.write(data)

book = xlrd.open_workbook("sales.xls")
print(book.nsheets, book.sheet_names(), book.datemode, book.biff_version, book.user_name)
frame = pd.read_excel("sales.xls", sheet_name="Sales", nrows=2)
print(frame, frame["day"].dt.year.tolist(), pd.ExcelFile("sales.xls").sheet_names)
try:
    xlrd.open_workbook(file_contents=b"a,b\n1,2\n")
except xlrd.XLRDError as error:
    print(error)
with xlrd.open_workbook("sales.xls", on_demand=True) as lazy:
    lazy.sheet_by_name("Absent")

"""Data formats, encodings and digests."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import FILES, INTERNAL, MACHINE, PICKLE

TABLES = {
    "json": Table("dump dumps JSONDecodeError JSONDecoder JSONEncoder load loads"),
    "json.decoder": Table("JSONDecodeError JSONDecoder scanstring"),
    "json.encoder": Table("JSONEncoder", internal="py_encode_basestring py_encode_basestring_ascii"),
    "pickle": Table(
        "DEFAULT_PROTOCOL dump dumps HIGHEST_PROTOCOL load loads PickleError PicklingError UnpicklingError",
        refuse={"PickleBuffer": INTERNAL, "Pickler Unpickler": PICKLE},
        internal="""
            ADDITEMS APPEND APPENDS BINBYTES BINBYTES8 BINFLOAT BINGET BININT BININT1 BININT2 BINPERSID BINPUT BINSTRING
            BINUNICODE BINUNICODE8 BUILD BYTEARRAY8 DICT DUP EMPTY_DICT EMPTY_LIST EMPTY_SET EMPTY_TUPLE EXT1 EXT2 EXT4
            FALSE FLOAT FRAME FROZENSET GET GLOBAL INST INT LIST LONG LONG1 LONG4 LONG_BINGET LONG_BINPUT MARK MEMOIZE
            NEWFALSE NEWOBJ NEWOBJ_EX NEWTRUE NEXT_BUFFER NONE OBJ PERSID POP POP_MARK PROTO PUT READONLY_BUFFER REDUCE
            SETITEM SETITEMS SHORT_BINBYTES SHORT_BINSTRING SHORT_BINUNICODE STACK_GLOBAL STOP STRING TRUE TUPLE TUPLE1
            TUPLE2 TUPLE3 UNICODE
        """,
        note="load is by an unpickler of ours (safeexec.child.language.pickles): plain types and the program's own.",
    ),
    "csv": Table(
        """
            Dialect DictReader DictWriter Error excel excel_tab field_size_limit get_dialect list_dialects QUOTE_ALL
            QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC QUOTE_NOTNULL QUOTE_STRINGS reader register_dialect Sniffer
            unix_dialect unregister_dialect writer
        """
    ),
    "io": Table(
        """
            BlockingIOError BufferedIOBase BufferedRandom BufferedReader BufferedRWPair BufferedWriter BytesIO
            DEFAULT_BUFFER_SIZE IncrementalNewlineDecoder IOBase RawIOBase SEEK_CUR SEEK_END SEEK_SET StringIO
            TextIOBase TextIOWrapper UnsupportedOperation
        """,
        refuse={"FileIO open_code": FILES, "text_encoding": INTERNAL},
        files="open",
        note="open is the builtin.",
    ),
    "base64": Table(
        """
            a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode
            b85decode b85encode decode decodebytes encode encodebytes standard_b64decode standard_b64encode
            urlsafe_b64decode urlsafe_b64encode z85decode z85encode
        """
    ),
    "binascii": Table(
        """
            a2b_base64 a2b_hex a2b_qp a2b_uu b2a_base64 b2a_hex b2a_qp b2a_uu crc32 crc_hqx Error hexlify Incomplete
            unhexlify
        """
    ),
    "hashlib": Table(
        """
            algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256
            sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256
        """,
        files="file_digest",
    ),
    "hmac": Table("compare_digest digest digest_size HMAC new trans_36 trans_5C"),
    "zlib": Table(
        """
            adler32 compress compressobj crc32 decompress decompressobj DEF_BUF_SIZE DEF_MEM_LEVEL DEFLATED error
            MAX_WBITS Z_BEST_COMPRESSION Z_BEST_SPEED Z_BLOCK Z_DEFAULT_COMPRESSION Z_DEFAULT_STRATEGY Z_FILTERED
            Z_FINISH Z_FIXED Z_FULL_FLUSH Z_HUFFMAN_ONLY Z_NO_COMPRESSION Z_NO_FLUSH Z_PARTIAL_FLUSH Z_RLE Z_SYNC_FLUSH
            Z_TREES ZLIB_RUNTIME_VERSION ZLIB_VERSION
        """
    ),
    "struct": Table("calcsize error iter_unpack pack pack_into Struct unpack unpack_from"),
    "gzip": Table("BadGzipFile compress decompress", files="GzipFile open"),
    "bz2": Table("BZ2Compressor BZ2Decompressor compress decompress", files="BZ2File open"),
    "lzma": Table(
        """
            CHECK_CRC32 CHECK_CRC64 CHECK_ID_MAX CHECK_NONE CHECK_SHA256 CHECK_UNKNOWN compress decompress FILTER_ARM
            FILTER_ARMTHUMB FILTER_DELTA FILTER_IA64 FILTER_LZMA1 FILTER_LZMA2 FILTER_POWERPC FILTER_SPARC FILTER_X86
            FORMAT_ALONE FORMAT_AUTO FORMAT_RAW FORMAT_XZ is_check_supported LZMACompressor LZMADecompressor LZMAError
            MF_BT2 MF_BT3 MF_BT4 MF_HC3 MF_HC4 MODE_FAST MODE_NORMAL PRESET_DEFAULT PRESET_EXTREME
        """,
        files="LZMAFile open",
    ),
    "zipfile": Table(
        "BadZipFile BadZipfile error LargeZipFile ZIP_BZIP2 ZIP_DEFLATED ZIP_LZMA ZIP_STORED ZipInfo",
        files="is_zipfile Path ZipFile",
        refuse={"PyZipFile": FILES},
    ),
    "configparser": Table(
        """
            BasicInterpolation ConfigParser ConverterMapping DEFAULTSECT DuplicateOptionError DuplicateSectionError
            Error ExtendedInterpolation Interpolation InterpolationDepthError InterpolationError
            InterpolationMissingOptionError InterpolationSyntaxError LegacyInterpolation MAX_INTERPOLATION_DEPTH
            MissingSectionHeaderError MultilineContinuationError NoOptionError NoSectionError ParsingError
            RawConfigParser SafeConfigParser SectionProxy UNNAMED_SECTION
        """
    ),
    "tomllib": Table("load loads TOMLDecodeError"),
    "ipaddress": Table(
        """
            AddressValueError collapse_addresses get_mixed_type_key ip_address ip_interface ip_network IPv4Address
            IPv4Interface IPV4LENGTH IPv4Network IPv6Address IPv6Interface IPV6LENGTH IPv6Network NetmaskValueError
            summarize_address_range v4_int_to_packed v6_int_to_packed
        """
    ),
    "quopri": Table("decode decodestring encode encodestring"),
    "uuid": Table(
        """
            MAX NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 NIL RESERVED_FUTURE RESERVED_MICROSOFT
            RESERVED_NCS RFC_4122 SafeUUID UUID uuid3 uuid4 uuid5 uuid7 uuid8
        """,
        refuse={"main": INTERNAL, "getnode uuid1 uuid6": MACHINE},
    ),
    "secrets": Table("choice compare_digest randbelow randbits SystemRandom token_bytes token_hex token_urlsafe"),
    "urllib": Table(),
    "urllib.parse": Table(
        """
            DefragResult DefragResultBytes parse_qs parse_qsl ParseResult ParseResultBytes quote quote_from_bytes
            quote_plus SplitResult SplitResultBytes unquote unquote_plus unquote_to_bytes urldefrag urlencode urljoin
            urlparse urlsplit urlunparse urlunsplit
        """
    ),
    "xml": Table(),
    "xml.etree": Table(),
    "xml.etree.ElementTree": Table(
        """
            C14NWriterTarget canonicalize Comment dump Element ElementTree fromstring fromstringlist indent iselement
            ParseError PI ProcessingInstruction QName register_namespace SubElement tostring tostringlist TreeBuilder
            VERSION XML XMLID XMLParser XMLPullParser
        """,
        files="iterparse parse",
        note="expat limits entity expansion since 2.4.1 and reads no external entity by itself.",
    ),
}

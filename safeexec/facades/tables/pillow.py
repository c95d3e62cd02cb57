"""Pillow: pictures. Out: the screen, viewers, plug-in registration."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, EVALUATES, INTERNAL, INTERPRETER, MODULE

TABLES = {
    "PIL": Table("UnidentifiedImageError"),
    "PIL.Image": Table(
        """
            ADAPTIVE AFFINE alpha_composite BICUBIC BILINEAR blend BOX composite DecompressionBombError
            DecompressionBombWarning DEFAULT_STRATEGY Dither effect_mandelbrot effect_noise enum eval Exif EXTENT
            FASTOCTREE FILTERED FIXED FLIP_LEFT_RIGHT FLIP_TOP_BOTTOM FLOYDSTEINBERG fromarray fromarrow frombuffer
            frombytes getmodebandnames getmodebands getmodebase getmodetype HAMMING HUFFMAN_ONLY Image
            ImagePointTransform LANCZOS LIBIMAGEQUANT linear_gradient MAX_IMAGE_PIXELS MAXCOVERAGE MEDIANCUT merge MESH
            MKS2013 MKS2021 MODES NEAREST new NONE ORDERED Palette PERSPECTIVE QUAD Quantize radial_gradient RASTERIZE
            registered_extensions Resampling RLE ROTATE_180 ROTATE_270 ROTATE_90 Transform TRANSPOSE Transpose
            TRANSVERSE UnidentifiedImageError WEB
        """,
        files="open",
        refuse={
            "fromqimage fromqpixmap": DISPLAY,
            "DECODERS ENCODERS EXTENSION ID init MIME OPEN preinit register_decoder register_encoder "
            "register_extension register_extensions register_mime register_open register_save register_save_all "
            "SAVE SAVE_ALL WARN_POSSIBLE_FORMATS": INTERPRETER,
        },
        internal="""
            ImagePointHandler ImageTransformHandler item SupportsArrayInterface SupportsArrowArrayInterface
            SupportsGetData
        """,
    ),
    "PIL.ImageChops": Table(
        """
            add add_modulo blend composite constant darker difference duplicate hard_light invert lighter logical_and
            logical_or logical_xor multiply offset overlay screen soft_light subtract subtract_modulo
        """
    ),
    "PIL.ImageColor": Table("colormap getcolor getrgb"),
    "PIL.ImageDraw": Table("Draw floodfill ImageDraw Outline", refuse={"getdraw": MODULE}),
    "PIL.ImageEnhance": Table("Brightness Color Contrast Sharpness"),
    "PIL.ImageFile": Table(
        "ERRORS ImageFile LOAD_TRUNCATED_IMAGES MAXBLOCK Parser SAFEBLOCK",
        refuse={"PyCodec PyCodecState PyDecoder PyEncoder StubHandler StubImageFile TYPE_CHECKING": INTERNAL},
    ),
    "PIL.ImageFilter": Table(
        """
            BLUR BoxBlur BuiltinFilter Color3DLUT CONTOUR DETAIL EDGE_ENHANCE EDGE_ENHANCE_MORE EMBOSS Filter FIND_EDGES
            GaussianBlur Kernel MaxFilter MedianFilter MinFilter ModeFilter MultibandFilter RankFilter SHARPEN SMOOTH
            SMOOTH_MORE UnsharpMask
        """
    ),
    "PIL.ImageFont": Table(
        """
            Axis BaseImageFont FreeTypeFont ImageFont Layout load_default load_default_imagefont MAX_STRING_LENGTH
            TransposedFont
        """,
        files="load load_path truetype",
    ),
    "PIL.ImageMath": Table(
        "lambda_eval",
        refuse={"unsafe_eval": EVALUATES},
        internal="""
            imagemath_convert imagemath_equal imagemath_float imagemath_int imagemath_max imagemath_min
            imagemath_notequal ops
        """,
    ),
    "PIL.ImageMorph": Table("LUT_SIZE LutBuilder MIRROR_MATRIX MorphOp ROTATION_MATRIX"),
    "PIL.ImageOps": Table(
        """
            autocontrast colorize contain cover crop deform equalize exif_transpose expand fit flip grayscale invert
            mirror pad posterize scale solarize SupportsGetMesh
        """
    ),
    "PIL.ImagePalette": Table(
        "ImagePalette make_gamma_lut make_linear_lut negative random raw sepia wedge", files="load"
    ),
    "PIL.ImagePath": Table("Path"),
    "PIL.ImageSequence": Table("all_frames", internal="Iterator"),
    "PIL.ImageStat": Table("Global Stat"),
    "PIL.ImageTransform": Table(
        "AffineTransform ExtentTransform MeshTransform PerspectiveTransform QuadTransform Transform"
    ),
    "PIL.ExifTags": Table("Base GPS GPSTAGS IFD Interop LightSource TAGS"),
    "PIL.TiffTags": Table(
        """
            ASCII BYTE DOUBLE FLOAT IFD LIBTIFF_CORE LONG LONG8 lookup RATIONAL SHORT SIGNED_BYTE SIGNED_LONG
            SIGNED_RATIONAL SIGNED_SHORT TagInfo TAGS TAGS_V2 TAGS_V2_GROUPS TYPES UNDEFINED
        """
    ),
    "PIL.PngImagePlugin": Table(
        "iTXt MAX_TEXT_CHUNK MAX_TEXT_MEMORY PngInfo",
        refuse={"Blend ChunkStream Disposal getchunks is_cid PngImageFile PngStream putchunk TYPE_CHECKING": INTERNAL},
    ),
}

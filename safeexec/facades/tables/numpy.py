"""numpy: arrays and numbers. Out: files without a workspace, memory by address, compilers, ctypes."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import (
    EVALUATES,
    FILES,
    IMPORTS,
    INTERPRETER,
    LIBRARY_TESTS,
    MACHINE,
    MEMORY,
    PROCESS,
)

_ALSO_MASKED = """
    abs absolute add all allclose amax amin angle any append apply_along_axis apply_over_axes arange arccos arccosh
    arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort around array asanyarray asarray atleast_1d atleast_2d
    atleast_3d average bitwise_and bitwise_or bitwise_xor bool_ ceil choose clip column_stack compress concatenate
    conjugate convolve copy corrcoef correlate cos cosh cov cumprod cumsum diag diagflat diagonal diff divide dot dstack
    ediff1d empty empty_like equal exp expand_dims fabs floor floor_divide fmod frombuffer fromfunction greater
    greater_equal hsplit hstack hypot identity indices inner intersect1d isin left_shift less less_equal log log10 log2
    logical_and logical_not logical_or logical_xor max maximum mean median min minimum mod multiply ndenumerate ndim
    negative nonzero not_equal ones ones_like outer polyfit power prod ptp put putmask ravel remainder repeat reshape
    resize right_shift round row_stack setdiff1d setxor1d shape sin sinh size sort sqrt squeeze stack std subtract sum
    swapaxes take tan tanh trace transpose true_divide union1d unique vander var vstack where zeros zeros_like
"""
"""Names of `numpy` that `numpy.ma` has, too."""

TABLES = {
    "numpy": Table(
        _ALSO_MASKED
        + """
            acos acosh argpartition argwhere array2string array_equal array_equiv array_repr array_split array_str
            asarray_chkfinite ascontiguousarray asfortranarray asin asinh asmatrix astype atan atan2 atanh bartlett
            base_repr binary_repr bincount bitwise_count bitwise_invert bitwise_left_shift bitwise_not
            bitwise_right_shift blackman block bmat bool broadcast broadcast_arrays broadcast_shapes broadcast_to
            busday_count busday_offset busdaycalendar byte bytes_ c_ can_cast cbrt cdouble character clongdouble
            common_type complex128 complex256 complex64 complexfloating concat conj copysign copyto count_nonzero cross
            csingle cumulative_prod cumulative_sum datetime64 datetime_as_string datetime_data deg2rad degrees delete
            diag_indices diag_indices_from digitize divmod double dsplit dtype e einsum einsum_path errstate euler_gamma
            exp2 expm1 extract eye False_ fill_diagonal finfo fix flatiter flatnonzero flexible flip fliplr flipud
            float128 float16 float32 float64 float_power floating fmax fmin format_float_positional
            format_float_scientific frexp from_dlpack fromiter frompyfunc fromstring full full_like gcd generic
            geomspace get_printoptions getbufsize geterr geterrcall gradient half hamming hanning heaviside histogram
            histogram2d histogram_bin_edges histogramdd i0 iinfo imag index_exp inexact inf insert int16 int32 int64
            int8 int_ intc integer interp intp invert is_busday isclose iscomplex iscomplexobj isdtype isfinite
            isfortran isinf isnan isnat isneginf isposinf isreal isrealobj isscalar issubdtype iterable ix_ kaiser kron
            lcm ldexp lexsort linspace little_endian log1p logaddexp logaddexp2 logspace long longdouble longlong
            mask_indices matmul matrix matrix_transpose matvec may_share_memory meshgrid mgrid min_scalar_type
            mintypecode modf moveaxis nan nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian
            nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndarray ndindex nditer nested_iters newaxis
            nextafter number object_ ogrid packbits pad partition percentile permute_dims pi piecewise place poly poly1d
            polyadd polyder polydiv polyint polymul polysub polyval positive pow printoptions promote_types
            put_along_axis quantile r_ rad2deg radians ravel_multi_index real real_if_close recarray reciprocal record
            require result_type rint roll rollaxis roots rot90 s_ ScalarType sctypeDict searchsorted select
            set_printoptions setbufsize seterr seterrcall shares_memory short sign signbit signedinteger sinc single
            sort_complex spacing split square str_ take_along_axis tensordot tile timedelta64 trapezoid tri tril
            tril_indices tril_indices_from trim_zeros triu triu_indices triu_indices_from True_ trunc typecodes typename
            ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unique_all unique_counts
            unique_inverse unique_values unpackbits unravel_index unsignedinteger unstack unwrap ushort vdot vecdot
            vecmat vectorize void vsplit
        """,
        files="fromfile fromregex genfromtxt load loadtxt memmap save savetxt savez savez_compressed",
        replaced="load",
        refuse={"info": IMPORTS, "test": LIBRARY_TESTS, "get_include show_config show_runtime": MACHINE},
        aliases={"emath": "numpy.lib.scimath"},
    ),
    "numpy.linalg": Table(
        """
            cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv LinAlgError lstsq matmul matrix_norm
            matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd svdvals tensordot
            tensorinv tensorsolve trace vecdot vector_norm
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "numpy.random": Table(
        """
            beta binomial BitGenerator bytes chisquare choice default_rng dirichlet exponential f gamma Generator
            geometric get_state gumbel hypergeometric laplace logistic lognormal logseries MT19937 multinomial
            multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto PCG64 PCG64DXSM
            permutation Philox poisson power rand randint randn random random_integers random_sample RandomState ranf
            rayleigh sample seed SeedSequence set_state SFC64 shuffle standard_cauchy standard_exponential
            standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "numpy.fft": Table(
        """
            fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftfreq
            rfftn
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "numpy.ma": Table(
        _ALSO_MASKED
        + """
            allequal alltrue anom anomalies clump_masked clump_unmasked common_fill_value compress_cols compress_nd
            compress_rowcols compress_rows compressed count count_masked default_fill_value filled fix_invalid
            flatnotmasked_contiguous flatnotmasked_edges flatten_mask flatten_structured_array fromflex getdata getmask
            getmaskarray harden_mask ids in1d innerproduct is_mask is_masked isarray isMA isMaskedArray MAError
            make_mask make_mask_descr make_mask_none mask_cols mask_or mask_rowcols mask_rows masked masked_all
            masked_all_like masked_array masked_equal masked_greater masked_greater_equal masked_inside masked_invalid
            masked_less masked_less_equal masked_not_equal masked_object masked_outside masked_print_option
            masked_singleton masked_values masked_where MaskedArray MaskError MaskType maximum_fill_value
            minimum_fill_value mr_ mvoid nomask notmasked_contiguous notmasked_edges outerproduct product round_
            set_fill_value soften_mask sometrue
        """,
        refuse={"test": LIBRARY_TESTS},
    ),
    "numpy.polynomial": Table(
        "Chebyshev Hermite HermiteE Laguerre Legendre Polynomial set_default_printstyle", refuse={"test": LIBRARY_TESTS}
    ),
    "numpy.polynomial.polynomial": Table(
        """
            polyadd polycompanion polyder polydiv polydomain polyfit polyfromroots polygrid2d polygrid3d polyint
            polyline polymul polymulx Polynomial polyone polypow polyroots polysub polytrim polyval polyval2d polyval3d
            polyvalfromroots polyvalnd polyvander polyvander2d polyvander3d polyx polyzero
        """
    ),
    "numpy.polynomial.chebyshev": Table(
        """
            cheb2poly chebadd chebcompanion chebder chebdiv chebdomain chebfit chebfromroots chebgauss chebgrid2d
            chebgrid3d chebint chebinterpolate chebline chebmul chebmulx chebone chebpow chebpts1 chebpts2 chebroots
            chebsub chebtrim chebval chebval2d chebval3d chebvalnd chebvander chebvander2d chebvander3d chebweight chebx
            Chebyshev chebzero poly2cheb
        """
    ),
    "numpy.polynomial.legendre": Table(
        """
            leg2poly legadd legcompanion legder legdiv legdomain Legendre legfit legfromroots leggauss leggrid2d
            leggrid3d legint legline legmul legmulx legone legpow legroots legsub legtrim legval legval2d legval3d
            legvalnd legvander legvander2d legvander3d legweight legx legzero poly2leg
        """
    ),
    "numpy.polynomial.hermite": Table(
        """
            herm2poly hermadd hermcompanion hermder hermdiv hermdomain hermfit hermfromroots hermgauss hermgrid2d
            hermgrid3d hermint Hermite hermline hermmul hermmulx hermone hermpow hermroots hermsub hermtrim hermval
            hermval2d hermval3d hermvalnd hermvander hermvander2d hermvander3d hermweight hermx hermzero poly2herm
        """
    ),
    "numpy.polynomial.hermite_e": Table(
        """
            herme2poly hermeadd hermecompanion hermeder hermediv hermedomain hermefit hermefromroots hermegauss
            hermegrid2d hermegrid3d hermeint hermeline hermemul hermemulx hermeone hermepow hermeroots hermesub
            hermetrim hermeval hermeval2d hermeval3d hermevalnd hermevander hermevander2d hermevander3d hermeweight
            hermex hermezero HermiteE poly2herme
        """
    ),
    "numpy.polynomial.laguerre": Table(
        """
            lag2poly lagadd lagcompanion lagder lagdiv lagdomain lagfit lagfromroots laggauss laggrid2d laggrid3d lagint
            lagline lagmul lagmulx lagone lagpow lagroots lagsub lagtrim Laguerre lagval lagval2d lagval3d lagvalnd
            lagvander lagvander2d lagvander3d lagweight lagx lagzero poly2lag
        """
    ),
    "numpy.char": Table(
        """
            add array asarray capitalize center chararray compare_chararrays count decode encode endswith equal
            expandtabs find greater greater_equal index isalnum isalpha isdecimal isdigit islower isnumeric isspace
            istitle isupper join less less_equal ljust lower lstrip mod multiply not_equal partition replace rfind
            rindex rjust rpartition rsplit rstrip split splitlines startswith str_len strip swapcase title translate
            upper zfill
        """
    ),
    "numpy.strings": Table(
        """
            add capitalize center count decode encode endswith equal expandtabs find greater greater_equal index isalnum
            isalpha isdecimal isdigit islower isnumeric isspace istitle isupper less less_equal ljust lower lstrip mod
            multiply not_equal partition replace rfind rindex rjust rpartition rstrip slice startswith str_len strip
            swapcase title translate upper zfill
        """
    ),
    "numpy.rec": Table(
        "array find_duplicate format_parser fromarrays fromrecords fromstring recarray record", files="fromfile"
    ),
    "numpy.exceptions": Table(
        """
            AxisError ComplexWarning DTypePromotionError ModuleDeprecationWarning RankWarning TooHardError
            VisibleDeprecationWarning
        """
    ),
    "numpy.dtypes": Table(
        """
            BoolDType ByteDType BytesDType CLongDoubleDType Complex128DType Complex64DType DateTime64DType Float16DType
            Float32DType Float64DType Int16DType Int32DType Int64DType Int8DType IntDType LongDoubleDType LongDType
            LongLongDType ObjectDType ShortDType StrDType StringDType TimeDelta64DType UByteDType UInt16DType
            UInt32DType UInt64DType UInt8DType UIntDType ULongDType ULongLongDType UShortDType VoidDType
        """,
        refuse={"register_dlpack_dtype": INTERPRETER},
    ),
    "numpy.typing": Table("ArrayLike DTypeLike NBitBase NDArray"),
    "numpy.lib": Table(
        "Arrayterator NumpyVersion",
        refuse={"add_docstring add_newdoc tracemalloc_domain": INTERPRETER, "test": LIBRARY_TESTS},
    ),
    "numpy.lib.stride_tricks": Table("sliding_window_view", refuse={"as_strided": MEMORY}),
    "numpy.lib.scimath": Table("arccos arcsin arctanh log log10 log2 logn power sqrt"),
    "numpy.lib.mixins": Table("NDArrayOperatorsMixin"),
    "numpy.testing": Table(
        """
            assert_ assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal
            assert_array_almost_equal_nulp assert_array_compare assert_array_equal assert_array_less
            assert_array_max_ulp assert_equal assert_no_warnings assert_raises assert_raises_regex assert_string_equal
            assert_warns suppress_warnings
        """,
        refuse={
            "decorate_methods measure rundocs runstring": EVALUATES,
            "NUMPY_ROOT tempdir temppath": FILES,
            "assert_no_gc_cycles BLAS_SUPPORTS_FPE break_cycles build_err_msg clear_and_catch_warnings "
            "HAS_LAPACK64 HAS_REFCOUNT IgnoreException IS_64BIT IS_EDITABLE IS_INSTALLED IS_MUSL IS_PYPY "
            "IS_PYSTON IS_WASM KnownFailureException NOGIL_BUILD print_assert_equal SkipTest TestCase "
            "verbose": LIBRARY_TESTS,
            "check_support_sve jiffies memusage run_threaded": PROCESS,
        },
    ),
}

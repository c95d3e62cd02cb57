"""The places where a library turns text into attributes, modules and code, formats by a template, looks at dicts and
frames, or holds a module, and that are harmless: why → which, as patterns of ``module:function``.
"""

from __future__ import annotations

from typing import Final

JUDGED: Final[dict[str, str]] = {
    "the name comes from a table, a signature or a class of the library's own": """
        PIL.Image:_import_plugin_for_extension PIL.Image:init abc:update_abstractmethods
        gettext:NullTranslations.install hashlib:*=1 inspect:_signature_get_user_defined_method inspect:isabstract
        matplotlib:_check_versions matplotlib._api:*=3 matplotlib.backends.backend_cairo:*=1
        numpy._core.function_base:add_newdoc numpy.char:__getattr__ scipy.special._ufunc_tools:_with_cache_optimization
        numpy.core.*:*=19 pandas:*=1 pandas.compat._optional:import_optional_dependency scipy._lib.deprecation:*=1
        scipy._lib.doccer:*=3 scipy.odr.*:__getattr__=2 scipy.optimize._optimize:show_options
        scipy.stats._distn_infrastructure: seaborn.utils:_get_transform_functions
        sklearn.utils._set_output:check_library_installed sklearn.utils.discovery:*=3 sympy.abc: sympy:__sympy_debug
        sympy.external.importtools:*=2 sympy.core.cache:*=2 sympy.polys.polyconfig:configure
        sympy.concrete.summations:_dummy_*=1 sympy.polys.monomials:MonomialOps._build sympy.polys.ring_series:_rs_series
        bs4.builder:register_treebuilders_from html5lib._inputstream: html5lib._utils:
        soupsieve.css_parser:_SelectorContext.debug xlrd.book:Book.handle_name xlrd.sheet:Sheet.*=4
        plotly.basedatatypes:BasePlotlyType._prop_set_child plotly.express._core:apply_default_cascade
        plotly.validator_cache:*=1 _plotly_utils.importers:*=1 _plotly_utils.optional_imports:*=1 _plotly_utils.png:*=2
        networkx.lazy_imports:*=2 pyarrow:_filesystem_is_available sympy.utilities.lambdify:_import
        scipy.fft._debug_backends:*=1 patsy:_reexport patsy.eval:_all_future_flags patsy.util: patsy.eval:
        tqdm.std:tqdm.pandas.inner_generator.inner matplotlib.axes._base:_axis_method_wrapper.__set_name__
        narwhals._compliant.expr:EagerExpr.*=1 narwhals._expression_parsing:*=2 narwhals._pandas_like.expr:*=1
        narwhals._utils:_is_eager_namespace narwhals._utils:deep_attrgetter cssselect.xpath:GenericTranslator.*=2
        joblib.compressor:*=1 pytz.lazy:*=4 wcwidth.text_sizing:*=2 typing_extensions:
        typing_extensions:_NamedTupleMeta.__new__ typing_extensions:runtime_checkable
    """,
    "the name is one that the compiler has read, or that the guard of `__getattr__` or `__setattr__` has": """
        PIL.PdfParser:PdfDict.__setattr__ numpy.lib._user_array_impl:container.*=2 plotly.basedatatypes:*.__setattr__=3
        plotly.basedatatypes:BaseLayoutType.__getattr__ seaborn._docstrings:DocstringComponents.__getattr__
        matplotlib.dates:rrulewrapper.__getattr__
        typing_extensions:TypeAliasType.__setattr__ typing_extensions:_SpecialGenericAlias.__setattr__
        typing_extensions:_TypeAliasGenericAlias.__getattr__ typing_extensions:sentinel.__setattr__
        enum:EnumType.__delattr__ enum:EnumType.__setattr__ matplotlib.patheffects:PathEffectRenderer.__getattribute__
        networkx.utils.configs:Config.*=4 numpy._core.records:recarray.*=2 numpy._core.records:record.*=2
        numpy.ma.core:MaskedConstant.__setattr__ numpy.ma.mrecords:MaskedRecords.__getattribute__
        numpy.ma.mrecords:MaskedRecords.__setattr__ openpyxl.styles.named_styles:NamedStyle.__setattr__
        openpyxl.styles.proxy:StyleProxy.__setattr__ pandas.core.base:NoNewAttributesMixin.__setattr__
        pandas.core.generic:NDFrame.__getattr__ pandas.core.generic:NDFrame.__setattr__
        pandas.core.groupby.groupby:GroupBy.__getattr__ pandas.core.resample:Resampler.__getattr__
        pandas.core.window.rolling:BaseWindow.__getattr__
        statsmodels.base.wrapper:ResultsWrapper.__getattribute__.get
        sympy.core.parameters:_global_parameters.__setattr__ sympy.core.singleton:SingletonRegistry.__getattr__
        sympy.polys.polyoptions:Options.__setattr__ typing:_BaseGenericAlias.__setattr__
        typing:_DeprecatedType.__getattribute__
    """,
    "the importer decides: a library imports its own parts and what it spells (libraries.imports)": """
        encodings:search_function xml.dom.domreg:getDOMImplementation xml.sax:_create_parser
    """,
    "the dict is read for names or text, written to, or compared, and nobody is given it": """
        copyreg:_reduce_ex email._policybase:_PolicyBase.__add__ email._policybase:_PolicyBase.__repr__
        email._policybase:_PolicyBase.clone email._policybase:_extend_docstrings
        inspect:_check_instance statsmodels.base.model:LikelihoodModelResults.remove_data
        enum:Enum.__dir__ enum:EnumType.__new__ enum:EnumType._add_member_ enum:EnumType._convert_ enum:_old_convert_
        enum:_proto_member.__set_name__ enum:_simple_enum.convert_class enum:_test_simple_enum enum:global_enum
        typing:Protocol.__init_subclass__._proto_hook networkx.classes.digraph:_CachedPropertyResetterAdjAndSucc.__set__
        networkx.classes.digraph:_CachedPropertyResetterPred.__set__
        networkx.classes.graph:_CachedPropertyResetterAdj.__set__
        networkx.classes.graph:_CachedPropertyResetterNode.__set__ networkx.utils.configs:Config.__iter__
        networkx.utils.configs:Config.__len__ networkx.utils.configs:Config.__reversed__
        networkx.utils.configs:_flexible_repr openpyxl.descriptors.serialisable:Serialisable.__copy__
        xlrd.formatting:check_colour_indexes_in_obj bs4:BeautifulSoup.__init__
        plotly.io._base_renderers:BaseRenderer.__repr__ plotly.io._base_renderers:DatabricksRenderer.displayHTML
        typing:_get_protocol_attrs typing:_proto_hook numpy.ma.core:MaskedArray.__deepcopy__
        numpy.ma.mrecords:MaskedRecords.__array_finalize__ numpy.ma.mrecords:MaskedRecords.__getitem__
        numpy.lib._polynomial_impl:poly1d.__init__ matplotlib.backends.backend_pdf:GraphicsContextPdf.__repr__
        sympy.utilities.codegen:Routine.__str__ matplotlib._internal_utils:graphviz_dump_transform.recurse
        matplotlib.font_manager:FontManager._findfont_cached matplotlib.font_manager:FontProperties.__hash__
        matplotlib.font_manager:_JSONEncoder.default matplotlib.font_manager:_json_decode
        matplotlib.path:Path.__deepcopy__ matplotlib.markers:MarkerStyle._set_marker
        scipy.integrate._quad_vec:_Bunch.__repr__ scipy.io.matlab._mio5:_matstruct_to_dict
        scipy.io.matlab._mio5:to_writeable scipy.sparse.linalg._eigen.arpack.arpack:_SymmetricArpackParams.__init__
        scipy.sparse.linalg._eigen.arpack.arpack:_UnsymmetricArpackParams.__init__
        sympy.assumptions.facts:get_known_facts_keys sympy.core.assumptions:_prepare_class_assumptions
        sympy.core.decorators:sympify_method_args sympy.parsing.maxima:parse_maxima
        sympy.physics.vector.printing:VectorPrettyPrinter._print_Derivative sympy.utilities.decorator:public
        yaml.tokens:Token.__repr__ warnings:warn collections:OrderedDict.__reduce__ collections:OrderedDict.__sizeof__
        pandas.core.indexes.datetimes:_new_DatetimeIndex pandas.core.indexes.timedeltas:_new_TimedeltaIndex
        matplotlib._mathtext:Parser.__init__.set_names_and_parse_actions matplotlib.pyplot:matshow
        matplotlib.pyplot:switch_backend.backend_mod matplotlib.backend_bases:ToolContainerBase._get_image_filename
        matplotlib.figure:_AxesStack.__setstate__ matplotlib.transforms:Transform.__init_subclass__
        pandas.core.window.rolling:RollingGroupBy._get_window_indexer pandas.io.formats.style:Styler.clear
        pandas.io.spss:read_spss sklearn.utils._metadata_requests:_MetadataRequester.__init_subclass__.is_RequestMethod
        sklearn.utils._metadata_requests:_MetadataRequester._get_class_level_metadata_request_values
        sklearn.utils._optional_dependencies:check_pandas_support sklearn.utils.validation:_is_fitted
        statsmodels.base.model:Model._handle_data statsmodels.discrete.discrete_model:MultinomialModel._handle_data
        statsmodels.stats.contingency_tables:_Bunch.__str__ scipy._lib._bunch:_make_tuple_bunch._get
        typing:_ProtocolMeta.__instancecheck__
        pyparsing.common: cssselect.parser:_compile typing_extensions:_TypedDictMeta.__new__
        typing_extensions:_get_protocol_attrs typing_extensions:_proto_hook
        typing_extensions:_ProtocolMeta.__instancecheck__
    """,
    "written to: no name that is in the dict of an object leads out, and what makes bases keeps its own (`sealed`)": """
        html5lib._utils:moduleFactoryFactory.moduleFactory
    """,
    "an object that is a dict becomes its own dict": """
        statsmodels.datasets.utils:Dataset.__init__ statsmodels.stats.inter_rater:ResultsBunch.__init__
        statsmodels.tools._decorators:ResettableCache.__init__ statsmodels.tools.tools:Bunch.__init__
    """,
    "the object's own way to store: its class decides": """
        email._policybase:_PolicyBase.__init__
        pandas.core.generic:NDFrame.__finalize__ soupsieve.css_types:Immutable.__init__
        scipy.io._netcdf:netcdf_file._read_gatt_array
    """,
    "a copy of the same class, whose class is the only one that could be asked for another": """
        collections:UserDict.__copy__ collections:UserList.__copy__ matplotlib.font_manager:FontProperties.__copy__
        matplotlib.transforms:TransformNode.__copy__
    """,
    "a state, which the guard of `__getstate__` judges": """
        scipy.sparse._dok:_dok_base.__reduce__
    """,
    "of the frame no more is told than names, lines and whose variable something is": """
        asyncio.*:*=5 bs4.element:PageElement.*=1 pyarrow.util:*=1 dateutil.zoneinfo:*=1 gettext:*=1
        logging:Logger.findCaller logging: matplotlib.axes._base:*=1 pandas.core.common:*=2 pandas.util._exceptions:*=1
        enum:EnumType._create_ typing:_caller sympy.multipledispatch.core:*=1 statsmodels.graphics.utils:_import_mpl
        narwhals._exceptions:*=1 narwhals.dependencies:*=2 typing_extensions:_caller
        typing_extensions:_has_generic_or_protocol_as_origin
    """,
    "a package's `__getattr__` gives a part of the package; a facade passes on no module": """
        dateutil:__getattr__ numpy:__getattr__ numpy.lib:__getattr__ scipy:__getattr__ scipy.sparse:__getattr__
        sklearn:__getattr__
    """,
    "the library itself calls it, and keeps the module to itself or in what `libraries.imports.HELD` names": """
        PIL.ImageDraw:getdraw numpy.__config__:_check_pyyaml scipy.__config__:_check_pyyaml
        scipy._lib._array_api_override:array_namespace scipy.interpolate._rbfinterp:_get_backend
        scipy.interpolate._bsplines:_get_xp_*=1 scipy.interpolate._interpolate:_get_xp_*=2 scipy.ndimage._delegators:*=1
        scipy.signal._delegators:*=6 scipy.spatial.transform._rigid_transform:select_backend
        scipy.spatial.transform._rotation:select_backend sympy.external.gmpy:_get_flint
        narwhals._pandas_like.dataframe:*=1 narwhals._pandas_like.series:*=1 narwhals._pandas_like.utils:*=1
        narwhals._utils:_import_native_namespace narwhals._utils:_version_dtypes
        sklearn.utils._array_api:get_namespace
    """,
    "no module is held there": """
        xml.sax.xmlreader:XMLReader.*=3
        lxml.html:_MethodFunc.__init__ collections:ChainMap matplotlib.text:OffsetFrom.__init__ typing:_make_nmtuple
        sympy.parsing.autolev.*:*=3 statsmodels.genmod.generalized_linear_model:GLM.predict
        cssselect.parser:Attrib.__init__ dateutil.tz.tz:_tzicalvtzcomp.__init__
        matplotlib.backends._backend_pdf_ps:CharacterTracker.track_glyph narwhals._utils:Implementation.from_backend
        packaging.specifiers:Specifier._to_ranges pandas.core.arrays._arrow_string_mixins:*=1
        pandas.core.groupby.ops:BaseGrouper._observed_grouper sympy.polys.polytools:GroebnerBasis._new
        statsmodels.discrete.discrete_model:MultinomialModel.predict
        statsmodels.regression.rolling:RollingRegressionResults.__init__
        statsmodels.tsa.vector_ar.var_model:VARProcess.__str__
    """,
    "the text is checked there: identifiers, or a grammar of its own": """
        dateutil._tzdata_impl:*=3 openpyxl.reader.workbook:WorkbookParser.assign_names
        openpyxl.worksheet.worksheet:Worksheet.print_area soupsieve:*=6 plotly.data:_get_dataset collections:namedtuple
        gettext:c2py scipy._lib._bunch:_make_tuple_bunch scipy.optimize._nonlin:_nonlin_wrapper
        inspect:_signature_fromstr.wrap_value statsmodels.tsa.ar_model:AutoReg.__init__
    """,
    "parsed, not run": """
        ast:parse typing:ForwardRef.__init__
    """,
    "replaced in the facades (safeexec.facades.replacements)": """
        contextlib:_RedirectStream.*=2 inspect:get_annotations copy:*=1 dataclasses:*=13 operator:*=2 pickle:*=4
        logging:*Style._format=3 traceback:*=6 typing:ForwardRef._evaluate numpy.lib._npyio_impl:load
        numpy.lib._format_impl:read_array logging:Logger.makeRecord logging:makeLogRecord
        typing_extensions:_clean_optional typing_extensions:_eval_with_owner typing_extensions:get_annotations
    """,
    "replaced in the library (child/language/libraries)": """
        sklearn.feature_selection._base:_get_feature_importances sympy.core.operations:AssocOpDispatcher.__init__
        plotly.graph_objs._layout:Layout functools:singledispatch.*=1 typing:get_type_hints argparse:*=3
        functools:cached_property.__get__ pprint:*=1 PIL.ImageFile:StubImageFile.load
        matplotlib.gridspec:SubplotParams.to_dict scipy.sparse._dok:dok_matrix.set_shape
        scipy.sparse._matrix:spmatrix.set_shape yaml.representer:SafeRepresenter.represent_yaml_object
        numpy.lib._index_tricks_impl:*=1 numpy.matrixlib.defmatrix:*=1 pandas.core.computation.scope:Scope.*=2
        sympy.core.symbol:var sympy.utilities.magic:pollute _plotly_utils.basevalidators:*=4
        matplotlib.backend_bases:get_registered_canvas_class
        matplotlib.backends.registry:BackendRegistry.load_backend_module
        matplotlib.colors:_make_norm_from_scale.ScaleNorm.__reduce__ matplotlib.pyplot:figure matplotlib.style:use
        sympy.utilities.lambdify:_get_namespace mpmath.identification:identify mpmath.libmp.*:*=2
        mpmath.ctx_mp_python:binary_op networkx.utils.decorators:argmap.compile pandas.plotting._core:_load_backend
        sympy.parsing.ast_parser:parse_expr sympy.parsing.sympy_parser:eval_expr sympy.parsing.sympy_parser:parse_expr
        scipy.stats._distn_infrastructure:rv_generic._attach_argparser_methods
        sympy.plotting.experimental_lambdify:Lambdifier.__init__ sympy.stats.joint_rv:JointDistribution.sample
        sympy.stats.matrix_distributions:MatrixDistribution.sample sympy.stats.rv:Distribution.sample
        sympy.stats.rv:sample_iter sympy.utilities.lambdify:lambdify patsy.eval:EvalEnvironment.*=2
        statsmodels.base.model:GenericLikelihoodModelResults.__init__
        statsmodels.discrete.discrete_model:DiscreteResults.__init__ sklearn.base:BaseEstimator._get_fitted_attr_html
        openpyxl.descriptors.base:Descriptor.__set__ openpyxl.descriptors.sequence:MultiSequencePart.__set__
        mpmath.ctx_fp:FPContext._wrap_specfun mpmath.ctx_mp_python:PythonMPContext._wrap_libmp_function
        mpmath.ctx_mp_python:PythonMPContext._wrap_specfun sklearn.utils._array_api:_estimator_with_converted_arrays
        networkx.utils.backends:_dispatchable.__new__ networkx.utils.decorators:argmap.__call__
        networkx.utils.decorators:argmap._lazy_compile networkx.utils.misc:PythonRandomViaNumpyBits.getstate
        scipy._lib._bunch:_make_tuple_bunch.__getnewargs_ex__ scipy._lib._bunch:_make_tuple_bunch._asdict
        yaml.constructor:SafeConstructor.construct_yaml_object
        narwhals._utils:_hasattr_static scipy.integrate._quadrature:_qmc_quad_iv
    """,
    "the expression is pandas' own node, whose names pandas.core.computation.expr reads under guard": """
        pandas.core.computation.ops:BinOp.evaluate
    """,
    "no facade gives it, and no state may name it": """
        sklearn.datasets._base:load_*=5 pyarrow.vendored.*:*=3 functools:partial.__reduce__ logging.*:*=13 shutil:*=2
        urllib.request:*=7 zoneinfo.*:*=2 yaml.representer:Representer.*=1 pandas.io.parquet:PyArrowImpl.__init__
        inspect:*=8 yaml.constructor:FullConstructor.*=3 lxml.doctestcompare:*=3 lxml.html.formfill:*=1
        plotly.io._renderers:*=2 plotly.matplotlylib.*:*=1 plotly.tools:*=1 PIL.ImageMath:unsafe_eval PIL.features:*=5
        inspect:_main inspect:classify_class_attrs matplotlib.backends._backend_gtk:*=1
        matplotlib.backends._backend_tk:*=1 matplotlib.backends.backend_gtk3:*=1 matplotlib.backends.backend_gtk4:*=1
        matplotlib.backends.backend_qt:*=5 matplotlib.backends.backend_webagg:*=1
        matplotlib.backends.backend_webagg_core:*=1 matplotlib.backends.backend_wx:*=1
        matplotlib.backends.qt_editor._formlayout:*=1 numpy.core:_ufunc_reconstruct numpy.lib._utils_impl:_makenamedict
        pandas._testing*:*=5 pandas.io.clipboard:*=1 pandas.io.pickle:read_pickle scipy._lib._array_api_docs_tables:*=1
        scipy._lib._docscrape:*=3 scipy._lib._uarray._backend:*=1 scipy.datasets._fetchers:ascent seaborn.external.*:*=5
        sklearn.datasets._twenty_newsgroups:fetch_20newsgroups sklearn.externals.*:*=3 sklearn.utils._testing:*=4
        sklearn.utils.estimator_checks:*=24 sympy.logic.algorithms.z3_wrapper:*=1 sympy.parsing.c.*:*=1
        sympy.parsing.latex.*:*=1 sympy.physics.quantum.qasm:*=1 sympy.physics.secondquant:*=1
        sympy.plotting.pygletplot.*:*=2 sympy.utilities.matchpy_connector:*=1 sympy.utilities._compilation.*:*=1
        tqdm.contrib.concurrent:ensure_lock sympy.utilities.source:*=1 warnings:_getcategory
        patsy.compat_ordereddict:*=1 patsy.*:test_*=4 statsmodels.tools._test_runner:*=1 statsmodels.sandbox.*:*=5
        statsmodels.treatment.*:*=3 functools:partial.__setstate__
        narwhals._dask.*:*=3 narwhals._duckdb.*:*=1 narwhals._ibis.*:*=2 narwhals._polars.*:*=5
        narwhals._spark_like.*:*=3 narwhals.functions:_io_method narwhals.plugins:*=2 pyparsing:show_best_practices
        pyparsing.util:*=1 joblib.externals.*:*=6 joblib._memmapping_reducer:*=1 joblib._store_backends:*=1
        joblib._utils:*=1 joblib.hashing:*=1 joblib.numpy_pickle*:*=3 six:*=14 threadpoolctl:*=5 cloudpickle.*:*=11
        packaging.*:*=6
    """,
}
"""Why a place outside `READERS` is harmless → the places, as ``module:function``. ``*`` is all of a module or class;
the number is that of the places which it was judged for, the largest of any Python with all libraries.
"""

FORMATTING: Final[dict[str, str]] = {
    "a constant of another module of the library, or text that the library itself gives": """
        matplotlib.animation:*=2 matplotlib.cbook:_make_class_factory.*=1
        pandas.core.arrays.period:raise_on_incompatible pandas.io.formats.css:_side_expander.expand
        plotly.offline.offline:build_save_image_post_script statsmodels.graphics.regressionplots:*=4
        statsmodels.regression.linear_model:*=1 statsmodels.stats.outliers_influence:*=1 statsmodels.tools.parallel:*=1
        statsmodels.tsa.exponential_smoothing.ets:*=1 statsmodels.tsa.regime_switching.markov_switching:*=1
        statsmodels.tsa.statespace.mlemodel:*=1
        narwhals.expr_cat:*=1 narwhals.series_cat:*=1
    """,
    "a literal where it is formatted": """
        inspect:Parameter.__init__ inspect:Signature.*=2 seaborn.relational:_LinePlotter.plot
        sklearn.preprocessing._encoders:OneHotEncoder._set_drop_idx statsmodels.tools.validation.validation:array_like
        typing_extensions:NamedTuple
    """,
    "no facade gives it; the library calls it while it is imported, or for itself": """
        _plotly_utils.utils:template_doc.*=1 numpy._core: numpy._core.arrayprint:IntegerFormat.*=1
        pandas.util._decorators:*=1 pandas.util._test_decorators:*=1 pyarrow.util:doc.*=1
        scipy.optimize._trustregion_constr.report:ReportBase.*=2 seaborn._core.plot:build_plot_signature
        sklearn.utils.estimator_checks:*=1 sympy.utilities.matchpy_connector:*=1 warnings:_deprecated
        narwhals._spark_like.*:*=1 narwhals.sql:*=1 threadpoolctl:*=1
    """,
    "nothing but text and numbers is formatted, of which no attribute leads anywhere": """
        configparser:RawConfigParser.__init__ networkx.drawing.nx_latex:to_latex
        networkx.utils.decorators:argmap.compile pandas.io.formats.format:EngFormatter.__call__
        sklearn.metrics._classification:_warn_prf statsmodels.regression._tools:_MinimalWLS.__init__
        statsmodels.tsa.holtwinters.model:*=1 sympy.parsing.mathematica:MathematicaParser.*=1
    """,
    "what has this `format` is no template, but an image, a matrix, a file or a table": """
        PIL.*ImagePlugin:=45 PIL.SpiderImagePlugin:_save_spider base64:_input_type_check
        openpyxl.drawing.image:Image.__init__ openpyxl.reader.drawings:find_images pyarrow.dataset:write_dataset
        scipy.io._fast_matrix_market:mminfo scipy.sparse._matrix_io:save_npz
        scipy.sparse.linalg._expm_multiply:_ident_like sklearn.ensemble._stacking:_BaseStacking._concatenate_predictions
        sklearn.impute._base:_BaseImputer._concatenate_indicator
        sklearn.manifold._locally_linear:_locally_linear_embedding sklearn.model_selection._validation:cross_val_predict
        sklearn.neighbors._base:_check_precomputed sklearn.utils.sparsefuncs:_raise_typeerror
        sklearn.utils.sparsefuncs:count_nonzero statsmodels.multivariate.factor:FactorResults.get_loadings_frame
        narwhals.stable.v1:format narwhals.stable.v2:format
    """,
    "fields of `string.Formatter` are read by the guarded `getattr`": """
        matplotlib.ticker:StrMethodFormatter.__call__
    """,
    "replaced in the facades (safeexec.facades.replacements), or judged by the guard of `format`": """
        collections:UserString.*=2 logging:*=4 traceback:*=2
    """,
    "replaced in the library (child/language/libraries)": """
        zipfile:Path.__repr__ zipfile._path:Path.__repr__
    """,
}
"""Why a template outside `FORMATTERS` is harmless → the places, as in `JUDGED`."""

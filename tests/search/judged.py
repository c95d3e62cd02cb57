"""The places where a library turns text into attributes, modules and code, formats by a template, looks at dicts and
frames, or holds a module, and that are harmless: why → which, as patterns of ``module:function``.
"""

from __future__ import annotations

from typing import Final

JUDGED: Final[dict[str, str]] = {
    "the name comes from a table, a signature or a class of the library's own": """
        PIL.Image:_import_plugin_for_extension PIL.Image:init abc:update_abstractmethods functools:total_ordering
        gettext:NullTranslations.install
        tarfile:TarInfo._apply_pax_info
        hashlib:* inspect:_findclass inspect:_finddoc inspect:_signature_get_user_defined_method inspect:isabstract
        matplotlib:_check_versions matplotlib._api:*
        matplotlib._api.deprecation:* matplotlib.backends.backend_mixed:*
        matplotlib.backends.backend_cairo:* numpy._core.function_base:add_newdoc
        numpy.char:__getattr__ scipy.special._ufunc_tools:_with_cache_optimization
        numpy.core.*:* pandas:* pandas.compat._optional:import_optional_dependency scipy._lib.deprecation:*
        scipy._lib.doccer:* scipy.odr.*:__getattr__ scipy.optimize._optimize:show_options
        scipy.stats._distn_infrastructure: seaborn.utils:_get_transform_functions
        sklearn.utils._set_output:check_library_installed sklearn.utils.discovery:* sympy.abc: sympy:__sympy_debug
        sympy.external.importtools:* sympy.core.cache:* sympy.polys.polyconfig:configure
        sympy.concrete.summations:_dummy_*
        sympy.polys.monomials:MonomialOps._build sympy.polys.ring_series:_rs_series
        bs4._deprecation:* bs4.builder:register_treebuilders_from bs4.element:Tag.copy_self
        html5lib._inputstream: html5lib._utils: soupsieve.css_parser:_SelectorContext.debug xlrd.book:Book.handle_name
        xlrd.sheet:Sheet.*
        plotly.basedatatypes:BasePlotlyType._prop_set_child plotly.express._core:apply_default_cascade
        plotly.validator_cache:* _plotly_utils.importers:* _plotly_utils.optional_imports:* _plotly_utils.png:*
        networkx.lazy_imports:*
        pyarrow:_filesystem_is_available
        sympy.utilities.lambdify:_import scipy.fft._debug_backends:*
        patsy:_reexport patsy.eval:_all_future_flags patsy.util: patsy.eval: tqdm.std:tqdm.pandas.inner_generator.inner
    """,
    "the name is one that the compiler has read, or that the guard of `__getattr__` or `__setattr__` has": """
        PIL.PdfParser:PdfDict.__setattr__ numpy.lib._user_array_impl:container.* plotly.basedatatypes:*.__setattr__
        plotly.basedatatypes:BaseLayoutType.__getattr__ seaborn._docstrings:DocstringComponents.__getattr__
        codecs:* tempfile:_TemporaryFileWrapper.__getattr__ matplotlib.dates:rrulewrapper.__getattr__
    """,
    "the dict is read for names or text, written to, or compared, and nobody is given it": """
        enum:* typing:Protocol.* networkx.*:* openpyxl.*:* xlrd.*:* bs4:* plotly.io.*:* mpmath.ctx_*:*
        typing:_get_protocol_attrs typing:_proto_hook
        numpy.ma.*:* numpy.lib._polynomial_impl:poly1d.__init__
        matplotlib.backends.backend_pdf:GraphicsContextPdf.__repr__ sympy.utilities.codegen:Routine.__str__
        matplotlib._internal_utils:* matplotlib.font_manager:* matplotlib.path:Path.__deepcopy__
        matplotlib.markers:MarkerStyle._set_marker scipy.integrate._quad_vec:_Bunch.__repr__
        scipy.io.matlab._mio5:* scipy.sparse.linalg._eigen.arpack.arpack:* sympy.assumptions.facts:*
        sympy.core.assumptions:_prepare_class_assumptions sympy.core.decorators:* sympy.parsing.maxima:parse_maxima
        sympy.physics.vector.printing:* sympy.utilities.decorator:public yaml.tokens:* warnings:warn
        collections:OrderedDict.* pandas.core.indexes.*:* matplotlib.cbook:* matplotlib._mathtext:* matplotlib.pyplot:*
        matplotlib.backend_bases:* matplotlib.figure:_AxesStack.__setstate__ matplotlib.transforms:Transform.*
        pandas.core.window.rolling:* pandas.io.formats.style:Styler.clear pandas.io.spss:* sklearn.utils.*:*
        dateutil.tz._tzfile:* statsmodels.base.model:Model._handle_data
        statsmodels.discrete.discrete_model:MultinomialModel._handle_data statsmodels.stats.contingency_tables:_Bunch.*
    """,
    "written to: no name that is in the dict of an object leads out, and what makes bases keeps its own (`sealed`)": """
        logging:Logger.makeRecord logging:makeLogRecord yaml.constructor:SafeConstructor.construct_yaml_object
        html5lib._utils:moduleFactoryFactory.moduleFactory
    """,
    "the object's own way to store: its class decides": """
        scipy.io._netcdf:netcdf_file._read_gatt_array
    """,
    "a copy of the same class, whose class is the only one that could be asked for another": """
        collections:UserDict.__copy__ collections:UserList.__copy__ matplotlib.colors:*.__copy__
        matplotlib.transforms:TransformNode.__copy__
    """,
    "a state, which the guard of `__getstate__` judges": """
        *:*.__getstate__ scipy.sparse._dok:_dok_base.__reduce__
    """,
    "of the frame no more is told than names, lines and whose variable something is": """
        asyncio.*:* bs4.element:PageElement.* pyarrow.util:* dateutil.zoneinfo:* gettext:*
        logging:Logger.findCaller logging: matplotlib.axes._base:*
        pandas.core.common:* pandas.util._exceptions:* enum:EnumType._create_ typing:_caller
        sympy.multipledispatch.core:* statsmodels.graphics.utils:_import_mpl
    """,
    "a package's `__getattr__` gives a part of the package; a facade passes on no module": """
        dateutil:__getattr__ numpy:__getattr__ numpy.lib:__getattr__ scipy:__getattr__ scipy.sparse:__getattr__
        sklearn:__getattr__
    """,
    "the library itself calls it, and keeps the module to itself or in what `library_reads.HELD` names": """
        PIL.ImageDraw:getdraw numpy.__config__:_check_pyyaml scipy.__config__:_check_pyyaml
        scipy._lib._array_api_override:array_namespace scipy.interpolate._rbfinterp:_get_backend
        scipy.interpolate._bsplines:_get_xp_* scipy.interpolate._interpolate:_get_xp_*
        scipy.ndimage._delegators:* scipy.signal._delegators:* scipy.spatial.transform._rigid_transform:select_backend
        scipy.spatial.transform._rotation:select_backend sympy.external.gmpy:_get_flint
    """,
    "no module is held there": """
        lxml.html:_MethodFunc.__init__ collections:ChainMap matplotlib.text:OffsetFrom.__init__
        typing:_make_nmtuple sympy.parsing.autolev.*:*
        statsmodels.genmod.generalized_linear_model:GLM.predict
    """,
    "the text is checked there: identifiers, or a grammar of its own": """
        dateutil._tzdata_impl:*
        openpyxl.reader.workbook:WorkbookParser.assign_names openpyxl.worksheet.worksheet:Worksheet.print_area
        soupsieve:* plotly.data:_get_dataset collections:namedtuple gettext:c2py scipy._lib._bunch:_make_tuple_bunch
        scipy.optimize._nonlin:_nonlin_wrapper
        inspect:_signature_fromstr.wrap_value statsmodels.tsa.ar_model:AutoReg.__init__
    """,
    "parsed, not run": """
        ast:parse typing:ForwardRef.__init__
    """,
    "replaced in the facades (safeexec.facades.replacements)": """
        ast:* contextlib:_RedirectStream.* functools:update_wrapper inspect:get_annotations
        copy:* dataclasses:* operator:* pickle:* logging:*Style._format traceback:*
        typing:ForwardRef._evaluate numpy.lib._npyio_impl:load numpy.lib._format_impl:read_array
    """,
    "replaced in the library (eval_sinks, library_reads)": """
        plotly.graph_objs._layout:Layout functools:singledispatch.* typing:get_type_hints argparse:*
        functools:cached_property.__get__ pprint:*
        PIL.ImageFile:StubImageFile.load xlrd.formatting:EqNeAttrs.*
        matplotlib.font_manager:FontProperties.__copy__ scipy._lib._bunch:*
        matplotlib.gridspec:SubplotParams.to_dict scipy.sparse._dok:dok_matrix.set_shape
        scipy.sparse._matrix:spmatrix.set_shape yaml.representer:SafeRepresenter.represent_yaml_object
        numpy.lib._index_tricks_impl:* numpy.matrixlib.defmatrix:* pandas.core.computation.scope:Scope.*
        sympy.core.symbol:var sympy.utilities.magic:pollute
        _plotly_utils.basevalidators:* matplotlib.backend_bases:get_registered_canvas_class
        matplotlib.backends.registry:BackendRegistry.load_backend_module
        matplotlib.colors:_make_norm_from_scale.ScaleNorm.__reduce__ matplotlib.pyplot:figure
        matplotlib.style:use matplotlib.style.core:use sympy.utilities.lambdify:_get_namespace
        mpmath.identification:identify mpmath.libmp.*:* mpmath.ctx_mp_python:binary_op
        networkx.utils.decorators:argmap.compile
        pandas.plotting._core:_load_backend sympy.parsing.ast_parser:parse_expr
        sympy.parsing.sympy_parser:eval_expr sympy.parsing.sympy_parser:parse_expr
        scipy.stats._distn_infrastructure:rv_generic._attach_argparser_methods
        sympy.plotting.experimental_lambdify:Lambdifier.__init__ sympy.stats.joint_rv:JointDistribution.sample
        sympy.stats.matrix_distributions:MatrixDistribution.sample sympy.stats.rv:Distribution.sample
        sympy.stats.rv:sample_iter sympy.utilities.lambdify:lambdify patsy.eval:EvalEnvironment.*
        statsmodels.base.model:GenericLikelihoodModelResults.__init__
        statsmodels.discrete.discrete_model:DiscreteResults.__init__
    """,
    "the expression is pandas' own node, whose names pandas.core.computation.expr reads under guard": """
        pandas.core.computation.ops:BinOp.evaluate
    """,
    "no facade gives it, and no state may name it": """
        sklearn.datasets._base:load_*
        pyarrow.vendored.*:* functools:partial.__reduce__ logging.*:* shutil:* urllib.request:* zoneinfo.*:*
        yaml.representer:Representer.* pandas.io.parquet:PyArrowImpl.__init__ inspect:*
        yaml.constructor:FullConstructor.* lxml.doctestcompare:* lxml.html.formfill:* plotly.io._renderers:*
        plotly.matplotlylib.*:* plotly.tools:*
        PIL.ImageMath:unsafe_eval PIL.features:* inspect:_main inspect:classify_class_attrs inspect:getmodule
        matplotlib.backends._backend_gtk:* matplotlib.backends._backend_tk:* matplotlib.backends.backend_gtk3:*
        matplotlib.backends.backend_gtk4:* matplotlib.backends.backend_qt:* matplotlib.backends.backend_webagg:*
        matplotlib.backends.backend_webagg_core:* matplotlib.backends.backend_wx:*
        matplotlib.backends.qt_editor._formlayout:* numpy.core:_ufunc_reconstruct
        numpy.lib._utils_impl:_makenamedict pandas._testing*:* pandas.io.clipboard:* pandas.io.pickle:read_pickle
        scipy._lib._array_api_docs_tables:* scipy._lib._docscrape:* scipy._lib._uarray._backend:*
        scipy.datasets._fetchers:ascent seaborn.external.*:* sklearn.datasets._twenty_newsgroups:fetch_20newsgroups
        sklearn.externals.*:* sklearn.utils._testing:* sklearn.utils.estimator_checks:*
        sympy.logic.algorithms.z3_wrapper:* sympy.parsing.c.*:* sympy.parsing.latex.*:* sympy.physics.quantum.qasm:*
        sympy.physics.secondquant:* sympy.plotting.pygletplot.*:* sympy.utilities.matchpy_connector:*
        sympy.utilities._compilation.*:* tqdm.contrib.concurrent:ensure_lock
        sympy.utilities.source:* warnings:_getcategory patsy.compat_ordereddict:* patsy.*:test_*
        statsmodels.tools._test_runner:* statsmodels.sandbox.*:* statsmodels.treatment.*:*
    """,
}
"""Why a place outside `READERS` is harmless → the places, as ``module:function``; ``*`` is all of a module or class."""

FORMATTING: Final[dict[str, str]] = {
    "a constant of another module of the library, or text that the library itself gives": """
        matplotlib.animation:* matplotlib.cbook:_make_class_factory.* pandas.core.arrays.period:raise_on_incompatible
        pandas.io.formats.css:_side_expander.expand plotly.offline.offline:build_save_image_post_script
        statsmodels.graphics.regressionplots:* statsmodels.regression.linear_model:*
        statsmodels.stats.outliers_influence:* statsmodels.tools.parallel:* statsmodels.tsa.exponential_smoothing.ets:*
        statsmodels.tsa.regime_switching.markov_switching:* statsmodels.tsa.statespace.mlemodel:*
    """,
    "a literal where it is formatted": """
        inspect:Parameter.__init__ inspect:Signature.* seaborn.relational:_LinePlotter.plot
        sklearn.preprocessing._encoders:OneHotEncoder._set_drop_idx
        statsmodels.tools.validation.validation:array_like
    """,
    "no facade gives it; the library calls it while it is imported, or for itself": """
        _plotly_utils.utils:template_doc.* numpy._core: numpy._core.arrayprint:IntegerFormat.*
        pandas.util._decorators:* pandas.util._test_decorators:* pyarrow.util:doc.*
        scipy.optimize._trustregion_constr.report:ReportBase.* seaborn._core.plot:build_plot_signature
        sklearn.utils.estimator_checks:* sympy.utilities.matchpy_connector:* warnings:_deprecated
    """,
    "nothing but text and numbers is formatted, of which no attribute leads anywhere": """
        configparser:RawConfigParser.__init__ networkx.drawing.nx_latex:to_latex
        networkx.utils.decorators:argmap.compile pandas.io.formats.format:EngFormatter.__call__
        sklearn.metrics._classification:_warn_prf statsmodels.regression._tools:_MinimalWLS.__init__
        statsmodels.tsa.holtwinters.model:* sympy.parsing.mathematica:MathematicaParser.*
    """,
    "what has this `format` is no template, but an image, a matrix, a file or a table": """
        PIL.*ImagePlugin: PIL.SpiderImagePlugin:_save_spider base64:_input_type_check
        openpyxl.drawing.image:Image.__init__ openpyxl.reader.drawings:find_images pyarrow.dataset:write_dataset
        scipy.io._fast_matrix_market:mminfo scipy.sparse._matrix_io:save_npz
        scipy.sparse.linalg._expm_multiply:_ident_like sklearn.ensemble._stacking:_BaseStacking._concatenate_predictions
        sklearn.impute._base:_BaseImputer._concatenate_indicator
        sklearn.manifold._locally_linear:_locally_linear_embedding sklearn.model_selection._validation:cross_val_predict
        sklearn.neighbors._base:_check_precomputed sklearn.utils.sparsefuncs:_raise_typeerror
        sklearn.utils.sparsefuncs:count_nonzero statsmodels.multivariate.factor:FactorResults.get_loadings_frame
    """,
    "fields of `string.Formatter` are read by the guarded `getattr`": """
        matplotlib.ticker:StrMethodFormatter.__call__
    """,
    "replaced in the facades (safeexec.facades.replacements), or judged by the guard of `format`": """
        collections:UserString.* logging:* traceback:*
    """,
    "replaced in the library (library_reads)": """
        zipfile:Path.__repr__ zipfile._path:Path.__repr__
    """,
}
"""Why a template outside `FORMATTERS` is harmless → the places, as in `JUDGED`."""

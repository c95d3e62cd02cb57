"""Where libraries turn text into attributes, modules and code, format by templates, look at dicts and frames, or hold
modules: the list, and the verdict on each place.

The list is made from the source of what is installed (``python -m tests.search.sites``). A test fails when a version of
a library adds a place that is not judged here.
"""

from __future__ import annotations

from typing import Final

_READERS: Final = """
    PIL.Image PIL.ImageDraw2 PIL.ImageMath PIL.TiffImagePlugin dateutil.parser._parser dateutil.relativedelta
    dateutil.rrule dateutil.tz._tzfile matplotlib._mathtext matplotlib.artist matplotlib.axes._axes
    matplotlib.axes._base matplotlib.axis matplotlib.backend_bases matplotlib.backend_tools matplotlib.cbook
    matplotlib.colorbar matplotlib.colors matplotlib.dates matplotlib.figure matplotlib.gridspec matplotlib.legend
    matplotlib.lines matplotlib.markers matplotlib.path matplotlib.patheffects matplotlib.pyplot matplotlib.spines
    matplotlib.transforms matplotlib.widgets mpl_toolkits.axes_grid1.axes_size mpl_toolkits.axes_grid1.mpl_axes
    mpl_toolkits.axisartist.grid_finder mpmath.calculus.calculus mpmath.ctx_base mpmath.ctx_fp mpmath.ctx_iv
    mpmath.ctx_mp_python mpmath.functions.elliptic mpmath.functions.functions
    mpmath.matrices.eigen numpy numpy._core._add_newdocs_scalars numpy._core._type_aliases numpy._core.fromnumeric
    numpy._core.function_base numpy._core.getlimits numpy._core.records numpy.core numpy.dtypes
    numpy.lib._arrayterator_impl numpy.lib._utils_impl numpy.ma.core numpy.ma.mrecords pandas.core.accessor
    pandas.core.apply pandas.core.arraylike pandas.core.arrays.arrow.array pandas.core.arrays.base
    pandas.core.arrays.boolean pandas.core.arrays.categorical pandas.core.arrays.datetimelike
    pandas.core.arrays.masked pandas.core.arrays.numpy_ pandas.core.arrays.sparse.accessor
    pandas.core.arrays.sparse.array pandas.core.arrays.string_ pandas.core.arrays.timedeltas pandas.core.base
    pandas.core.col pandas.core.common pandas.core.computation.expr pandas.core.computation.ops
    pandas.core.computation.pytables pandas.core.computation.scope pandas.core.dtypes.base pandas.core.dtypes.dtypes
    pandas.core.dtypes.generic pandas.core.flags pandas.core.frame pandas.core.generic pandas.core.groupby.generic
    pandas.core.groupby.groupby pandas.core.groupby.grouper pandas.core.groupby.ops pandas.core.indexers.objects
    pandas.core.indexes.accessors pandas.core.indexes.base pandas.core.indexes.datetimes
    pandas.core.indexes.extension pandas.core.indexes.interval pandas.core.indexes.period pandas.core.indexes.range
    pandas.core.indexing pandas.core.interchange.utils pandas.core.internals.managers pandas.core.methods.selectn
    pandas.core.nanops pandas.core.resample pandas.core.reshape.merge pandas.core.reshape.pivot
    pandas.core.strings.object_array pandas.core.util.numba_ pandas.core.window.rolling pandas.io.common
    pandas.io.excel._base pandas.io.excel._openpyxl pandas.io.formats.style pandas.io.formats.style_render
    pandas.io.html pandas.io.json._json pandas.io.parsers.readers pandas.io.pytables
    pandas.plotting._matplotlib.converter pandas.plotting._matplotlib.timeseries scipy.fft._backend
    scipy.fft._basic_backend scipy.interpolate._rbf scipy.io._fast_matrix_market scipy.io._mmio scipy.linalg.blas
    scipy.ndimage._support_alternative_backends scipy.odr._odrpack scipy.optimize._differentialevolution
    scipy.optimize._highspy._highs_wrapper scipy.optimize._nonlin scipy.optimize._optimize
    scipy.optimize._root_scalar scipy.signal._support_alternative_backends scipy.sparse._bsr
    scipy.sparse._compressed scipy.sparse._data scipy.sparse._matrix_io scipy.sparse.linalg._dsolve.linsolve
    scipy.special._support_alternative_backends scipy.stats._discrete_distns scipy.stats._distn_infrastructure
    scipy.stats._distribution_infrastructure scipy.stats._fit scipy.stats._hypotests scipy.stats._morestats
    scipy.stats._sampling scipy.stats._stats_py seaborn._base seaborn._core.plot seaborn._marks.base
    seaborn._stats.base seaborn._stats.density seaborn.algorithms seaborn.categorical seaborn.distributions
    seaborn.regression sklearn.base sklearn.callback._callback_context sklearn.ensemble._base
    sklearn.ensemble._hist_gradient_boosting.gradient_boosting sklearn.ensemble._stacking
    sklearn.feature_selection._base sklearn.frozen._frozen sklearn.gaussian_process.kernels
    sklearn.inspection._plot.decision_boundary sklearn.kernel_approximation sklearn.model_selection._search
    sklearn.model_selection._split sklearn.model_selection._validation sklearn.multiclass sklearn.pipeline
    sklearn.utils._array_api sklearn.utils._metadata_requests sklearn.utils._param_validation
    sklearn.utils._repr_html.fitted_attributes sklearn.utils._set_output sklearn.utils._sparse
    sklearn.utils.metaestimators sklearn.utils.validation sympy.assumptions.ask sympy.assumptions.assume
    sympy.assumptions.facts sympy.assumptions.wrapper sympy.combinatorics.fp_groups sympy.combinatorics.free_groups
    sympy.core.assumptions sympy.core.basic sympy.core.core sympy.core.decorators sympy.core.expr sympy.core.facts
    sympy.core.function sympy.core.numbers sympy.core.operations sympy.core.parameters sympy.core.singleton
    sympy.core.symbol sympy.functions.elementary.hyperbolic sympy.functions.elementary.piecewise
    sympy.functions.elementary.trigonometric sympy.integrals.risch sympy.matrices.matrixbase
    sympy.parsing.sympy_parser sympy.physics.quantum.qexpr sympy.physics.units sympy.physics.vector.printing
    sympy.plotting.backends.base_backend sympy.plotting.series sympy.polys.domains.domain sympy.polys.fields
    sympy.polys.polyoptions sympy.polys.polytools sympy.polys.polyutils sympy.polys.ring_series sympy.polys.rings
    sympy.polys.rootoftools sympy.printing.c sympy.printing.codeprinter sympy.printing.cxx sympy.printing.lambdarepr
    sympy.printing.latex sympy.printing.numpy sympy.printing.printer sympy.printing.pycode sympy.printing.python
    sympy.printing.rust sympy.utilities.decorator sympy.vector.coordsysrect argparse configparser
    enum functools pprint string tarfile typing
    networkx.readwrite.text networkx.utils.configs openpyxl.cell.read_only openpyxl.chart.plotarea
    openpyxl.descriptors.base openpyxl.descriptors.serialisable openpyxl.packaging.custom openpyxl.styles.alignment
    openpyxl.styles.borders openpyxl.styles.cell_style openpyxl.styles.colors openpyxl.styles.fills
    openpyxl.styles.named_styles openpyxl.styles.proxy openpyxl.styles.styleable openpyxl.utils.bound_dictionary
    openpyxl.workbook.defined_name openpyxl.worksheet._reader openpyxl.worksheet.cell_range
    openpyxl.worksheet.copier openpyxl.worksheet.dimensions openpyxl.worksheet.formula
    openpyxl.worksheet.header_footer openpyxl.worksheet.merge
    yaml.constructor yaml.events
    yaml.tokens bs4.element html5lib.filters.base html5lib.serializer html5lib.treewalkers.etree
    html5lib.treewalkers.etree_lxml lxml.html _plotly_utils.basevalidators plotly.express.trendline_functions
    soupsieve.css_types xlrd.biffh xlrd.formatting
    statsmodels.base._screening statsmodels.base.data statsmodels.base.elastic_net statsmodels.base.model
    statsmodels.base.wrapper statsmodels.discrete.discrete_model statsmodels.formula._manager
    statsmodels.gam.generalized_additive_model statsmodels.genmod.generalized_estimating_equations
    statsmodels.graphics.regressionplots statsmodels.iolib.openfile statsmodels.iolib.summary
    statsmodels.regression.linear_model statsmodels.regression.recursive_ls statsmodels.stats._lilliefors
    statsmodels.stats.base statsmodels.stats.contrast statsmodels.stats.oneway statsmodels.stats.outliers_influence
    statsmodels.tools._decorators statsmodels.tsa.ar_model statsmodels.tsa.ardl.model statsmodels.tsa.arima.model
    statsmodels.tsa.exponential_smoothing.ets statsmodels.tsa.innovations.arma_innovations
    statsmodels.tsa.regime_switching.markov_switching statsmodels.tsa.statespace.dynamic_factor_mq
    statsmodels.tsa.statespace.kalman_filter statsmodels.tsa.statespace.kalman_smoother
    statsmodels.tsa.statespace.mlemodel statsmodels.tsa.statespace.representation statsmodels.tsa.statespace.sarimax
    statsmodels.tsa.statespace.structural statsmodels.tsa.stattools._arma_order_selection
    statsmodels.tsa.vector_ar.var_model statsmodels.tsa.x13
"""
READERS: Final = frozenset(_READERS.split())
"""Modules that read or set attributes by names that they do not spell: their `getattr` is guarded (`library_reads`)."""

WRITERS: Final = (
    "argparse",
    "configparser",
    "sklearn.base",
    "openpyxl.descriptors.base",
    "openpyxl.descriptors.serialisable",
    "openpyxl.packaging.custom",
    "openpyxl.styles.proxy",
    "openpyxl.styles.styleable",
    "openpyxl.utils.bound_dictionary",
    "statsmodels.base.model",
    "statsmodels.discrete.discrete_model",
    "statsmodels.regression.linear_model",
    "statsmodels.regression.recursive_ls",
    "statsmodels.tools._decorators",
    "statsmodels.tsa.exponential_smoothing.ets",
    "statsmodels.tsa.regime_switching.markov_switching",
    "statsmodels.tsa.statespace.dynamic_factor_mq",
    "statsmodels.tsa.statespace.kalman_filter",
    "statsmodels.tsa.statespace.kalman_smoother",
    "statsmodels.tsa.statespace.mlemodel",
    "statsmodels.tsa.statespace.representation",
    "statsmodels.tsa.statespace.sarimax",
    "statsmodels.tsa.statespace.structural",
)
"""Modules that set attributes of objects which the program gives, by names which it gives: their `setattr` too."""

JUDGED: Final[dict[str, str]] = {
    "the name comes from a table, a signature or a class of the library's own": """
        PIL.Image:_import_plugin_for_extension PIL.Image:init abc:update_abstractmethods functools:total_ordering
        gettext:NullTranslations.install
        tarfile:TarInfo._apply_pax_info
        inspect:_findclass inspect:_finddoc inspect:_signature_get_user_defined_method inspect:isabstract
        matplotlib:_check_versions matplotlib._api:*
        matplotlib._api.deprecation:* matplotlib.inset:InsetIndicator.* matplotlib.backends.backend_mixed:*
        matplotlib.backends.backend_pdf:* matplotlib.backends.backend_cairo:* numpy._core.function_base:add_newdoc
        numpy.char:__getattr__ scipy.special._ufunc_tools:_with_cache_optimization
        numpy.core.*:* pandas:* pandas.compat._optional:import_optional_dependency scipy._lib.deprecation:*
        scipy._lib.doccer:* scipy.odr.*:__getattr__ scipy.optimize._optimize:show_options
        scipy.stats._distn_infrastructure: seaborn.utils:_get_transform_functions
        sklearn.utils._set_output:check_library_installed sklearn.utils.discovery:* sympy.abc: sympy:__sympy_debug
        sympy.external.importtools:* sympy.core.cache:* sympy.polys.polyconfig:configure sympy.codegen.ast:Token.*
        sympy.utilities.codegen:* sympy.polys.monomials:MonomialOps._build sympy.polys.ring_series:_rs_series
        bs4._deprecation:* bs4.builder:register_treebuilders_from bs4.element:Tag.copy_self
        html5lib._inputstream: html5lib._utils: soupsieve.css_parser:_SelectorContext.debug xlrd.book:Book.handle_name
        xlrd.formatting:* xlrd.sheet:Sheet.*
        plotly.basedatatypes:BasePlotlyType._prop_set_child plotly.express._core:apply_default_cascade
        plotly.validator_cache:* _plotly_utils.importers:* _plotly_utils.optional_imports:* _plotly_utils.png:*
        networkx.lazy_imports:* networkx.utils.backends:*
        pyarrow:_filesystem_is_available
        sympy.utilities.lambdify:_import scipy.fft._debug_backends:* tqdm.*:*
        patsy:_reexport patsy.eval:_all_future_flags patsy.util: patsy.eval:
    """,
    "the name is one that the compiler has read, or that the guard of `__getattr__` has": """
        codecs:* tempfile:_TemporaryFileWrapper.__getattr__ matplotlib.dates:rrulewrapper.__getattr__
        scipy._lib._bunch:*
    """,
    "the dict is read for names or text, written to, or compared, and nobody is given it": """
        enum:* typing:Protocol.* networkx.*:* openpyxl.*:* xlrd.*:* bs4:* plotly.io.*:* mpmath.ctx_*:*
        typing:_get_protocol_attrs typing:_proto_hook
        numpy.ma.*:* numpy.lib._polynomial_impl:poly1d.__init__
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
    "a copy of the same class, whose class is the only one that could be asked for another": """
        collections:UserDict.__copy__ collections:UserList.__copy__ matplotlib.colors:*.__copy__
        matplotlib.font_manager:FontProperties.__copy__ matplotlib.transforms:TransformNode.__copy__
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
        PIL.ImageFile:StubImageFile.load
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
        sympy.utilities.source:* warnings:_getcategory patsy.compat_ordereddict:* patsy.*:test_*
        statsmodels.tools._test_runner:* statsmodels.sandbox.*:* statsmodels.treatment.*:*
    """,
}
"""Why a place outside `READERS` is harmless → the places, as ``module:function``; ``*`` is all of a module or class."""

_FORMATTERS: Final = """
    matplotlib.artist:Artist._update_props matplotlib.axes._axes:Axes.pie_label matplotlib.cbook:_auto_format_str
    openpyxl.chart._chart:ChartBase.path openpyxl.comments.comment_sheet:CommentSheet.path
    openpyxl.drawing.image:Image.path openpyxl.drawing.spreadsheet_drawing:SpreadsheetDrawing.path
    openpyxl.pivot.cache:CacheDefinition.path openpyxl.pivot.record:RecordList.path
    openpyxl.pivot.table:TableDefinition.path openpyxl.workbook.child:_WorkbookChild.path
    openpyxl.workbook.external_link.external:ExternalLink.path openpyxl.worksheet.table:Table.path
    pandas.core.arrays.arrow.accessors:ArrowAccessor._validate
    pandas.io.formats.format:DataFrameFormatter._validate_float_format pandas.io.formats.style:Styler._apply
    pandas.io.formats.style_render:StylerRenderer.relabel_index
    pandas.io.formats.style_render:_maybe_wrap_formatter plotly.figure_factory.utils:list_of_options
    seaborn.axisgrid:FacetGrid.set_titles seaborn.matrix:_HeatMapper._annotate_heatmap
    sklearn.compose._column_transformer:_feature_names_out_with_str_format
    sklearn.ensemble._gb:VerboseReporter.update
    sklearn.utils._repr_html.base:_HTMLDocumentationLinkMixin._get_doc_link
    statsmodels.iolib.table:Row.as_string statsmodels.iolib.table:SimpleTable._get_colwidths
    sympy.printing.c:C89CodePrinter._print_Print sympy.printing.fortran:FCodePrinter._print_Print
    tqdm.std:tqdm.format_meter
"""
FORMATTERS: Final = frozenset(_FORMATTERS.split())
"""Functions that format any object by a template which a program gives or stores: their `format` is the guarded one."""

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

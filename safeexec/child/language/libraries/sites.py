"""Where libraries turn text into attributes, modules and code, or format by templates, and get our functions for it.

The list is made from the source of what is installed (``python -m tests.search.sites``). A test fails when a version of
a library adds a place that is neither here nor judged to be harmless (`tests/search/judged.py`).
"""

from __future__ import annotations

from typing import Final

_LIBRARIES: Final = """
    numpy pandas scipy sklearn sympy mpmath matplotlib mpl_toolkits seaborn PIL dateutil tqdm yaml openpyxl networkx
    xlrd bs4 soupsieve html5lib lxml plotly _plotly_utils pyarrow statsmodels patsy narwhals pyparsing joblib
    tabulate pytz typing_extensions cssselect cycler contourpy kiwisolver six threadpoolctl cloudpickle packaging
    wcwidth webencodings
"""
LIBRARIES: Final = frozenset(_LIBRARIES.split())
"""Libraries whose source these lists were made from, beside the standard library."""

_MAKERS: Final = """
    ast:parse collections:namedtuple dataclasses:_FuncBuilder.add_fns_to_class dataclasses:_create_fn gettext:c2py
    importlib._bootstrap:FrozenImporter.exec_module importlib._bootstrap:_call_with_frames_removed types:coroutine
    _plotly_utils.basevalidators:InfoArrayValidator.build_validator mpmath.ctx_mp_python:binary_op
    mpmath.libmp.backend:exec_ mpmath.libmp.libhyper:make_hyp_summator
    networkx.algorithms.isomorphism.matchhelpers:copyfunc networkx.utils.decorators:argmap.compile
    scipy._external.array_api_compat._internal:clone_module scipy._lib._bunch:_make_tuple_bunch
    scipy._lib.array_api_compat._internal:clone_module sklearn.externals.array_api_compat._internal:clone_module
    scipy.optimize._nonlin:_nonlin_wrapper scipy.special._ufunc_tools:_with_cache_optimization six:exec_
    sympy.external.importtools:__sympy_debug sympy.polys.monomials:MonomialOps._build sympy:__sympy_debug
    sympy.polys.ring_series:_rs_series sympy.utilities.lambdify:_import
"""
MAKERS: Final = frozenset(_MAKERS.split())
"""Functions that make code: of text that they write or have checked, or of modules that are loaded. No other function
of the standard library and of `LIBRARIES` may (`code_makers`).
"""

_READERS: Final = """
    PIL.Image PIL.ImageDraw2 PIL.ImageMath PIL.TiffImagePlugin dateutil.parser._parser dateutil.relativedelta
    dateutil.rrule dateutil.tz._tzfile matplotlib._mathtext matplotlib.artist matplotlib.axes._axes
    matplotlib._api matplotlib._api.deprecation matplotlib.backends.backend_mixed matplotlib.backends.backend_pdf
    matplotlib.axes._base matplotlib.axis matplotlib.backend_bases matplotlib.backend_tools matplotlib.cbook
    matplotlib.colorbar matplotlib.colors matplotlib.dates matplotlib.figure matplotlib.font_manager matplotlib.gridspec
    matplotlib.inset
    matplotlib.legend matplotlib.lines matplotlib.markers matplotlib.path matplotlib.patheffects matplotlib.pyplot
    matplotlib.spines matplotlib.transforms matplotlib.widgets mpl_toolkits.axes_grid1.axes_size
    mpl_toolkits.axes_grid1.mpl_axes mpl_toolkits.axisartist.grid_finder
    mpmath.calculus.calculus mpmath.ctx_base mpmath.ctx_fp mpmath.ctx_iv
    mpmath.ctx_mp_python mpmath.identification mpmath.functions.elliptic mpmath.functions.functions
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
    pandas.plotting._matplotlib.converter pandas.plotting._matplotlib.timeseries scipy._lib._uarray._backend
    scipy.fft._backend
    scipy.fft._basic_backend scipy.interpolate._rbf scipy.io._fast_matrix_market scipy.io._mmio scipy.linalg.blas
    scipy.ndimage._support_alternative_backends scipy.odr._odrpack scipy.optimize._differentialevolution
    scipy.optimize._highspy._highs_wrapper scipy.optimize._nonlin scipy.optimize._optimize
    scipy.optimize._root_scalar scipy.signal._support_alternative_backends scipy.sparse._base scipy.sparse._bsr
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
    sympy.assumptions.facts sympy.assumptions.wrapper sympy.combinatorics.fp_groups sympy.codegen.ast
    sympy.combinatorics.free_groups
    sympy.core.assumptions sympy.core.basic sympy.core.cache sympy.core.core sympy.core.decorators sympy.core.expr
    sympy.core.facts sympy.core.function sympy.core.numbers sympy.core.operations sympy.core.parameters
    sympy.core.singleton
    sympy.core.symbol sympy.functions.elementary.hyperbolic sympy.functions.elementary.piecewise
    sympy.functions.elementary.trigonometric sympy.integrals.risch sympy.matrices.matrixbase
    sympy.parsing.sympy_parser sympy.physics.quantum.qexpr sympy.physics.units sympy.physics.vector.printing
    sympy.plotting.backends.base_backend sympy.plotting.series sympy.polys.domains.domain sympy.polys.fields
    sympy.polys.polyoptions sympy.polys.polytools sympy.polys.polyutils sympy.polys.ring_series sympy.polys.rings
    sympy.polys.rootoftools sympy.printing.c sympy.printing.codeprinter sympy.printing.cxx sympy.printing.lambdarepr
    sympy.printing.latex sympy.printing.numpy sympy.printing.printer sympy.printing.pycode sympy.printing.python
    sympy.printing.rust sympy.utilities.codegen sympy.utilities.decorator sympy.vector.coordsysrect argparse ast
    configparser
    codecs email._policybase email.generator email.message enum functools inspect pprint reprlib string tarfile tempfile
    typing xml.dom.expatbuilder xml.dom.minicompat xml.dom.xmlbuilder xml.sax.saxutils tqdm.utils
    networkx.readwrite.text networkx.utils.backends networkx.utils.configs openpyxl.cell.read_only
    openpyxl.chart.plotarea
    openpyxl.descriptors.base openpyxl.descriptors.serialisable openpyxl.packaging.custom openpyxl.styles.alignment
    openpyxl.styles.borders openpyxl.styles.cell_style openpyxl.styles.colors openpyxl.styles.fills
    openpyxl.styles.named_styles openpyxl.styles.proxy openpyxl.styles.styleable openpyxl.utils.bound_dictionary
    openpyxl.workbook.defined_name openpyxl.worksheet._reader openpyxl.worksheet.cell_range
    openpyxl.worksheet.copier openpyxl.worksheet.dimensions openpyxl.worksheet.formula
    openpyxl.worksheet.header_footer openpyxl.worksheet.merge
    yaml.constructor yaml.events
    yaml.tokens bs4._deprecation bs4.element html5lib.filters.base html5lib.serializer
    html5lib.treewalkers.etree html5lib.treewalkers.etree_lxml lxml.html _plotly_utils.basevalidators
    plotly.express.trendline_functions tabulate
    soupsieve.css_types xlrd.biffh xlrd.formatting
    statsmodels.base._screening statsmodels.base.covtype statsmodels.base.data statsmodels.base.elastic_net
    statsmodels.base.model
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
"""Modules that read or set attributes by names that they do not spell: their `getattr`, `setattr` and `delattr` are
guarded (`reads`).
"""

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

_OF_ITS_KIND: Final = """
    PIL.ImageFile:StubImageFile.load argparse:_AttributeHolder._get_kwargs bs4:BeautifulSoup.__getstate__
    bs4:BeautifulSoup.__setstate__ collections:UserDict.__copy__ collections:UserList.__copy__
    dateutil.rrule:rrulebase.__setstate__ dateutil.tz._tzfile:tzfile.__reduce_ex__
    joblib.memory:MemorizedFunc.__getstate__ joblib.memory:MemorizedResult.__getstate__
    joblib.memory:Memory.__getstate__ matplotlib.artist:Artist.__getstate__
    matplotlib.axes._base:_AxesBase.__setstate__ matplotlib.backend_bases:PickEvent.__init__
    matplotlib.cbook:CallbackRegistry.__getstate__ matplotlib.cbook:CallbackRegistry.__setstate__
    matplotlib.cbook:Grouper.__getstate__ matplotlib.cbook:Grouper.__setstate__ matplotlib.colors:BivarColormap.__copy__
    matplotlib.colors:Colormap.__copy__ matplotlib.colors:MultivarColormap.__copy__
    matplotlib.contour:ContourSet.__getstate__ matplotlib.dates:rrulewrapper.__setstate__
    matplotlib.figure:Figure.__setstate__ matplotlib.figure:_AxesStack.__getstate__
    matplotlib.figure:_AxesStack.__setstate__ matplotlib.font_manager:FontProperties.__copy__
    matplotlib.gridspec:SubplotParams.to_dict matplotlib.path:Path.__deepcopy__
    matplotlib.transforms:TransformNode.__copy__ matplotlib.transforms:TransformNode.__getstate__
    matplotlib.transforms:TransformNode.__setstate__ numpy.ma.core:MaskedArray._update_from
    numpy.polynomial._polybase:ABCPolyBase.__getstate__ numpy.polynomial._polybase:ABCPolyBase.__setstate__
    networkx.classes.reportviews:DiDegreeView.__getstate__ networkx.classes.reportviews:DiDegreeView.__setstate__
    openpyxl.worksheet.dimensions:Dimension.__copy__ pandas.core.arrays.arrow.array:ArrowExtensionArray.__getstate__
    pandas.core.arrays.arrow.array:ArrowExtensionArray.__setstate__
    pandas.core.arrays.sparse.array:SparseArray.__setstate__ pandas.core.generic:NDFrame.__setstate__
    pandas.io.pytables:IndexCol.set_info
    pyparsing.core:ParserElement.__eq__
    scipy.integrate._quad_vec:_Bunch.__init__ scipy.interpolate._fitpack_repro:Bunch.__init__
    scipy.interpolate._interpolate:BPoly.__getstate__ scipy.interpolate._interpolate:BPoly.__setstate__
    scipy.interpolate._interpolate:PPoly.__getstate__ scipy.interpolate._interpolate:PPoly.__setstate__
    scipy.io._netcdf:netcdf_file.__setattr__ scipy.io._netcdf:netcdf_variable.__init__
    scipy.io._netcdf:netcdf_variable.__setattr__ scipy.odr._odrpack:Output.__init__
    scipy.optimize._shgo_lib._vertex:VertexCacheField.__getstate__ scipy.signal._ltisys:Bunch.__init__
    scipy.sparse._coo:coo_matrix.__setstate__ scipy.sparse._dok:dok_matrix.set_shape
    scipy.sparse._matrix:spmatrix.set_shape scipy.sparse.linalg._interface:LinearOperator.__getstate__
    scipy.sparse.linalg._interface:LinearOperator.__setstate__
    scipy.stats._distn_infrastructure:rv_continuous.__getstate__
    scipy.stats._distn_infrastructure:rv_discrete.__getstate__ scipy.stats._distn_infrastructure:rv_generic.__setstate__
    scipy.stats._distn_infrastructure:rv_sample.__getstate__ sklearn.base:BaseEstimator.__getstate__
    sklearn.base:BaseEstimator.__setstate__ sklearn.callback._scoring_monitor:ScoringMonitor.__getstate__
    sklearn.callback._scoring_monitor:ScoringMonitor.__setstate__
    sklearn.ensemble._hist_gradient_boosting.predictor:TreePredictor.__setstate__
    statsmodels.base._constraints:LinearConstraints.__init__
    statsmodels.base._prediction_inference:PredictionResultsBase.__init__
    statsmodels.base._screening:ScreeningResults.__init__ statsmodels.base.data:ModelData.__getstate__
    statsmodels.base.data:ModelData.__init__ statsmodels.base.data:ModelData.__setstate__
    statsmodels.base.model:GenericLikelihoodModel.__init__ statsmodels.base.model:Results.__init__
    statsmodels.base.wrapper:ResultsWrapper.__getstate__ statsmodels.base.wrapper:ResultsWrapper.__setstate__
    statsmodels.discrete.discrete_model:DiscreteResults.__getstate__
    statsmodels.discrete.discrete_model:NegativeBinomial.__getstate__
    statsmodels.discrete.discrete_model:NegativeBinomial.__setstate__
    statsmodels.genmod.generalized_estimating_equations:GEEResults.__init__
    statsmodels.graphics.functional:HdrResults.__init__ statsmodels.stats._diagnostic_other:ResultsGeneric.__init__
    statsmodels.stats.meta_analysis:CombineResults.__init__ statsmodels.tsa.x13:Spec.set_options
    sympy.core.parameters:_global_parameters.__init__ sympy.physics.quantum.circuitplot:CircuitPlot.update
    sympy.polys.rings:PolyRing.__getstate__ tqdm.utils:ObjectWrapper.wrapper_setattr xlrd.biffh:BaseObject.dump
    xlrd.formatting:EqNeAttrs.__eq__ xlrd.formatting:EqNeAttrs.__ne__
"""
OF_ITS_KIND: Final = frozenset(_OF_ITS_KIND.split())
"""Methods that read or write the ``__dict__`` of their object, of any names, or set attributes of it whatever its own
class says: they are for the objects of the class that has them (`methods`).
"""

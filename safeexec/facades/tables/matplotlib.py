"""matplotlib: figures. The backend is Agg. Out: windows, movie programs, style files by path."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FILES, INTERNAL, INTERPRETER, MACHINE, PROCESS

TABLES = {
    "matplotlib": Table(
        """
            bivar_colormaps color_sequences colormaps get_backend interactive is_interactive
            MatplotlibDeprecationWarning multivar_colormaps rc rc_context rcdefaults RcParams rcParams rcParamsDefault
            rcParamsOrig set_loglevel use
        """,
        refuse={
            "rc_file rc_file_defaults rc_params rc_params_from_file": FILES,
            "defaultParams": INTERNAL,
            "get_cachedir get_configdir get_data_path matplotlib_fname": MACHINE,
            "ExecutableNotFoundError": PROCESS,
        },
        internal="cycler MutableMapping namedtuple Parameter parse_version Path sanitize_sequence validate_backend",
    ),
    "matplotlib.pyplot": Table(
        """
            acorr angle_spectrum annotate Annotation annotations Arrow arrow Artist AutoLocator autoscale autumn Axes
            axes axhline axhspan axis AxLine axline axvline axvspan bar bar_label barbs barh bone box boxplot
            broken_barh Button cast Circle cla clabel clf clim close cohere color_sequences colorbar Colorizer
            Colormap colormaps connect contour contourf cool copper csd cycler delaxes disconnect draw draw_all
            draw_if_interactive ecdf errorbar eventplot figaspect figimage figlegend fignum_exists figtext Figure
            figure FigureCanvasBase fill fill_between fill_betweenx findobj FixedFormatter FixedLocator flag
            FormatStrFormatter Formatter FuncFormatter gca gcf gci get get_backend get_cmap get_figlabels get_fignums
            get_plot_commands get_scale_names getp gray grid GridSpec grouped_bar hexbin hist hist2d hlines hot hsv
            imshow IndexLocator inferno interactive ioff ion isinteractive jet legend Line2D LinearLocator Locator
            locator_params LogFormatter LogFormatterExponent LogFormatterMathtext LogLocator loglog magma
            magnitude_spectrum margins matshow MaxNLocator minorticks_off minorticks_on MouseButton MultipleLocator
            nipy_spectral Normalize NullFormatter NullLocator pause pcolor pcolormesh phase_spectrum pie pie_label
            pink plasma plot polar PolarAxes Polygon prism psd quiver quiverkey rc rc_context rcdefaults rcParams
            rcParamsDefault rcParamsOrig Rectangle rgrids savefig sca ScalarFormatter scatter sci semilogx semilogy
            set_cmap set_loglevel setp show Slider specgram spring spy stackplot stairs stem step streamplot Subplot
            subplot subplot2grid subplot_mosaic subplots subplots_adjust SubplotSpec summer suptitle switch_backend
            table Text text thetagrids tick_params ticklabel_format tight_layout title tricontour tricontourf tripcolor
            triplot twinx twiny violinplot viridis vlines Widget winter xcorr xkcd xlabel xlim xscale xticks ylabel
            ylim yscale yticks
        """,
        files="imread imsave",
        refuse={
            "ginput subplot_tool waitforbuttonpress": DISPLAY,
            "install_repl_displayhook uninstall_repl_displayhook": INTERPRETER,
        },
        internal="""
            AbstractContextManager available_backends backend_registry BackendFilter ColorizingArtist Enum ExitStack
            FigureBase FigureManagerBase get_current_fig_manager IO new_figure_manager overload requested_backend
            TickHelper TYPE_CHECKING
        """,
        aliases={
            "cm": "matplotlib.cm",
            "matplotlib": "matplotlib",
            "mlab": "matplotlib.mlab",
            "style": "matplotlib.style",
        },
        note="plt.cm.viridis and plt.style.use are how programs reach these two.",
    ),
    "matplotlib.animation": Table(
        "AbstractMovieWriter Animation ArtistAnimation FuncAnimation PillowWriter TimedAnimation writers",
        refuse={
            "HTMLWriter": FILES,
            "adjusted_figsize BytesIO DISPLAY_TEMPLATE INCLUDED_FRAMES JS_INCLUDE Path STYLE_INCLUDE "
            "TemporaryDirectory TextIOWrapper": INTERNAL,
            "FFMpegBase FFMpegFileWriter FFMpegWriter FileMovieWriter ImageMagickBase ImageMagickFileWriter "
            "ImageMagickWriter MovieWriter MovieWriterRegistry subprocess_creation_flags": PROCESS,
        },
    ),
    "matplotlib.artist": Table(
        "Artist get getp setp",
        refuse={
            "allow_rasterization ArtistInspector Bbox BboxBase cache IdentityTransform kwdoc namedtuple Number "
            "Parameter Path Real reduce Signature Transform TransformedBbox TransformedPatchPath "
            "TransformedPath wraps": INTERNAL,
        },
    ),
    "matplotlib.axes._axes": Table(
        "Axes",
        internal=("BarContainer ErrorbarContainer Integral Number PieContainer Real SecondaryAxis StemContainer Text"),
    ),
    "matplotlib.container": Table(
        "BarContainer Container ErrorbarContainer PieContainer StemContainer",
        internal="Artist",
    ),
    "matplotlib.axes": Table(
        "Axes Subplot",
        refuse={
            "subplot_class_factory SubplotBase": INTERNAL,
        },
    ),
    "matplotlib.cm": Table(
        """
            Accent Accent_r afmhot afmhot_r autumn autumn_r berlin berlin_r binary binary_r bivar_cmaps Blues Blues_r
            bone bone_r BrBG BrBG_r brg brg_r BuGn BuGn_r BuPu BuPu_r bwr bwr_r cividis cividis_r cmaps_listed CMRmap
            CMRmap_r ColormapRegistry cool cool_r coolwarm coolwarm_r copper copper_r cubehelix cubehelix_r Dark2
            Dark2_r datad flag flag_r gist_earth gist_earth_r gist_gray gist_gray_r gist_grey gist_grey_r gist_heat
            gist_heat_r gist_ncar gist_ncar_r gist_rainbow gist_rainbow_r gist_stern gist_stern_r gist_yarg
            gist_yarg_r gist_yerg gist_yerg_r GnBu GnBu_r gnuplot gnuplot2 gnuplot2_r gnuplot_r gray gray_r Grays
            Grays_r Greens Greens_r grey grey_r Greys Greys_r hot hot_r hsv hsv_r inferno inferno_r jet jet_r magma
            magma_r managua managua_r Mapping multivar_cmaps nipy_spectral nipy_spectral_r ocean ocean_r okabe_ito
            okabe_ito_r Oranges Oranges_r OrRd OrRd_r Paired Paired_r Pastel1 Pastel1_r Pastel2 Pastel2_r pink pink_r
            PiYG PiYG_r plasma plasma_r PRGn PRGn_r prism prism_r PuBu PuBu_r PuBuGn PuBuGn_r PuOr PuOr_r PuRd PuRd_r
            Purples Purples_r rainbow rainbow_r RdBu RdBu_r RdGy RdGy_r RdPu RdPu_r RdYlBu RdYlBu_r RdYlGn RdYlGn_r
            Reds Reds_r ScalarMappable seismic seismic_r Set1 Set1_r Set2 Set2_r Set3 Set3_r Spectral Spectral_r
            spring spring_r summer summer_r tab10 tab10_r tab20 tab20_r tab20b tab20b_r tab20c tab20c_r terrain
            terrain_r turbo turbo_r twilight twilight_r twilight_shifted twilight_shifted_r vanimo vanimo_r viridis
            viridis_r winter winter_r Wistia Wistia_r YlGn YlGn_r YlGnBu YlGnBu_r YlOrBr YlOrBr_r YlOrRd YlOrRd_r
        """,
        aliases={"colors": "matplotlib.colors"},
    ),
    "matplotlib.collections": Table(
        """
            AsteriskPolygonCollection CircleCollection Collection EllipseCollection EventCollection
            FillBetweenPolyCollection LineCollection PatchCollection PathCollection PolyCollection PolyQuadMesh
            QuadMesh RegularPolyCollection StarPolygonCollection TriMesh
        """,
        refuse={
            "CapStyle JoinStyle Number Real": INTERNAL,
        },
    ),
    "matplotlib.colorbar": Table(
        "Colorbar ColorbarBase make_axes make_axes_gridspec",
    ),
    "matplotlib.colors": Table(
        """
            AsinhNorm BASE_COLORS BivarColormap BivarColormapFromImage BoundaryNorm CenteredNorm cnames ColorConverter
            colorConverter Colormap ColorSequenceRegistry CSS4_COLORS from_levels_and_colors FuncNorm
            get_named_colors_mapping hex2color hexColorPattern hsv_to_rgb is_color_like LightSource
            LinearSegmentedColormap ListedColormap LogNorm make_norm_from_scale MultiNorm MultivarColormap NoNorm Norm
            Normalize PowerNorm rgb2hex rgb_to_hsv same_color SegmentedBivarColormap SymLogNorm TABLEAU_COLORS to_hex
            to_rgb to_rgba to_rgba_array TwoSlopeNorm XKCD_COLORS
        """,
        internal="ABC abstractmethod Mapping PngInfo Real Sequence",
    ),
    "matplotlib.dates": Table(
        """
            AutoDateFormatter AutoDateLocator ConciseDateConverter ConciseDateFormatter DAILY date2num DateConverter
            DateFormatter DateLocator datestr2num DayLocator drange FR get_epoch HourLocator HOURLY MicrosecondLocator
            MICROSECONDLY MinuteLocator MINUTELY MO MonthLocator MONTHLY num2date num2timedelta relativedelta rrule
            RRuleLocator rrulewrapper SA SecondLocator SECONDLY set_epoch SU TH TU WE WeekdayLocator WEEKLY
            YearLocator YEARLY
        """,
        internal="""
            DAYS_PER_MONTH DAYS_PER_WEEK DAYS_PER_YEAR EPOCH_OFFSET FRIDAY HOURS_PER_DAY MIN_PER_HOUR MINUTES_PER_DAY
            MONDAY MONTHS_PER_YEAR MUSECONDS_PER_DAY SATURDAY SEC_PER_DAY SEC_PER_HOUR SEC_PER_MIN SEC_PER_WEEK SUNDAY
            THURSDAY TUESDAY UTC WEDNESDAY WEEKDAYS
        """,
    ),
    "matplotlib.figure": Table(
        "figaspect Figure FigureBase SubFigure SubplotParams",
        refuse={
            "Affine2D allow_rasterization Artist Axes Bbox BboxTransformTo ConstrainedLayoutEngine DrawEvent "
            "ExitStack FigureCanvasBase GridSpec Integral LayoutEngine MouseButton NonGuiException "
            "PlaceHolderLayoutEngine Rectangle Text TightLayoutEngine TransformedBbox": INTERNAL,
        },
    ),
    "matplotlib.gridspec": Table(
        "GridSpec GridSpecBase GridSpecFromSubplotSpec SubplotParams SubplotSpec",
        refuse={
            "Bbox Integral": INTERNAL,
        },
    ),
    "matplotlib.legend": Table(
        "DraggableLegend Legend",
        refuse={
            "allow_rasterization AnchoredOffsetbox Artist BarContainer Bbox BboxBase BboxTransformFrom "
            "BboxTransformTo CircleCollection Collection DraggableOffsetBox DrawingArea ErrorbarContainer "
            "FancyBboxPatch FontProperties HPacker Line2D LineCollection Patch PatchCollection PathCollection "
            "PolyCollection Rectangle RegularPolyCollection Shadow silent_list StemContainer StepPatch Text "
            "TextArea TransformedBbox VPacker": INTERNAL,
        },
    ),
    "matplotlib.lines": Table(
        """
            AxLine CARETDOWN CARETDOWNBASE CARETLEFT CARETLEFTBASE CARETRIGHT CARETRIGHTBASE CARETUP CARETUPBASE
            drawStyles fillStyles Line2D lineMarkers lineStyles TICKDOWN TICKLEFT TICKRIGHT TICKUP VertexSelector
        """,
        refuse={
            "allow_rasterization Artist Bbox BboxTransformTo CapStyle Integral JoinStyle ls_mapper ls_mapper_r "
            "MarkerStyle Number Path Real segment_hits STEP_LOOKUP_MAP TransformedPath": INTERNAL,
        },
    ),
    "matplotlib.markers": Table(
        """
            CARETDOWN CARETDOWNBASE CARETLEFT CARETLEFTBASE CARETRIGHT CARETRIGHTBASE CARETUP CARETUPBASE MarkerStyle
            TICKDOWN TICKLEFT TICKRIGHT TICKUP
        """,
        refuse={
            "Affine2D CapStyle Hashable IdentityTransform JoinStyle Path Sized": INTERNAL,
        },
    ),
    "matplotlib.patches": Table(
        """
            Annulus Arc Arrow ArrowStyle BoxStyle Circle CirclePolygon ConnectionPatch ConnectionStyle Ellipse
            FancyArrow FancyArrowPatch FancyBboxPatch Patch PathPatch Polygon Rectangle RegularPolygon Shadow
            StepPatch Wedge
        """,
        refuse={
            "Affine2D bbox_artist CapStyle draw_bbox get_cos_sin get_intersection get_parallels inside_circle "
            "JoinStyle make_wedged_bezier2 namedtuple NonIntersectingPathException Number Path Real "
            "SimpleNamespace split_bezier_intersecting_with_closedpath split_path_inout": INTERNAL,
        },
    ),
    "matplotlib.path": Table(
        "get_path_collection_extents Path",
        refuse={
            "BezierSegment lru_cache simple_linear_interpolation WeakValueDictionary": INTERNAL,
        },
    ),
    "matplotlib.patheffects": Table(
        """
            AbstractPathEffect Normal PathEffectRenderer PathPatchEffect SimpleLineShadow SimplePatchShadow Stroke
            TickedStroke withSimplePatchShadow withStroke withTickedStroke
        """,
        refuse={
            "Path RendererBase": INTERNAL,
        },
    ),
    "matplotlib.style": Table(
        "available context library use",
        refuse={
            "reload_library": FILES,
        },
        internal="""
            Path rc_params_from_file rcParamsDefault read_style_directory update_nested_dict update_user_library
            USER_LIBRARY_PATHS
        """,
    ),
    "matplotlib.ticker": Table(
        """
            AsinhLocator AutoLocator AutoMinorLocator EngFormatter FixedFormatter FixedLocator FormatStrFormatter
            Formatter FuncFormatter IndexLocator LinearLocator Locator LogFormatter LogFormatterExponent
            LogFormatterMathtext LogFormatterSciNotation LogitFormatter LogitLocator LogLocator MaxNLocator
            MultipleLocator NullFormatter NullLocator PercentFormatter ScalarFormatter StrMethodFormatter
            SymmetricalLogLocator TickHelper
        """,
        internal="Integral scale_range",
    ),
    "matplotlib.transforms": Table(
        """
            Affine2D Affine2DBase affine_transform AffineBase AffineDeltaTransform Bbox BboxBase BboxTransform
            BboxTransformFrom BboxTransformTo blended_transform_factory BlendedAffine2D BlendedGenericTransform
            composite_transform_factory CompositeAffine2D CompositeGenericTransform count_bboxes_overlapping_bbox
            IdentityTransform interval_contains interval_contains_open inv LockableBbox nonsingular offset_copy
            ScaledTranslation Transform TransformedBbox TransformedPatchPath TransformedPath TransformNode
            TransformWrapper
        """,
        internal="DEBUG Path",
    ),
    "matplotlib.tri": Table(
        """
            CubicTriInterpolator LinearTriInterpolator TrapezoidMapTriFinder TriAnalyzer Triangulation tricontour
            tricontourf TriContourSet TriFinder TriInterpolator tripcolor triplot TriRefiner UniformTriRefiner
        """,
    ),
    "matplotlib.text": Table(
        "Annotation OffsetFrom Text",
        refuse={
            "Affine2D Artist Bbox BboxBase BboxTransformTo FancyArrowPatch FancyBboxPatch fontManager "
            "FontProperties get_font IdentityTransform Real Rectangle Sequence TextPath TextToPath Transform": INTERNAL,
        },
    ),
    "matplotlib.offsetbox": Table(
        """
            AnchoredOffsetbox AnchoredText AnnotationBbox AuxTransformBox BboxImage DrawingArea HPacker OffsetBox
            OffsetImage PackerBase PaddedBox TextArea VPacker
        """,
        refuse={
            "Bbox BboxBase DEBUG DraggableAnnotation DraggableBase DraggableOffsetBox FancyArrowPatch "
            "FancyBboxPatch FontProperties mbbox_artist TransformedBbox": INTERNAL,
        },
    ),
    "matplotlib.image": Table(
        """
            AxesImage BboxImage composite_images FigureImage interpolations_names NonUniformImage PcolorImage
            pil_to_array resample
        """,
        files="imread imsave thumbnail",
        refuse={
            "Affine2D Bbox BboxBase BboxTransform BboxTransformTo BESSEL BICUBIC BILINEAR BLACKMAN "
            "calculate_rms_and_diff CATROM FigureCanvasBase GAUSSIAN HAMMING HANNING HERMITE IdentityTransform "
            "KAISER LANCZOS MITCHELL NEAREST Path QUADRIC SINC SPLINE16 SPLINE36 TransformedBbox": INTERNAL,
        },
    ),
    "matplotlib.table": Table(
        "Cell CustomCell Table table",
        refuse={
            "allow_rasterization Artist Bbox Path Rectangle Text": INTERNAL,
        },
    ),
    "matplotlib.widgets": Table(
        "AxesWidget Button CheckButtons Cursor RadioButtons RangeSlider Slider TextBox Widget",
        refuse={
            "Affine2D cycler Ellipse EllipseSelector ExitStack Integral Lasso LassoSelector Line2D LockDraw "
            "MultiCursor Number Polygon PolygonSelector Rectangle RectangleSelector SliderBase SpanSelector "
            "SubplotTool ToolHandles ToolLineHandles TransformedPatchPath": INTERNAL,
        },
    ),
    "matplotlib.mlab": Table(
        """
            angle_spectrum cohere complex_spectrum csd detrend detrend_linear detrend_mean detrend_none GaussianKDE
            magnitude_spectrum phase_spectrum psd specgram window_hanning window_none
        """,
        internal="Integral Number",
    ),
    "matplotlib.font_manager": Table(
        "findfont fontManager FontProperties get_font_names",
        refuse={
            "afmFontProperty annotations b64encode BytesIO cache findSystemFonts font_family_aliases "
            "font_scalings FontEntry FontManager FontPath generate_fontconfig_pattern get_font "
            "get_fontext_synonyms Integral is_opentype_cff_font json_dump json_load list_fonts lru_cache "
            "MSFolders MSFontDirectories MSUserFontDirectories OSXFontDirectories parse_fontconfig_pattern Path "
            "stretch_dict ttfFontProperty weight_dict win32FontDirectory X11FontDirectories": FILES,
        },
    ),
    "mpl_toolkits": Table(),
    "mpl_toolkits.mplot3d": Table(
        "Axes3D",
    ),
    "mpl_toolkits.axes_grid1": Table(
        "AxesGrid Divider Grid host_axes host_subplot ImageGrid make_axes_locatable SubplotDivider",
    ),
    "mpl_toolkits.mplot3d.axes3d": Table(
        "Axes3D get_test_data",
        refuse={
            "Axes Bbox defaultdict Triangulation": INTERNAL,
        },
    ),
    "mpl_toolkits.mplot3d.art3d": Table(
        """
            Line3D Line3DCollection Patch3D Patch3DCollection Path3DCollection PathPatch3D Poly3DCollection Text3D
        """,
        refuse={
            "Collection Collection3D collection_2d_to_3d contextmanager get_dir_vector juggle_axes "
            "line_2d_to_3d line_collection_2d_to_3d LineCollection Patch patch_2d_to_3d "
            "patch_collection_2d_to_3d PatchCollection PathCollection pathpatch_2d_to_3d "
            "poly_collection_2d_to_3d PolyCollection rcParams rotate_axes text_2d_to_3d": INTERNAL,
        },
    ),
}

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
    ),
    "matplotlib.pyplot": Table(
        """
            acorr angle_spectrum annotate Annotation annotations Arrow arrow Artist AutoLocator autoscale autumn Axes
            axes axhline axhspan axis AxLine axline axvline axvspan bar bar_label barbs barh bone box boxplot
            broken_barh Button cast Circle cla clabel clf clim close cohere color_sequences colorbar Colorizer Colormap
            colormaps connect contour contourf cool copper csd cycler delaxes disconnect draw draw_all
            draw_if_interactive ecdf errorbar eventplot figaspect figimage figlegend fignum_exists figtext Figure figure
            FigureCanvasBase fill fill_between fill_betweenx findobj FixedFormatter FixedLocator flag FormatStrFormatter
            Formatter FuncFormatter gca gcf gci get get_backend get_cmap get_figlabels get_fignums get_plot_commands
            get_scale_names getp gray grid GridSpec grouped_bar hexbin hist hist2d hlines hot hsv imshow IndexLocator
            inferno interactive ioff ion isinteractive jet legend Line2D LinearLocator Locator locator_params
            LogFormatter LogFormatterExponent LogFormatterMathtext LogLocator loglog magma magnitude_spectrum margins
            matshow MaxNLocator minorticks_off minorticks_on MouseButton MultipleLocator nipy_spectral Normalize
            NullFormatter NullLocator pause pcolor pcolormesh phase_spectrum pie pie_label pink plasma plot polar
            PolarAxes Polygon prism psd quiver quiverkey rc rc_context rcdefaults rcParams rcParamsDefault rcParamsOrig
            Rectangle rgrids savefig sca ScalarFormatter scatter sci semilogx semilogy set_cmap set_loglevel setp show
            Slider specgram spring spy stackplot stairs stem step streamplot Subplot subplot subplot2grid subplot_mosaic
            subplots subplots_adjust SubplotSpec summer suptitle switch_backend table Text text thetagrids tick_params
            ticklabel_format tight_layout title tricontour tricontourf tripcolor triplot twinx twiny violinplot viridis
            vlines Widget winter xcorr xkcd xlabel xlim xscale xticks ylabel ylim yscale yticks
        """,
        files="imread imsave",
        refuse={
            "ginput subplot_tool waitforbuttonpress": DISPLAY,
            "install_repl_displayhook uninstall_repl_displayhook": INTERPRETER,
        },
        internal="available_backends get_current_fig_manager new_figure_manager requested_backend",
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
            "adjusted_figsize DISPLAY_TEMPLATE INCLUDED_FRAMES JS_INCLUDE STYLE_INCLUDE": INTERNAL,
            "FFMpegBase FFMpegFileWriter FFMpegWriter FileMovieWriter ImageMagickBase ImageMagickFileWriter "
            "ImageMagickWriter MovieWriter MovieWriterRegistry subprocess_creation_flags": PROCESS,
        },
    ),
    "matplotlib.artist": Table("Artist get getp setp", refuse={"allow_rasterization ArtistInspector kwdoc": INTERNAL}),
    "matplotlib.axes._axes": Table("Axes"),
    "matplotlib.container": Table("BarContainer Container ErrorbarContainer PieContainer StemContainer"),
    "matplotlib.axes": Table("Axes Subplot", refuse={"subplot_class_factory SubplotBase": INTERNAL}),
    "matplotlib.cm": Table(
        """
            Accent Accent_r afmhot afmhot_r autumn autumn_r berlin berlin_r binary binary_r bivar_cmaps Blues Blues_r
            bone bone_r BrBG BrBG_r brg brg_r BuGn BuGn_r BuPu BuPu_r bwr bwr_r cividis cividis_r cmaps_listed CMRmap
            CMRmap_r ColormapRegistry cool cool_r coolwarm coolwarm_r copper copper_r cubehelix cubehelix_r Dark2
            Dark2_r datad flag flag_r gist_earth gist_earth_r gist_gray gist_gray_r gist_grey gist_grey_r gist_heat
            gist_heat_r gist_ncar gist_ncar_r gist_rainbow gist_rainbow_r gist_stern gist_stern_r gist_yarg gist_yarg_r
            gist_yerg gist_yerg_r GnBu GnBu_r gnuplot gnuplot2 gnuplot2_r gnuplot_r gray gray_r Grays Grays_r Greens
            Greens_r grey grey_r Greys Greys_r hot hot_r hsv hsv_r inferno inferno_r jet jet_r magma magma_r managua
            managua_r Mapping multivar_cmaps nipy_spectral nipy_spectral_r ocean ocean_r okabe_ito okabe_ito_r Oranges
            Oranges_r OrRd OrRd_r Paired Paired_r Pastel1 Pastel1_r Pastel2 Pastel2_r pink pink_r PiYG PiYG_r plasma
            plasma_r PRGn PRGn_r prism prism_r PuBu PuBu_r PuBuGn PuBuGn_r PuOr PuOr_r PuRd PuRd_r Purples Purples_r
            rainbow rainbow_r RdBu RdBu_r RdGy RdGy_r RdPu RdPu_r RdYlBu RdYlBu_r RdYlGn RdYlGn_r Reds Reds_r
            ScalarMappable seismic seismic_r Set1 Set1_r Set2 Set2_r Set3 Set3_r Spectral Spectral_r spring spring_r
            summer summer_r tab10 tab10_r tab20 tab20_r tab20b tab20b_r tab20c tab20c_r terrain terrain_r turbo turbo_r
            twilight twilight_r twilight_shifted twilight_shifted_r vanimo vanimo_r viridis viridis_r winter winter_r
            Wistia Wistia_r YlGn YlGn_r YlGnBu YlGnBu_r YlOrBr YlOrBr_r YlOrRd YlOrRd_r
        """,
        aliases={"colors": "matplotlib.colors"},
    ),
    "matplotlib.collections": Table(
        """
            AsteriskPolygonCollection CircleCollection Collection EllipseCollection EventCollection
            FillBetweenPolyCollection LineCollection PatchCollection PathCollection PolyCollection PolyQuadMesh QuadMesh
            RegularPolyCollection StarPolygonCollection TriMesh
        """
    ),
    "matplotlib.colorbar": Table("Colorbar ColorbarBase make_axes make_axes_gridspec"),
    "matplotlib.colors": Table(
        """
            AsinhNorm BASE_COLORS BivarColormap BivarColormapFromImage BoundaryNorm CenteredNorm cnames ColorConverter
            colorConverter Colormap ColorSequenceRegistry CSS4_COLORS from_levels_and_colors FuncNorm
            get_named_colors_mapping hex2color hexColorPattern hsv_to_rgb is_color_like LightSource
            LinearSegmentedColormap ListedColormap LogNorm make_norm_from_scale MultiNorm MultivarColormap NoNorm Norm
            Normalize PowerNorm rgb2hex rgb_to_hsv same_color SegmentedBivarColormap SymLogNorm TABLEAU_COLORS to_hex
            to_rgb to_rgba to_rgba_array TwoSlopeNorm XKCD_COLORS
        """
    ),
    "matplotlib.dates": Table(
        """
            AutoDateFormatter AutoDateLocator ConciseDateConverter ConciseDateFormatter DAILY date2num DateConverter
            DateFormatter DateLocator datestr2num DayLocator drange FR get_epoch HourLocator HOURLY MicrosecondLocator
            MICROSECONDLY MinuteLocator MINUTELY MO MonthLocator MONTHLY num2date num2timedelta relativedelta rrule
            RRuleLocator rrulewrapper SA SecondLocator SECONDLY set_epoch SU TH TU WE WeekdayLocator WEEKLY YearLocator
            YEARLY
        """
    ),
    "matplotlib.figure": Table("figaspect Figure FigureBase SubFigure SubplotParams"),
    "matplotlib.gridspec": Table("GridSpec GridSpecBase GridSpecFromSubplotSpec SubplotParams SubplotSpec"),
    "matplotlib.legend": Table("DraggableLegend Legend"),
    "matplotlib.lines": Table(
        """
            AxLine CARETDOWN CARETDOWNBASE CARETLEFT CARETLEFTBASE CARETRIGHT CARETRIGHTBASE CARETUP CARETUPBASE
            drawStyles fillStyles Line2D lineMarkers lineStyles TICKDOWN TICKLEFT TICKRIGHT TICKUP VertexSelector
        """,
        refuse={"ls_mapper ls_mapper_r segment_hits STEP_LOOKUP_MAP": INTERNAL},
    ),
    "matplotlib.markers": Table(
        """
            CARETDOWN CARETDOWNBASE CARETLEFT CARETLEFTBASE CARETRIGHT CARETRIGHTBASE CARETUP CARETUPBASE MarkerStyle
            TICKDOWN TICKLEFT TICKRIGHT TICKUP
        """
    ),
    "matplotlib.patches": Table(
        """
            Annulus Arc Arrow ArrowStyle BoxStyle Circle CirclePolygon ConnectionPatch ConnectionStyle Ellipse
            FancyArrow FancyArrowPatch FancyBboxPatch Patch PathPatch Polygon Rectangle RegularPolygon Shadow StepPatch
            Wedge
        """,
        refuse={"bbox_artist draw_bbox": INTERNAL},
    ),
    "matplotlib.path": Table("get_path_collection_extents Path"),
    "matplotlib.patheffects": Table(
        """
            AbstractPathEffect Normal PathEffectRenderer PathPatchEffect SimpleLineShadow SimplePatchShadow Stroke
            TickedStroke withSimplePatchShadow withStroke withTickedStroke
        """
    ),
    "matplotlib.style": Table("available context library use", refuse={"reload_library": FILES}),
    "matplotlib.ticker": Table(
        """
            AsinhLocator AutoLocator AutoMinorLocator EngFormatter FixedFormatter FixedLocator FormatStrFormatter
            Formatter FuncFormatter IndexLocator LinearLocator Locator LogFormatter LogFormatterExponent
            LogFormatterMathtext LogFormatterSciNotation LogitFormatter LogitLocator LogLocator MaxNLocator
            MultipleLocator NullFormatter NullLocator PercentFormatter ScalarFormatter StrMethodFormatter
            SymmetricalLogLocator TickHelper
        """
    ),
    "matplotlib.transforms": Table(
        """
            Affine2D Affine2DBase affine_transform AffineBase AffineDeltaTransform Bbox BboxBase BboxTransform
            BboxTransformFrom BboxTransformTo blended_transform_factory BlendedAffine2D BlendedGenericTransform
            composite_transform_factory CompositeAffine2D CompositeGenericTransform count_bboxes_overlapping_bbox
            IdentityTransform interval_contains interval_contains_open inv LockableBbox nonsingular offset_copy
            ScaledTranslation Transform TransformedBbox TransformedPatchPath TransformedPath TransformNode
            TransformWrapper
        """
    ),
    "matplotlib.tri": Table(
        """
            CubicTriInterpolator LinearTriInterpolator TrapezoidMapTriFinder TriAnalyzer Triangulation tricontour
            tricontourf TriContourSet TriFinder TriInterpolator tripcolor triplot TriRefiner UniformTriRefiner
        """
    ),
    "matplotlib.text": Table("Annotation OffsetFrom Text"),
    "matplotlib.offsetbox": Table(
        """
            AnchoredOffsetbox AnchoredText AnnotationBbox AuxTransformBox BboxImage DrawingArea HPacker OffsetBox
            OffsetImage PackerBase PaddedBox TextArea VPacker
        """,
        refuse={"DEBUG DraggableAnnotation DraggableBase DraggableOffsetBox": INTERNAL},
    ),
    "matplotlib.image": Table(
        """
            AxesImage BboxImage composite_images FigureImage interpolations_names NonUniformImage PcolorImage
            pil_to_array resample
        """,
        files="imread imsave thumbnail",
    ),
    "matplotlib.table": Table("Cell CustomCell Table table"),
    "matplotlib.widgets": Table(
        "AxesWidget Button CheckButtons Cursor RadioButtons RangeSlider Slider TextBox Widget",
        refuse={
            "EllipseSelector Lasso LassoSelector LockDraw MultiCursor PolygonSelector RectangleSelector SliderBase "
            "SpanSelector SubplotTool ToolHandles ToolLineHandles": INTERNAL
        },
    ),
    "matplotlib.mlab": Table(
        """
            angle_spectrum cohere complex_spectrum csd detrend detrend_linear detrend_mean detrend_none GaussianKDE
            magnitude_spectrum phase_spectrum psd specgram window_hanning window_none
        """
    ),
    "matplotlib.font_manager": Table(
        "findfont fontManager FontProperties get_font_names",
        refuse={
            "afmFontProperty annotations b64encode BytesIO cache findSystemFonts font_family_aliases "
            "font_scalings FontEntry FontManager FontPath generate_fontconfig_pattern get_font "
            "get_fontext_synonyms Integral is_opentype_cff_font json_dump json_load list_fonts lru_cache "
            "MSFolders MSFontDirectories MSUserFontDirectories OSXFontDirectories parse_fontconfig_pattern Path "
            "stretch_dict ttfFontProperty weight_dict win32FontDirectory X11FontDirectories": FILES
        },
    ),
    "mpl_toolkits": Table(),
    "mpl_toolkits.mplot3d": Table("Axes3D"),
    "mpl_toolkits.axes_grid1": Table(
        "AxesGrid Divider Grid host_axes host_subplot ImageGrid make_axes_locatable SubplotDivider"
    ),
    "mpl_toolkits.mplot3d.axes3d": Table("Axes3D get_test_data"),
    "mpl_toolkits.mplot3d.art3d": Table(
        "Line3D Line3DCollection Patch3D Patch3DCollection Path3DCollection PathPatch3D Poly3DCollection Text3D",
        refuse={
            "Collection3D collection_2d_to_3d get_dir_vector juggle_axes line_2d_to_3d line_collection_2d_to_3d "
            "patch_2d_to_3d patch_collection_2d_to_3d pathpatch_2d_to_3d poly_collection_2d_to_3d rotate_axes "
            "text_2d_to_3d": INTERNAL
        },
    ),
}

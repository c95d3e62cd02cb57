"""plotly: figures as HTML and JSON. Out: pictures by a browser, renderers, what opens a window."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, PICKLE, PROCESS

_COLORS = {
    name: f"_plotly_utils.colors.{name}"
    for name in ["carto", "cmocean", "colorbrewer", "cyclical", "diverging", "plotlyjs", "qualitative", "sequential"]
}
_PARTS = {
    name: f"plotly.graph_objs.{name}"
    for name in [
        "layout",
        "scatter",
        "bar",
        "box",
        "heatmap",
        "histogram",
        "indicator",
        "pie",
        "scatter3d",
        "surface",
        "table",
    ]
}

_OBJECTS = """
    AngularAxis Annotation Annotations Bar Barpolar Box Candlestick Carpet Choropleth Choroplethmap ColorBar
    Cone Contour Contourcarpet Contours Data Densitymap ErrorX ErrorY ErrorZ Figure Font Frame Frames Funnel
    Funnelarea Heatmap Histogram Histogram2d Histogram2dContour Histogram2dcontour Icicle Image Indicator
    Isosurface Layout Legend Line Margin Marker Mesh3d Ohlc Parcats Parcoords Pie Quiver RadialAxis Sankey
    Scatter Scatter3d Scattercarpet Scattergeo Scattergl Scattermap Scatterpolar Scatterpolargl Scattersmith
    Scatterternary Scene Splom Streamtube Sunburst Surface Table Trace Treemap Violin Volume Waterfall XAxis
    XBins YAxis YBins ZAxis
"""
"""The names of `graph_objects`, which is `graph_objs` as well."""

TABLES = {
    "plotly": Table(),
    "plotly.express": Table(
        """
            area bar bar_polar box choropleth choropleth_map Constant density_contour density_heatmap density_map ecdf
            funnel funnel_area histogram icicle IdentityMap imshow line line_3d line_geo line_map line_polar
            line_ternary NO_COLOR parallel_categories parallel_coordinates pie Range scatter scatter_3d scatter_geo
            scatter_map scatter_matrix scatter_polar scatter_ternary strip sunburst timeline treemap violin
        """,
        refuse={"get_trendline_results": PICKLE},
    ),
    "plotly.graph_objects": Table(_OBJECTS, refuse={"FigureWidget": DISPLAY}, aliases=_PARTS),
    "plotly.graph_objs": Table(_OBJECTS, refuse={"FigureWidget": DISPLAY}),
    "plotly.io": Table(
        "from_json show templates to_html to_json to_templated",
        files="read_json write_html write_json",
        refuse={
            "defaults get_chrome renderers": DISPLAY,
            "full_figure_for_development to_image write_image write_images": PROCESS,
        },
        note="show is a display; no HTML opens a window.",
    ),
    "plotly.subplots": Table("make_subplots"),
    "plotly.figure_factory": Table(
        """
            create_dendrogram create_hexbin_map create_quiver create_streamline create_table create_ternary_contour
            create_trisurf
        """
    ),
    "plotly.colors": Table(
        """
            color_parser colorscale_to_colors colorscale_to_scale convert_colors_to_same_type convert_colorscale_to_rgb
            convert_to_RGB_255 DEFAULT_PLOTLY_COLORS find_intermediate_color get_colorscale hex_to_rgb label_rgb
            make_colorscale n_colors named_colorscales PLOTLY_SCALES sample_colorscale unconvert_from_RGB_255
            unlabel_rgb validate_colors validate_colorscale
        """,
        internal="convert_dict_colors_to_same_type validate_colors_dict validate_scale_values",
        aliases=_COLORS,
    ),
    "plotly.express.colors": Table(
        """
            color_parser colorscale_to_colors colorscale_to_scale convert_colors_to_same_type convert_colorscale_to_rgb
            convert_to_RGB_255 DEFAULT_PLOTLY_COLORS find_intermediate_color get_colorscale hex_to_rgb label_rgb
            make_colorscale n_colors named_colorscales PLOTLY_SCALES sample_colorscale unconvert_from_RGB_255
            unlabel_rgb validate_colors validate_colorscale
        """,
        internal="convert_dict_colors_to_same_type validate_colors_dict validate_scale_values",
        aliases=_COLORS,
    ),
    "plotly.data": Table(
        "carshare election election_geojson experiment gapminder iris medals_long medals_wide stocks tips wind"
    ),
    "plotly.express.data": Table(
        "carshare election election_geojson experiment gapminder iris medals_long medals_wide stocks tips wind"
    ),
    "plotly.offline": Table(
        "get_plotlyjs get_plotlyjs_version",
        refuse={
            "download_plotlyjs": DISPLAY,
            "init_notebook_mode iplot iplot_mpl plot plot_mpl enable_mpl_offline": DISPLAY,
        },
    ),
    "_plotly_utils": Table(),
    "_plotly_utils.colors": Table(
        internal="""
            color_parser colorscale_to_colors colorscale_to_scale convert_colors_to_same_type convert_colorscale_to_rgb
            convert_dict_colors_to_same_type convert_to_RGB_255 find_intermediate_color get_colorscale hex_to_rgb
            label_rgb make_colorscale n_colors named_colorscales sample_colorscale unconvert_from_RGB_255 unlabel_rgb
            validate_colors validate_colors_dict validate_colorscale validate_scale_values
        """
    ),
    "_plotly_utils.colors.carto": Table(
        """
            Aggrnyl Aggrnyl_r Agsunset Agsunset_r Antique Antique_r Armyrose Armyrose_r Blugrn Blugrn_r Bluyl Bluyl_r
            Bold Bold_r Brwnyl Brwnyl_r Burg Burg_r Burgyl Burgyl_r Darkmint Darkmint_r Earth Earth_r Emrld Emrld_r Fall
            Fall_r Geyser Geyser_r Magenta Magenta_r Mint Mint_r Oryel Oryel_r Pastel Pastel_r Peach Peach_r Pinkyl
            Pinkyl_r Prism Prism_r Purp Purp_r Purpor Purpor_r Redor Redor_r Safe Safe_r Sunset Sunset_r Sunsetdark
            Sunsetdark_r swatches Teal Teal_r Tealgrn Tealgrn_r Tealrose Tealrose_r Temps Temps_r Tropic Tropic_r Vivid
            Vivid_r
        """
    ),
    "_plotly_utils.colors.cmocean": Table(
        """
            algae algae_r amp amp_r balance balance_r curl curl_r deep deep_r delta delta_r dense dense_r gray gray_r
            haline haline_r ice ice_r matter matter_r oxy oxy_r phase phase_r solar solar_r speed speed_r swatches
            swatches_continuous tempo tempo_r thermal thermal_r turbid turbid_r
        """
    ),
    "_plotly_utils.colors.colorbrewer": Table(
        """
            Accent Accent_r Blues Blues_r BrBG BrBG_r BuGn BuGn_r BuPu BuPu_r Dark2 Dark2_r GnBu GnBu_r Greens Greens_r
            Greys Greys_r Oranges Oranges_r OrRd OrRd_r Paired Paired_r Pastel1 Pastel1_r Pastel2 Pastel2_r PiYG PiYG_r
            PRGn PRGn_r PuBu PuBu_r PuBuGn PuBuGn_r PuOr PuOr_r PuRd PuRd_r Purples Purples_r RdBu RdBu_r RdGy RdGy_r
            RdPu RdPu_r RdYlBu RdYlBu_r RdYlGn RdYlGn_r Reds Reds_r Set1 Set1_r Set2 Set2_r Set3 Set3_r Spectral
            Spectral_r swatches YlGn YlGn_r YlGnBu YlGnBu_r YlOrBr YlOrBr_r YlOrRd YlOrRd_r
        """
    ),
    "_plotly_utils.colors.cyclical": Table(
        """
            Edge Edge_r HSV HSV_r IceFire IceFire_r mrybm mrybm_r mygbm mygbm_r Phase Phase_r swatches
            swatches_continuous swatches_cyclical Twilight Twilight_r
        """
    ),
    "_plotly_utils.colors.diverging": Table(
        """
            Armyrose Armyrose_r balance balance_r BrBG BrBG_r curl curl_r delta delta_r Earth Earth_r Fall Fall_r Geyser
            Geyser_r oxy oxy_r Picnic Picnic_r PiYG PiYG_r Portland Portland_r PRGn PRGn_r PuOr PuOr_r RdBu RdBu_r RdGy
            RdGy_r RdYlBu RdYlBu_r RdYlGn RdYlGn_r Spectral Spectral_r swatches swatches_continuous Tealrose Tealrose_r
            Temps Temps_r Tropic Tropic_r
        """
    ),
    "_plotly_utils.colors.plotlyjs": Table(
        """
            Blackbody Blackbody_r Bluered Bluered_r Blues Blues_r Cividis Cividis_r Earth Earth_r Electric Electric_r
            Greens Greens_r Greys Greys_r Hot Hot_r Jet Jet_r Picnic Picnic_r Portland Portland_r Rainbow Rainbow_r RdBu
            RdBu_r Reds Reds_r Viridis Viridis_r YlGnBu YlGnBu_r YlOrRd YlOrRd_r
        """
    ),
    "_plotly_utils.colors.qualitative": Table(
        """
            Alphabet Alphabet_r Antique Antique_r Bold Bold_r D3 D3_r Dark2 Dark24 Dark24_r Dark2_r G10 G10_r Light24
            Light24_r Pastel Pastel1 Pastel1_r Pastel2 Pastel2_r Pastel_r Plotly Plotly_r Prism Prism_r Safe Safe_r Set1
            Set1_r Set2 Set2_r Set3 Set3_r swatches T10 T10_r Vivid Vivid_r
        """
    ),
    "_plotly_utils.colors.sequential": Table(
        """
            Aggrnyl Aggrnyl_r Agsunset Agsunset_r algae algae_r amp amp_r Blackbody Blackbody_r Bluered Bluered_r Blues
            Blues_r Blugrn Blugrn_r Bluyl Bluyl_r Brwnyl Brwnyl_r BuGn BuGn_r BuPu BuPu_r Burg Burg_r Burgyl Burgyl_r
            Cividis Cividis_r Darkmint Darkmint_r deep deep_r dense dense_r Electric Electric_r Emrld Emrld_r GnBu
            GnBu_r gray gray_r Greens Greens_r Greys Greys_r haline haline_r Hot Hot_r ice ice_r Inferno Inferno_r Jet
            Jet_r Magenta Magenta_r Magma Magma_r matter matter_r Mint Mint_r Oranges Oranges_r OrRd OrRd_r Oryel
            Oryel_r Peach Peach_r Pinkyl Pinkyl_r Plasma Plasma_r Plotly3 Plotly3_r PuBu PuBu_r PuBuGn PuBuGn_r PuRd
            PuRd_r Purp Purp_r Purples Purples_r Purpor Purpor_r Rainbow Rainbow_r RdBu RdBu_r RdPu RdPu_r Redor Redor_r
            Reds Reds_r solar solar_r speed speed_r Sunset Sunset_r Sunsetdark Sunsetdark_r swatches swatches_continuous
            Teal Teal_r Tealgrn Tealgrn_r tempo tempo_r thermal thermal_r turbid turbid_r Turbo Turbo_r Viridis
            Viridis_r YlGn YlGn_r YlGnBu YlGnBu_r YlOrBr YlOrBr_r YlOrRd YlOrRd_r
        """
    ),
    "plotly.graph_objs.layout": Table(
        """
            Activeselection Activeshape Annotation Coloraxis Colorscale Font Geo Grid Hoverlabel Image Legend Map Margin
            Modebar Newselection Newshape Polar Scene Selection Shape Slider Smith Template Ternary Title Transition
            Uniformtext Updatemenu XAxis YAxis
        """
    ),
    "plotly.graph_objs.scatter": Table(
        "ErrorX ErrorY Fillgradient Fillpattern Hoverlabel Legendgrouptitle Line Marker Selected Textfont Unselected"
    ),
    "plotly.graph_objs.bar": Table(
        "ErrorX ErrorY Hoverlabel Insidetextfont Legendgrouptitle Marker Outsidetextfont Selected Textfont Unselected"
    ),
    "plotly.graph_objs.box": Table("Hoverlabel Legendgrouptitle Line Marker Selected Unselected"),
    "plotly.graph_objs.heatmap": Table("ColorBar Hoverlabel Legendgrouptitle Textfont"),
    "plotly.graph_objs.histogram": Table(
        """
            Cumulative ErrorX ErrorY Hoverlabel Insidetextfont Legendgrouptitle Marker Outsidetextfont Selected Textfont
            Unselected XBins YBins
        """
    ),
    "plotly.graph_objs.indicator": Table("Delta Domain Gauge Legendgrouptitle Number Title"),
    "plotly.graph_objs.pie": Table(
        "Domain Hoverlabel Insidetextfont Legendgrouptitle Marker Outsidetextfont Textfont Title"
    ),
    "plotly.graph_objs.scatter3d": Table(
        "ErrorX ErrorY ErrorZ Hoverlabel Legendgrouptitle Line Marker Projection Textfont"
    ),
    "plotly.graph_objs.surface": Table("ColorBar Contours Hoverlabel Legendgrouptitle Lighting Lightposition"),
    "plotly.graph_objs.table": Table("Cells Domain Header Hoverlabel Legendgrouptitle"),
}

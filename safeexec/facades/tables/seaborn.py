"""Statistical pictures: seaborn."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import DISPLAY, FILES, NETWORK

TABLES = {
    "seaborn": Table(
        """
            axes_style barplot blend_palette boxenplot boxplot catplot clustermap color_palette countplot crayon_palette
            crayons cubehelix_palette dark_palette desaturate despine displot distplot diverging_palette ecdfplot
            FacetGrid heatmap histplot hls_palette husl_palette JointGrid jointplot kdeplot light_palette lineplot
            lmplot move_legend mpl_palette PairGrid pairplot palplot plotting_context pointplot regplot relplot
            reset_defaults reset_orig residplot rugplot saturate scatterplot set set_color_codes set_context
            set_hls_values set_palette set_style set_theme stripplot swarmplot violinplot xkcd_palette xkcd_rgb
        """,
        refuse={
            "dogplot get_dataset_names load_dataset": NETWORK,
            "get_data_home": FILES,
            "choose_colorbrewer_palette choose_cubehelix_palette choose_dark_palette": DISPLAY,
            "choose_diverging_palette choose_light_palette": DISPLAY,
        },
        note="grids and plots save files of the workspace; attributes it computes: child.language.libraries.sites.",
    ),
    "seaborn.objects": Table(
        """
            Agg Area Band Bar Bars Boolean Continuous Count Dash Dodge Dot Dots Est Hist Jitter KDE Line Lines Mark Move
            Nominal Norm Path Paths Perc Plot PolyFit Range Scale Shift Stack Stat Temporal Text
        """
    ),
    "seaborn.axisgrid": Table("FacetGrid JointGrid PairGrid jointplot pairplot"),
    "seaborn.palettes": Table(
        """
            blend_palette color_palette crayon_palette cubehelix_palette dark_palette desaturate diverging_palette
            hls_palette husl_palette light_palette mpl_palette set_color_codes xkcd_palette
        """
    ),
}

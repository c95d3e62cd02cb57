"""Workbooks: openpyxl, and xlrd for those of before 2007."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table

TABLES = {
    "openpyxl": Table(
        "Workbook",
        files="load_workbook open",
        note="files are the workspace's: the kernel holds it. Formulas stay text, macros stay bytes.",
    ),
    "openpyxl.cell": Table("Cell MergedCell ReadOnlyCell WriteOnlyCell"),
    "openpyxl.cell.cell": Table(
        "Cell ILLEGAL_CHARACTERS_RE MergedCell WriteOnlyCell", internal="get_time_format get_type"
    ),
    "openpyxl.cell.rich_text": Table("CellRichText TextBlock"),
    "openpyxl.cell.text": Table("InlineFont", internal="PhoneticProperties PhoneticText RichText Text"),
    "openpyxl.chart": Table(
        """
            AreaChart AreaChart3D BarChart BarChart3D BubbleChart DoughnutChart LineChart LineChart3D PieChart
            PieChart3D ProjectedPieChart RadarChart Reference ScatterChart Series StockChart SurfaceChart SurfaceChart3D
        """
    ),
    "openpyxl.chart.label": Table("DataLabel DataLabelList"),
    "openpyxl.chart.series": Table("DataPoint Series SeriesLabel XYSeries", internal="attribute_mapping"),
    "openpyxl.comments": Table("Comment"),
    "openpyxl.drawing": Table(internal="Drawing"),
    "openpyxl.drawing.image": Table(files="Image"),
    "openpyxl.formatting": Table("Rule"),
    "openpyxl.formatting.rule": Table(
        "CellIsRule ColorScale ColorScaleRule DataBar DataBarRule FormatObject FormulaRule IconSet IconSetRule Rule",
        internal="RuleType ValueDescriptor",
    ),
    "openpyxl.formula": Table("Tokenizer"),
    "openpyxl.formula.translate": Table("Translator TranslatorError"),
    "openpyxl.styles": Table(
        """
            Alignment Border Color DEFAULT_FONT Fill Font GradientFill is_builtin is_date_format NamedStyle PatternFill
            Protection Side
        """,
        internal="NumberFormatDescriptor",
    ),
    "openpyxl.styles.alignment": Table("Alignment", internal="horizontal_alignments vertical_aligments"),
    "openpyxl.styles.borders": Table(
        """
            Border BORDER_DASHDOT BORDER_DASHDOTDOT BORDER_DASHED BORDER_DOTTED BORDER_DOUBLE BORDER_HAIR BORDER_MEDIUM
            BORDER_MEDIUMDASHDOT BORDER_MEDIUMDASHDOTDOT BORDER_MEDIUMDASHED BORDER_NONE BORDER_SLANTDASHDOT
            BORDER_THICK BORDER_THIN Side
        """
    ),
    "openpyxl.styles.colors": Table(
        "BLACK BLUE Color COLOR_INDEX WHITE", internal="ColorDescriptor ColorList RgbColor"
    ),
    "openpyxl.styles.differential": Table("DifferentialStyle", internal="DifferentialStyleList"),
    "openpyxl.styles.fills": Table(
        """
            Fill FILL_NONE FILL_PATTERN_DARKDOWN FILL_PATTERN_DARKGRAY FILL_PATTERN_DARKGRID FILL_PATTERN_DARKHORIZONTAL
            FILL_PATTERN_DARKTRELLIS FILL_PATTERN_DARKUP FILL_PATTERN_DARKVERTICAL FILL_PATTERN_GRAY0625
            FILL_PATTERN_GRAY125 FILL_PATTERN_LIGHTDOWN FILL_PATTERN_LIGHTGRAY FILL_PATTERN_LIGHTGRID
            FILL_PATTERN_LIGHTHORIZONTAL FILL_PATTERN_LIGHTTRELLIS FILL_PATTERN_LIGHTUP FILL_PATTERN_LIGHTVERTICAL
            FILL_PATTERN_MEDIUMGRAY FILL_SOLID GradientFill PatternFill Stop
        """,
        internal="fills StopList",
    ),
    "openpyxl.styles.fonts": Table("DEFAULT_FONT Font"),
    "openpyxl.styles.numbers": Table(
        """
            builtin_format_code builtin_format_id BUILTIN_FORMATS FORMAT_CURRENCY_EUR_SIMPLE FORMAT_CURRENCY_USD
            FORMAT_CURRENCY_USD_SIMPLE FORMAT_DATE_DATETIME FORMAT_DATE_DDMMYY FORMAT_DATE_DMMINUS FORMAT_DATE_DMYMINUS
            FORMAT_DATE_DMYSLASH FORMAT_DATE_MYMINUS FORMAT_DATE_TIME1 FORMAT_DATE_TIME2 FORMAT_DATE_TIME3
            FORMAT_DATE_TIME4 FORMAT_DATE_TIME5 FORMAT_DATE_TIME6 FORMAT_DATE_TIME7 FORMAT_DATE_TIME8
            FORMAT_DATE_TIMEDELTA FORMAT_DATE_XLSX14 FORMAT_DATE_XLSX15 FORMAT_DATE_XLSX16 FORMAT_DATE_XLSX17
            FORMAT_DATE_XLSX22 FORMAT_DATE_YYMMDD FORMAT_DATE_YYMMDDSLASH FORMAT_DATE_YYYYMMDD2 FORMAT_GENERAL
            FORMAT_NUMBER FORMAT_NUMBER_00 FORMAT_NUMBER_COMMA_SEPARATED1 FORMAT_NUMBER_COMMA_SEPARATED2
            FORMAT_PERCENTAGE FORMAT_PERCENTAGE_00 FORMAT_TEXT is_builtin is_date_format is_datetime is_timedelta_format
        """,
        internal="NumberFormat NumberFormatDescriptor NumberFormatList",
    ),
    "openpyxl.utils": Table(
        """
            absolute_coordinate cols_from_range column_index_from_string coordinate_to_tuple FORMULAE
            get_column_interval get_column_letter quote_sheetname range_boundaries range_to_tuple rows_from_range
        """
    ),
    "openpyxl.utils.cell": Table(
        """
            absolute_coordinate cols_from_range column_index_from_string coordinate_from_string coordinate_to_tuple
            get_column_interval get_column_letter quote_sheetname range_boundaries range_to_tuple rows_from_range
        """,
        internal="ascii_uppercase digits",
    ),
    "openpyxl.utils.dataframe": Table("dataframe_to_rows", internal="expand_index"),
    "openpyxl.utils.datetime": Table(
        """
            CALENDAR_MAC_1904 CALENDAR_WINDOWS_1900 days_to_time from_excel from_ISO8601 MAC_EPOCH time_to_days
            timedelta_to_days to_excel to_ISO8601 WINDOWS_EPOCH
        """
    ),
    "openpyxl.utils.exceptions": Table(
        """
            CellCoordinatesException IllegalCharacterError InvalidFileException NamedRangeException
            ReadOnlyWorkbookException SheetTitleException WorkbookAlreadySaved
        """
    ),
    "openpyxl.workbook": Table("Workbook"),
    "openpyxl.workbook.defined_name": Table("DefinedName", internal="DefinedNameDict DefinedNameList"),
    "openpyxl.worksheet": Table(),
    "openpyxl.worksheet.datavalidation": Table(
        "DataValidation", internal="collapse_cell_addresses DataValidationList expand_cell_ranges"
    ),
    "openpyxl.worksheet.table": Table(
        "Table TableColumn TableStyleInfo",
        internal="TableFormula TableList TableNameDescriptor TablePartList XMLColumnProps",
    ),
    "openpyxl.worksheet.worksheet": Table("Worksheet"),
    "xlrd": Table(
        """
            Book cellname cellnameabs colname empty_cell error_text_from_code FILE_FORMAT_DESCRIPTIONS XL_CELL_BLANK
            XL_CELL_BOOLEAN XL_CELL_DATE XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER XL_CELL_TEXT xldate_as_datetime
            xldate_as_tuple XLDateError XLRDError
        """,
        files="count_records dump inspect_format open_workbook open_workbook_xls",
        internal="""
            biff_text_from_num decompile_formula dump_formula evaluate_name_formula oBOOL oERR okind_dict oNUM Operand
            oREF oREL oSTRG oUNK rangename3d rangename3drel Ref3D
        """,
        note="workbooks are files of the workspace or bytes; formulas stay text.",
    ),
    "xlrd.biffh": Table(
        """
            error_text_from_code XL_CELL_BLANK XL_CELL_BOOLEAN XL_CELL_DATE XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER
            XL_CELL_TEXT XLRDError
        """,
        internal="""
            BaseObject biff_count_records biff_dump biff_rec_name_dict biff_text_from_num bofcodes boflen
            encoding_from_codepage hex_char_dump is_cell_opcode python_version unpack_cell_range_address_list_update_pos
            unpack_string unpack_string_update_pos unpack_unicode unpack_unicode_update_pos upkbits upkbitsL
        """,
    ),
    "xlrd.book": Table(
        "Book colname Name",
        internal="""
            biff_rec_name_dict biff_text_from_num bofcodes boflen builtin_name_from_code code_from_builtin_name
            display_cell_address encoding_from_codepage error_text_from_code expand_cell_address oBOOL oERR okind_dict
            oNUM open_workbook_xls oREF oREL oSTRG oUNK python_version unpack_SST_table
        """,
    ),
    "xlrd.formatting": Table(
        "Font Format XF XFAlignment XFBackground XFBorder XFProtection",
        internal="""
            built_in_style_names check_colour_indexes_in_obj date_char_dict default_palette EqNeAttrs
            excel_default_palette_b2 excel_default_palette_b5 excel_default_palette_b8 fill_in_standard_formats
            fmt_bracketed_sub fmt_code_ranges handle_efont handle_font handle_format handle_palette handle_style
            handle_xf initialise_book initialise_colour_map is_date_format_string nearest_colour_index non_date_formats
            num_char_dict palette_epilogue python_version skip_char_dict std_format_code_types std_format_strings
            xf_epilogue
        """,
    ),
    "xlrd.formula": Table(
        "cellname cellnameabs colname",
        internal="""
            decompile_formula dump_formula evaluate_name_formula FMLA_TYPE_ARRAY FMLA_TYPE_CELL FMLA_TYPE_COND_FMT
            FMLA_TYPE_DATA_VAL FMLA_TYPE_NAME FMLA_TYPE_SHARED oBOOL oERR okind_dict oNUM Operand oREF oREL oSTRG oUNK
            rangename3d rangename3drel Ref3D
        """,
    ),
    "xlrd.sheet": Table(
        """
            Cell Colinfo ctype_text empty_cell Hyperlink Note Rowinfo Sheet XL_CELL_BLANK XL_CELL_BOOLEAN XL_CELL_DATE
            XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER XL_CELL_TEXT
        """,
        internal="""
            biff_rec_name_dict biff_text_from_num bofcodes boflen cellty_from_fmtty encoding_from_codepage
            error_text_from_code MSObj MSODrawing MSTxo python_version unpack_RK
        """,
    ),
    "xlrd.xldate": Table(
        """
            xldate_as_datetime xldate_as_tuple xldate_from_date_tuple xldate_from_datetime_tuple xldate_from_time_tuple
            XLDateAmbiguous XLDateBadDatemode XLDateBadTuple XLDateError XLDateNegative XLDateTooLarge
        """,
        internal="epoch_1900 epoch_1900_minus_1 epoch_1904",
    ),
}

"""Workbooks: openpyxl."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table

TABLES = {
    "openpyxl": Table(
        "Workbook",
        files="load_workbook open",
        internal="DEBUG DEFUSEDXML LXML NUMPY",
        note="files are the workspace's: the kernel holds it. Formulas stay text, macros stay bytes.",
    ),
    "openpyxl.cell": Table(
        "Cell MergedCell ReadOnlyCell WriteOnlyCell",
    ),
    "openpyxl.cell.cell": Table(
        "Cell ILLEGAL_CHARACTERS_RE MergedCell WriteOnlyCell",
        internal="""
            ArrayFormula CellRichText copy DataTableFormula ERROR_CODES get_column_letter get_time_format get_type
            Hyperlink IllegalCharacterError is_date_format KNOWN_TYPES NUMERIC_TYPES STRING_TYPES StyleableObject
            TIME_FORMATS TIME_TYPES TYPE_BOOL TYPE_ERROR TYPE_FORMULA TYPE_FORMULA_CACHE_STRING TYPE_INLINE
            TYPE_NULL TYPE_NUMERIC TYPE_STRING VALID_TYPES
        """,
    ),
    "openpyxl.cell.rich_text": Table(
        "CellRichText TextBlock",
        internal="copy Element InlineFont NUMERIC_TYPES Strict String Text Typed whitespace",
    ),
    "openpyxl.cell.text": Table(
        "InlineFont",
        internal="""
            Alias Bool Font Integer NestedBool NestedInteger NestedString NestedText NoneSet PhoneticProperties
            PhoneticText RichText Sequence Serialisable Set String Text Typed
        """,
    ),
    "openpyxl.chart": Table(
        """
            AreaChart AreaChart3D BarChart BarChart3D BubbleChart DoughnutChart LineChart LineChart3D PieChart
            PieChart3D ProjectedPieChart RadarChart Reference ScatterChart Series StockChart SurfaceChart
            SurfaceChart3D
        """,
    ),
    "openpyxl.chart.label": Table(
        "DataLabel DataLabelList",
        internal="""
            Alias ExtensionList GraphicalProperties NestedBool NestedInteger NestedNoneSet NestedString RichText
            Sequence Serialisable Typed
        """,
    ),
    "openpyxl.chart.series": Table(
        "DataPoint Series SeriesLabel XYSeries",
        internal="""
            Alias attribute_mapping AxDataSource Bool DataLabelList ErrorBars ExtensionList GraphicalProperties
            Integer Marker NestedBool NestedInteger NestedNoneSet NestedText NumDataSource NumRef PictureOptions
            Sequence Serialisable String StrRef Trendline Typed
        """,
    ),
    "openpyxl.comments": Table(
        "Comment",
    ),
    "openpyxl.drawing": Table(
        internal="Drawing",
    ),
    "openpyxl.drawing.image": Table(
        files="Image",
        internal="BytesIO",
    ),
    "openpyxl.formatting": Table(
        "Rule",
    ),
    "openpyxl.formatting.rule": Table(
        """
            CellIsRule ColorScale ColorScaleRule DataBar DataBarRule FormatObject FormulaRule IconSet IconSetRule
            Rule
        """,
        internal="""
            Bool Color ColorDescriptor COORD_RE DifferentialStyle ExtensionList Float Integer NoneSet RuleType
            Sequence Serialisable Set String Typed ValueDescriptor
        """,
    ),
    "openpyxl.formula": Table(
        "Tokenizer",
    ),
    "openpyxl.formula.translate": Table(
        "Translator TranslatorError",
        internal="column_index_from_string coordinate_to_tuple get_column_letter Token Tokenizer",
    ),
    "openpyxl.styles": Table(
        """
            Alignment Border Color DEFAULT_FONT Fill Font GradientFill is_builtin is_date_format NamedStyle
            PatternFill Protection Side
        """,
        internal="NumberFormatDescriptor",
    ),
    "openpyxl.styles.alignment": Table(
        "Alignment",
        internal="""
            Alias Bool horizontal_alignments Min MinMax NoneSet safe_string Serialisable vertical_aligments
        """,
    ),
    "openpyxl.styles.borders": Table(
        """
            Border BORDER_DASHDOT BORDER_DASHDOTDOT BORDER_DASHED BORDER_DOTTED BORDER_DOUBLE BORDER_HAIR
            BORDER_MEDIUM BORDER_MEDIUMDASHDOT BORDER_MEDIUMDASHDOTDOT BORDER_MEDIUMDASHED BORDER_NONE
            BORDER_SLANTDASHDOT BORDER_THICK BORDER_THIN Side
        """,
        internal="""
            Alias Bool ColorDescriptor DEFAULT_BORDER Integer NoneSet safe_string Sequence Serialisable Typed
        """,
    ),
    "openpyxl.styles.colors": Table(
        "BLACK BLUE Color COLOR_INDEX WHITE",
        internal="""
            aRGB_REGEX Bool ColorDescriptor ColorList Integer MinMax NestedSequence RGB RgbColor safe_string
            Serialisable String Typed
        """,
    ),
    "openpyxl.styles.differential": Table(
        "DifferentialStyle",
        internal="""
            Alias Alignment Border DifferentialStyleList Fill Font NumberFormat Protection Sequence Serialisable
            Typed
        """,
    ),
    "openpyxl.styles.fills": Table(
        """
            Fill FILL_NONE FILL_PATTERN_DARKDOWN FILL_PATTERN_DARKGRAY FILL_PATTERN_DARKGRID
            FILL_PATTERN_DARKHORIZONTAL FILL_PATTERN_DARKTRELLIS FILL_PATTERN_DARKUP FILL_PATTERN_DARKVERTICAL
            FILL_PATTERN_GRAY0625 FILL_PATTERN_GRAY125 FILL_PATTERN_LIGHTDOWN FILL_PATTERN_LIGHTGRAY
            FILL_PATTERN_LIGHTGRID FILL_PATTERN_LIGHTHORIZONTAL FILL_PATTERN_LIGHTTRELLIS FILL_PATTERN_LIGHTUP
            FILL_PATTERN_LIGHTVERTICAL FILL_PATTERN_MEDIUMGRAY FILL_SOLID GradientFill PatternFill Stop
        """,
        internal="""
            Alias Color ColorDescriptor DEFAULT_EMPTY_FILL DEFAULT_GRAY_FILL Element fills Float Integer localname
            MinMax NoneSet safe_string Sequence Serialisable Set SHEET_MAIN_NS StopList
        """,
    ),
    "openpyxl.styles.fonts": Table(
        "DEFAULT_FONT Font",
        internal="""
            Alias BLACK Color ColorDescriptor Element Integer NestedBool NestedFloat NestedInteger NestedMinMax
            NestedNoneSet NestedString NestedValue safe_string Sequence Serialisable SHEET_MAIN_NS SubElement
        """,
    ),
    "openpyxl.styles.numbers": Table(
        """
            builtin_format_code builtin_format_id BUILTIN_FORMATS FORMAT_CURRENCY_EUR_SIMPLE FORMAT_CURRENCY_USD
            FORMAT_CURRENCY_USD_SIMPLE FORMAT_DATE_DATETIME FORMAT_DATE_DDMMYY FORMAT_DATE_DMMINUS
            FORMAT_DATE_DMYMINUS FORMAT_DATE_DMYSLASH FORMAT_DATE_MYMINUS FORMAT_DATE_TIME1 FORMAT_DATE_TIME2
            FORMAT_DATE_TIME3 FORMAT_DATE_TIME4 FORMAT_DATE_TIME5 FORMAT_DATE_TIME6 FORMAT_DATE_TIME7
            FORMAT_DATE_TIME8 FORMAT_DATE_TIMEDELTA FORMAT_DATE_XLSX14 FORMAT_DATE_XLSX15 FORMAT_DATE_XLSX16
            FORMAT_DATE_XLSX17 FORMAT_DATE_XLSX22 FORMAT_DATE_YYMMDD FORMAT_DATE_YYMMDDSLASH FORMAT_DATE_YYYYMMDD2
            FORMAT_GENERAL FORMAT_NUMBER FORMAT_NUMBER_00 FORMAT_NUMBER_COMMA_SEPARATED1
            FORMAT_NUMBER_COMMA_SEPARATED2 FORMAT_PERCENTAGE FORMAT_PERCENTAGE_00 FORMAT_TEXT is_builtin
            is_date_format is_datetime is_timedelta_format
        """,
        internal="""
            BUILTIN_FORMATS_MAX_SIZE BUILTIN_FORMATS_REVERSE COLORS Integer LITERAL_GROUP LOCALE_GROUP NumberFormat
            NumberFormatDescriptor NumberFormatList Sequence Serialisable String STRIP_RE TIMEDELTA_RE
        """,
    ),
    "openpyxl.utils": Table(
        """
            absolute_coordinate cols_from_range column_index_from_string coordinate_to_tuple FORMULAE
            get_column_interval get_column_letter quote_sheetname range_boundaries range_to_tuple rows_from_range
        """,
    ),
    "openpyxl.utils.cell": Table(
        """
            absolute_coordinate cols_from_range column_index_from_string coordinate_from_string coordinate_to_tuple
            get_column_interval get_column_letter quote_sheetname range_boundaries range_to_tuple rows_from_range
        """,
        internal="""
            ABSOLUTE_RE ascii_uppercase CellCoordinatesException chain COL_RANGE COORD_RE digits lru_cache product
            RANGE_EXPR ROW_RANGE SHEET_TITLE SHEETRANGE_RE
        """,
    ),
    "openpyxl.utils.dataframe": Table(
        "dataframe_to_rows",
        internal="accumulate expand_index prod",
    ),
    "openpyxl.utils.datetime": Table(
        """
            CALENDAR_MAC_1904 CALENDAR_WINDOWS_1900 days_to_time from_excel from_ISO8601 MAC_EPOCH time_to_days
            timedelta_to_days to_excel to_ISO8601 WINDOWS_EPOCH
        """,
        internal="isnan ISO_DURATION ISO_FORMAT ISO_REGEX SECS_PER_DAY",
    ),
    "openpyxl.utils.exceptions": Table(
        """
            CellCoordinatesException IllegalCharacterError InvalidFileException NamedRangeException
            ReadOnlyWorkbookException SheetTitleException WorkbookAlreadySaved
        """,
    ),
    "openpyxl.workbook": Table(
        "Workbook",
    ),
    "openpyxl.workbook.defined_name": Table(
        "DefinedName",
        internal="""
            Alias Bool defaultdict DefinedNameDict DefinedNameList Descriptor Integer RESERVED RESERVED_REGEX
            safe_string Sequence Serialisable SHEETRANGE_RE String Tokenizer
        """,
    ),
    "openpyxl.worksheet": Table(),
    "openpyxl.worksheet.datavalidation": Table(
        "DataValidation",
        internal="""
            Alias Bool chain collapse_cell_addresses Convertible coordinate_to_tuple DataValidationList defaultdict
            expand_cell_ranges get_column_letter Integer itemgetter MultiCellRange NestedText NoneSet
            rows_from_range Sequence Serialisable String
        """,
    ),
    "openpyxl.worksheet.table": Table(
        "Table TableColumn TableStyleInfo",
        internal="""
            Alias AutoFilter Bool CellRange Descriptor escape ExtensionList Integer NestedSequence NoneSet
            PIVOTSTYLES range_boundaries REL_NS Related Sequence Serialisable SHEET_MAIN_NS SortState String
            TableFormula TableList TableNameDescriptor TablePartList TABLESTYLES tostring Typed unescape
            XMLColumnProps
        """,
    ),
    "openpyxl.worksheet.worksheet": Table(
        "Worksheet",
        internal="""
            ArrayFormula AutoFilter Cell CellRange chain ColBreak ColRange column_index_from_string ColumnDimension
            ConditionalFormattingList coordinate_to_tuple DataValidationList DefinedNameDict deprecated
            DimensionHolder get_column_letter isgenerator itemgetter MergedCell MergedCellRange MultiCellRange
            PageMargins Pane PrintArea PrintOptions PrintPageSetup PrintTitles range_boundaries RelationshipList
            RowBreak RowDimension RowRange ScenarioList Selection SheetFormatProperties SheetProtection
            SheetViewList TableList Translator warn WorksheetProperties
        """,
    ),
}

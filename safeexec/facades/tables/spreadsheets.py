"""Workbooks: openpyxl, and xlrd for those of before 2007."""

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
    "xlrd": Table(
        """
            Book cellname cellnameabs colname empty_cell error_text_from_code FILE_FORMAT_DESCRIPTIONS XL_CELL_BLANK
            XL_CELL_BOOLEAN XL_CELL_DATE XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER XL_CELL_TEXT xldate_as_datetime
            xldate_as_tuple XLDateError XLRDError
        """,
        files="count_records dump inspect_format open_workbook open_workbook_xls",
        internal="""
            biff_text_from_num decompile_formula dump_formula evaluate_name_formula FMLA_TYPE_ARRAY FMLA_TYPE_CELL
            FMLA_TYPE_COND_FMT FMLA_TYPE_DATA_VAL FMLA_TYPE_NAME FMLA_TYPE_SHARED oBOOL oERR okind_dict oNUM Operand
            oREF oREL oSTRG oUNK PEEK_SIZE rangename3d rangename3drel Ref3D XLS_SIGNATURE ZIP_SIGNATURE
        """,
        note="workbooks are files of the workspace or bytes; formulas stay text.",
    ),
    "xlrd.biffh": Table(
        """
            error_text_from_code XL_CELL_BLANK XL_CELL_BOOLEAN XL_CELL_DATE XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER
            XL_CELL_TEXT XLRDError
        """,
        internal="""
            BaseObject biff_count_records biff_dump BIFF_FIRST_UNICODE biff_rec_name_dict biff_text_from_num bofcodes
            boflen BYTES_IO BYTES_LITERAL BYTES_ORD DATEFORMAT DEBUG encoding_from_codepage ensure_unicode
            EXCEL_TEXT_TYPES FDT FGE FNU fprintf FTX FUN hex_char_dump is_cell_opcode NUMBERFORMAT print_function
            python_version REPR unichr unicode UNICODE_LITERAL unpack unpack_cell_range_address_list_update_pos
            unpack_string unpack_string_update_pos unpack_unicode unpack_unicode_update_pos upkbits upkbitsL WBKBLOBAL
            WRKSHEET XL_ARRAY XL_ARRAY2 XL_BLANK XL_BLANK_B2 XL_BOF XL_BOOLERR XL_BOOLERR_B2 XL_BOTTOMMARGIN
            XL_BOUNDSHEET XL_BOUNDSHEET_CHART XL_BOUNDSHEET_VB_MODULE XL_BOUNDSHEET_WORKSHEET XL_BUILTINFMTCOUNT XL_CF
            XL_CODEPAGE XL_COLINFO XL_COLUMNDEFAULT XL_COLWIDTH XL_CONDFMT XL_CONTINUE XL_COUNTRY XL_DATEMODE
            XL_DEFAULTROWHEIGHT XL_DEFCOLWIDTH XL_DIMENSION XL_DIMENSION2 XL_EFONT XL_EOF XL_EXTERNNAME XL_EXTERNSHEET
            XL_EXTSST XL_FEAT11 XL_FILEPASS XL_FONT XL_FONT_B3B4 XL_FOOTER XL_FORMAT XL_FORMAT2 XL_FORMULA XL_FORMULA3
            XL_FORMULA4 XL_FORMULA_OPCODES XL_GCW XL_HCENTER XL_HEADER XL_HLINK XL_HORIZONTALPAGEBREAKS XL_INDEX
            XL_INTEGER XL_IXFE XL_LABEL XL_LABEL_B2 XL_LABELRANGES XL_LABELSST XL_LEFTMARGIN XL_MERGEDCELLS
            XL_MSO_DRAWING XL_MSO_DRAWING_GROUP XL_MSO_DRAWING_SELECTION XL_MULBLANK XL_MULRK XL_NAME XL_NOTE
            XL_NUMBER XL_NUMBER_B2 XL_OBJ XL_PAGESETUP XL_PALETTE XL_PANE XL_PRINTGRIDLINES XL_PRINTHEADERS
            XL_QUICKTIP XL_RIGHTMARGIN XL_RK XL_ROW XL_ROW_B2 XL_RSTRING XL_SCL XL_SHEETHDR XL_SHEETPR XL_SHEETSOFFSET
            XL_SHRFMLA XL_SST XL_STANDARDWIDTH XL_STRING XL_STRING_B2 XL_STYLE XL_SUPBOOK XL_TABLEOP XL_TABLEOP2
            XL_TABLEOP_B2 XL_TOPMARGIN XL_TXO XL_UNCALCED XL_UNKNOWN XL_VCENTER XL_VERTICALPAGEBREAKS XL_WINDOW2
            XL_WINDOW2_B2 XL_WORKBOOK_GLOBALS XL_WORKBOOK_GLOBALS_4W XL_WORKSHEET XL_WRITEACCESS XL_WSBOOL XL_XF
            XL_XF2 XL_XF3 XL_XF4 xrange
        """,
    ),
    "xlrd.book": Table(
        "Book colname Name",
        internal="""
            BaseObject biff_count_records biff_dump BIFF_FIRST_UNICODE biff_rec_name_dict biff_text_from_num bofcodes
            boflen builtin_name_from_code BYTES_IO BYTES_LITERAL BYTES_ORD cellname cellnameabs code_from_builtin_name
            DATEFORMAT DEBUG decompile_formula display_cell_address dump_formula empty_cell encoding_from_codepage
            ensure_unicode error_text_from_code evaluate_name_formula EXCEL_TEXT_TYPES expand_cell_address FDT FGE
            FMLA_TYPE_ARRAY FMLA_TYPE_CELL FMLA_TYPE_COND_FMT FMLA_TYPE_DATA_VAL FMLA_TYPE_NAME FMLA_TYPE_SHARED FNU
            fprintf FTX FUN hex_char_dump is_cell_opcode MY_EOF NUMBERFORMAT oBOOL oERR okind_dict oNUM
            open_workbook_xls Operand oREF oREL oSTRG oUNK perf_counter print_function python_version rangename3d
            rangename3drel Ref3D REPR SUPBOOK_ADDIN SUPBOOK_DDEOLE SUPBOOK_EXTERNAL SUPBOOK_INTERNAL SUPBOOK_UNK
            SUPPORTED_VERSIONS unichr unicode UNICODE_LITERAL unpack unpack_cell_range_address_list_update_pos
            unpack_SST_table unpack_string unpack_string_update_pos unpack_unicode unpack_unicode_update_pos upkbits
            upkbitsL WBKBLOBAL WRKSHEET XL_ARRAY XL_ARRAY2 XL_BLANK XL_BLANK_B2 XL_BOF XL_BOOLERR XL_BOOLERR_B2
            XL_BOTTOMMARGIN XL_BOUNDSHEET XL_BOUNDSHEET_CHART XL_BOUNDSHEET_VB_MODULE XL_BOUNDSHEET_WORKSHEET
            XL_BUILTINFMTCOUNT XL_CELL_BLANK XL_CELL_BOOLEAN XL_CELL_DATE XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER
            XL_CELL_TEXT XL_CF XL_CODEPAGE XL_COLINFO XL_COLUMNDEFAULT XL_COLWIDTH XL_CONDFMT XL_CONTINUE XL_COUNTRY
            XL_DATEMODE XL_DEFAULTROWHEIGHT XL_DEFCOLWIDTH XL_DIMENSION XL_DIMENSION2 XL_EFONT XL_EOF XL_EXTERNNAME
            XL_EXTERNSHEET XL_EXTSST XL_FEAT11 XL_FILEPASS XL_FONT XL_FONT_B3B4 XL_FOOTER XL_FORMAT XL_FORMAT2
            XL_FORMULA XL_FORMULA3 XL_FORMULA4 XL_FORMULA_OPCODES XL_GCW XL_HCENTER XL_HEADER XL_HLINK
            XL_HORIZONTALPAGEBREAKS XL_INDEX XL_INTEGER XL_IXFE XL_LABEL XL_LABEL_B2 XL_LABELRANGES XL_LABELSST
            XL_LEFTMARGIN XL_MERGEDCELLS XL_MSO_DRAWING XL_MSO_DRAWING_GROUP XL_MSO_DRAWING_SELECTION XL_MULBLANK
            XL_MULRK XL_NAME XL_NOTE XL_NUMBER XL_NUMBER_B2 XL_OBJ XL_PAGESETUP XL_PALETTE XL_PANE XL_PRINTGRIDLINES
            XL_PRINTHEADERS XL_QUICKTIP XL_RIGHTMARGIN XL_RK XL_ROW XL_ROW_B2 XL_RSTRING XL_SCL XL_SHEETHDR XL_SHEETPR
            XL_SHEETSOFFSET XL_SHRFMLA XL_SST XL_STANDARDWIDTH XL_STRING XL_STRING_B2 XL_STYLE XL_SUPBOOK XL_TABLEOP
            XL_TABLEOP2 XL_TABLEOP_B2 XL_TOPMARGIN XL_TXO XL_UNCALCED XL_UNKNOWN XL_VCENTER XL_VERTICALPAGEBREAKS
            XL_WINDOW2 XL_WINDOW2_B2 XL_WORKBOOK_GLOBALS XL_WORKBOOK_GLOBALS_4W XL_WORKSHEET XL_WRITEACCESS XL_WSBOOL
            XL_XF XL_XF2 XL_XF3 XL_XF4 XLRDError xrange
        """,
    ),
    "xlrd.formatting": Table(
        "Font Format XF XFAlignment XFBackground XFBorder XFProtection",
        internal="""
            BaseObject built_in_style_names BYTES_IO BYTES_LITERAL BYTES_ORD check_colour_indexes_in_obj
            date_char_dict DEBUG default_palette ensure_unicode EqNeAttrs excel_default_palette_b2
            excel_default_palette_b5 excel_default_palette_b8 EXCEL_TEXT_TYPES FDT FGE fill_in_standard_formats
            fmt_bracketed_sub fmt_code_ranges FNU fprintf FTX FUN handle_efont handle_font handle_format
            handle_palette handle_style handle_xf initialise_book initialise_colour_map is_date_format_string
            nearest_colour_index non_date_formats num_char_dict palette_epilogue print_function python_version REPR
            skip_char_dict std_format_code_types std_format_strings unichr unicode UNICODE_LITERAL unpack
            unpack_string unpack_unicode upkbits upkbitsL xf_epilogue XL_CELL_DATE XL_CELL_NUMBER XL_CELL_TEXT
            XL_FORMAT XL_FORMAT2 XLRDError xrange
        """,
    ),
    "xlrd.formula": Table(
        "cellname cellnameabs colname",
        internal="""
            adjust_cell_addr_biff8 adjust_cell_addr_biff_le7 ALL_FMLA_TYPES BaseObject binop_rules BYTES_IO
            BYTES_LITERAL BYTES_ORD cellnamerel colnamerel decompile_formula do_box_funcs dump_formula ensure_unicode
            error_opcodes error_text_from_code evaluate_name_formula EXCEL_TEXT_TYPES FMLA_TYPE_ARRAY FMLA_TYPE_CELL
            FMLA_TYPE_COND_FMT FMLA_TYPE_DATA_VAL FMLA_TYPE_NAME FMLA_TYPE_SHARED FMLA_TYPEDESCR_MAP FormulaError
            fprintf func_defs FUNC_RANK get_cell_addr get_cell_range_addr get_externsheet_local_range
            get_externsheet_local_range_b57 hex_char_dump LEAF_RANK listsep nop num2strg oBOOL oERR okind_dict oMSNG
            onames oNUM Operand oREF oREL oSTRG oUNK print_function python_version quotedsheetname rangename2d
            rangename2drel rangename3d rangename3drel Ref3D REPR rownamerel sheetrange sheetrangerel STACK_ALARM_LEVEL
            STACK_PANIC_LEVEL szdict sztab0 sztab1 sztab2 sztab3 sztab4 tAdd tAttrNames tConcat tDiv tEQ tGE tGT
            tIsectFuncs tLE tLT tMul tNE tPower tRangeFuncs tSub unichr unicode UNICODE_LITERAL unop_rules unpack
            unpack_string_update_pos unpack_unicode_update_pos XLRDError xrange
        """,
    ),
    "xlrd.sheet": Table(
        """
            Cell Colinfo ctype_text empty_cell Hyperlink Note Rowinfo Sheet XL_CELL_BLANK XL_CELL_BOOLEAN XL_CELL_DATE
            XL_CELL_EMPTY XL_CELL_ERROR XL_CELL_NUMBER XL_CELL_TEXT
        """,
        internal="""
            array BaseObject biff_count_records biff_dump BIFF_FIRST_UNICODE biff_rec_name_dict biff_text_from_num
            bofcodes boflen BYTES_IO BYTES_LITERAL BYTES_ORD calcsize cellty_from_fmtty DATEFORMAT DEBUG
            decompile_formula dump_formula encoding_from_codepage ensure_unicode error_text_from_code EXCEL_TEXT_TYPES
            FDT FGE FMLA_TYPE_CELL FMLA_TYPE_SHARED FNU Format fprintf FTX FUN hex_char_dump is_cell_opcode MSObj
            MSODrawing MSTxo nearest_colour_index NUMBERFORMAT OBJ_MSO_DEBUG print_function python_version rangename2d
            REPR unichr unicode UNICODE_LITERAL unpack unpack_cell_range_address_list_update_pos unpack_RK
            unpack_string unpack_string_update_pos unpack_unicode unpack_unicode_update_pos upkbits upkbitsL WBKBLOBAL
            WRKSHEET XL_ARRAY XL_ARRAY2 XL_BLANK XL_BLANK_B2 XL_BOF XL_BOOLERR XL_BOOLERR_B2 XL_BOTTOMMARGIN
            XL_BOUNDSHEET XL_BOUNDSHEET_CHART XL_BOUNDSHEET_VB_MODULE XL_BOUNDSHEET_WORKSHEET XL_BUILTINFMTCOUNT XL_CF
            XL_CODEPAGE XL_COLINFO XL_COLUMNDEFAULT XL_COLWIDTH XL_CONDFMT XL_CONTINUE XL_COUNTRY XL_DATEMODE
            XL_DEFAULTROWHEIGHT XL_DEFCOLWIDTH XL_DIMENSION XL_DIMENSION2 XL_EFONT XL_EOF XL_EXTERNNAME XL_EXTERNSHEET
            XL_EXTSST XL_FEAT11 XL_FILEPASS XL_FONT XL_FONT_B3B4 XL_FOOTER XL_FORMAT XL_FORMAT2 XL_FORMULA XL_FORMULA3
            XL_FORMULA4 XL_FORMULA_OPCODES XL_GCW XL_HCENTER XL_HEADER XL_HLINK XL_HORIZONTALPAGEBREAKS XL_INDEX
            XL_INTEGER XL_IXFE XL_LABEL XL_LABEL_B2 XL_LABELRANGES XL_LABELSST XL_LEFTMARGIN XL_MERGEDCELLS
            XL_MSO_DRAWING XL_MSO_DRAWING_GROUP XL_MSO_DRAWING_SELECTION XL_MULBLANK XL_MULRK XL_NAME XL_NOTE
            XL_NUMBER XL_NUMBER_B2 XL_OBJ XL_PAGESETUP XL_PALETTE XL_PANE XL_PRINTGRIDLINES XL_PRINTHEADERS
            XL_QUICKTIP XL_RIGHTMARGIN XL_RK XL_ROW XL_ROW_B2 XL_RSTRING XL_SCL XL_SHEETHDR XL_SHEETPR XL_SHEETSOFFSET
            XL_SHRFMLA XL_SST XL_STANDARDWIDTH XL_STRING XL_STRING_B2 XL_STYLE XL_SUPBOOK XL_TABLEOP XL_TABLEOP2
            XL_TABLEOP_B2 XL_TOPMARGIN XL_TXO XL_UNCALCED XL_UNKNOWN XL_VCENTER XL_VERTICALPAGEBREAKS XL_WINDOW2
            XL_WINDOW2_B2 XL_WORKBOOK_GLOBALS XL_WORKBOOK_GLOBALS_4W XL_WORKSHEET XL_WRITEACCESS XL_WSBOOL XL_XF
            XL_XF2 XL_XF3 XL_XF4 XLRDError xrange
        """,
    ),
    "xlrd.xldate": Table(
        """
            xldate_as_datetime xldate_as_tuple xldate_from_date_tuple xldate_from_datetime_tuple
            xldate_from_time_tuple XLDateAmbiguous XLDateBadDatemode XLDateBadTuple XLDateError XLDateNegative
            XLDateTooLarge
        """,
        internal="epoch_1900 epoch_1900_minus_1 epoch_1904",
    ),
}

"""Pages and trees of markup: lxml and Beautiful Soup."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import LIBRARY_TESTS, MACHINE, MEMORY, NETWORK, PROCESS

TABLES = {
    "lxml": Table(
        refuse={
            "get_include": MACHINE,
        },
    ),
    "lxml.etree": Table(
        """
            AncestorsIterator AttributeBasedElementClassLookup C14NError C14NWriterTarget canonicalize CDATA
            cleanup_namespaces clear_error_log Comment CommentBase CustomElementClassLookup DocumentInvalid DTD
            DTDError DTDParseError DTDValidateError dump Element ElementBase ElementChildIterator ElementClassLookup
            ElementDefaultClassLookup ElementDepthFirstIterator ElementNamespaceClassLookup ElementTextIterator
            ElementTree Entity EntityBase Error Error ErrorDomains ErrorLevels ErrorTypes ETCompatXMLParser ETXPath
            FallbackElementClassLookup fromstring fromstringlist FunctionNamespace get_default_parser HTML htmlfile
            HTMLParser HTMLPullParser ICONV_COMPILED_VERSION indent iselement iterwalk LIBXML_COMPILED_VERSION
            LIBXML_FEATURES LIBXML_VERSION LIBXSLT_COMPILED_VERSION LIBXSLT_VERSION LXML_VERSION LxmlError
            LxmlRegistryError LxmlSyntaxError NamespaceRegistryError ParseError parseid ParserBasedElementClassLookup
            ParserError PI PIBase ProcessingInstruction PythonElementClassLookup QName register_namespace RelaxNG
            RelaxNGError RelaxNGErrorTypes RelaxNGParseError RelaxNGValidateError Resolver Schematron SchematronError
            SchematronParseError SchematronValidateError SerialisationError set_default_parser
            set_element_class_lookup SiblingsIterator strip_attributes strip_elements strip_tags SubElement tostring
            tostringlist tounicode TreeBuilder XInclude XIncludeError XML XMLDTDID xmlfile XMLID XMLParser
            XMLPullParser XMLSchema XMLSchemaError XMLSchemaParseError XMLSchemaValidateError XMLSyntaxError
            XMLTreeBuilder XPath XPathDocumentEvaluator XPathError XPathEvalError XPathEvaluator XPathFunctionError
            XPathResultError XPathSyntaxError XSLT XSLTAccessControl XSLTApplyError XSLTError XSLTExtension
            XSLTExtensionError XSLTParseError XSLTSaveError
        """,
        files="iterparse parse",
        replaced="Extension",
        refuse={
            "adopt_external_document": MEMORY,
            "memory_debugger PyErrorLog use_global_python_log": LIBRARY_TESTS,
        },
        internal="DEBUG DocInfo LIBXML_COMPILED_FEATURES XMLSyntaxAssertionError XPathElementEvaluator",
        note="entities, XInclude, document() and schemas read what the kernel opens, huge trees end at the limits.",
    ),
    "lxml.html": Table(
        """
            CheckboxGroup CheckboxValues Classes document_fromstring Element FieldsDict find_class find_rel_links
            FormElement fragment_fromstring fragments_fromstring fromstring HtmlComment HtmlElement
            HtmlElementClassLookup HtmlEntity HtmlMixin HtmlProcessingInstruction InputElement InputGetter InputMixin
            iterlinks LabelElement make_links_absolute MultipleSelectOptions RadioGroup resolve_base_href
            rewrite_links SelectElement TextareaElement tostring tostring XHTML_NAMESPACE
        """,
        files="parse",
        refuse={
            "open_http_urllib submit_form": NETWORK,
            "open_in_browser": PROCESS,
        },
        internal="""
            html_parser html_to_xhtml HTMLParser MutableMapping MutableSet partial SetMixin urljoin xhtml_parser
            xhtml_to_html XHTMLParser
        """,
    ),
    "lxml.html.builder": Table(
        """
            A ABBR ACRONYM ADDRESS APPLET AREA ARTICLE ASIDE ATTR AUDIO B BASE BASEFONT BDI BDO BIG BLOCKQUOTE BODY BR
            BUTTON CANVAS CAPTION CENTER CITE CLASS CODE COL COLGROUP DATA DATALIST DD DEL DETAILS DFN DIALOG DIR DIV
            DL DT E EM EMBED FIELDSET FIGCAPTION FIGURE FONT FOOTER FOR FORM FRAME FRAMESET H1 H2 H3 H4 H5 H6 HEAD
            HEADER HGROUP HR HTML I IFRAME IMG INPUT INS ISINDEX KBD LABEL LEGEND LI LINK MAIN MAP MARK MARQUEE MENU
            META METER NAV NOBR NOFRAMES NOSCRIPT OBJECT OL OPTGROUP OPTION OUTPUT P PARAM PICTURE PORTAL PRE PROGRESS
            Q RB RP RT RTC RUBY S SAMP SCRIPT SEARCH SECTION SELECT SLOT SMALL SOURCE SPAN STRIKE STRONG STYLE SUB
            SUMMARY SUP TABLE TBODY TD TEMPLATE TEXTAREA TFOOT TH THEAD TIME TITLE TR TRACK TT U UL VAR VIDEO WBR
        """,
        internal="ElementMaker html_parser",
    ),
    "lxml.html.defs": Table(
        """
            block_tags deprecated_tags empty_tags event_attrs font_style_tags form_tags frame_tags general_block_tags
            head_tags html5_tags link_attrs list_tags nonstandard_tags phrase_tags safe_attrs special_inline_tags
            table_tags tags top_level_tags
        """,
    ),
    "lxml.html.diff": Table(
        "html_annotate htmldiff",
        internal="""
            cleanup_delete cleanup_html compress_tokens copy_annotations default_markup DEL_END DEL_START end_tag
            expand_tokens fixup_chunks fixup_ins_del_tags flatten_el fragment_fromstring group_by_first_item
            href_token html_annotate_merge_annotations htmldiff_tokens InsensitiveSequenceMatcher is_end_tag
            is_start_tag is_word markup_serialize_tokens merge_delete merge_insert parse_html serialize_html_fragment
            split_trailing_whitespace split_words start_tag tag_token token tokenize tokenize_annotated
        """,
    ),
    "lxml.html.html5parser": Table(
        "document_fromstring fragment_fromstring fragments_fromstring fromstring html_parser HTMLParser",
        files="parse",
        internal="Element TreeBuilder urlopen urlparse XHTML_NAMESPACE",
    ),
    "lxml.html.soupparser": Table(
        "convert_tree fromstring",
        files="parse",
        internal="""
            BeautifulSoup Comment Declaration Doctype handle_entities name2codepoint NavigableString
            ProcessingInstruction Tag unescape unichr
        """,
    ),
    "lxml.builder": Table(
        "E ElementMaker",
        internal="basestring unicode",
    ),
    "lxml.objectify": Table(
        """
            annotate BoolElement DataElement deannotate dump E Element ElementMaker enable_recursive_str FloatElement
            fromstring getRegisteredTypes IntElement makeparser NoneElement NumberElement ObjectifiedDataElement
            ObjectifiedElement ObjectifyElementClassLookup ObjectPath pyannotate PyType PYTYPE_ATTRIBUTE pytypename
            set_default_parser set_pytype_attribute_tag StringElement SubElement XML xsiannotate
        """,
        files="parse",
    ),
    "lxml.sax": Table(
        "ElementTreeContentHandler ElementTreeProducer SaxError saxify",
        internal="Comment ContentHandler ElementTree ProcessingInstruction SubElement",
    ),
    "lxml.cssselect": Table(
        "CSSSelector ExpressionError LxmlHTMLTranslator LxmlTranslator SelectorError SelectorSyntaxError",
        internal="ns",
    ),
    "bs4": Table(
        """
            AttributeResemblesVariableWarning BeautifulSoup BeautifulStoneSoup CData Comment CSS Declaration
            DEFAULT_OUTPUT_ENCODING Doctype ElementFilter FeatureNotFound Formatter GuessedAtParserWarning
            MarkupResemblesLocatorWarning NavigableString PageElement ParserRejectedMarkup ProcessingInstruction
            ResultSet Script SoupStrainer StopParsing Stylesheet Tag TemplateString UnicodeDammit UnusualUsageWarning
            XMLParsedAsHTMLWarning
        """,
        internal="""
            Any builder_registry cast Counter CounterType Dict HTMLParserTreeBuilder Iterator List Optional
            PYTHON_SPECIFIC_ENCODINGS Sequence Sized TreeBuilder Type Union
        """,
    ),
    "bs4.builder": Table(
        """
            HTML5TreeBuilder HTMLParserTreeBuilder HTMLTreeBuilder LXMLTreeBuilder LXMLTreeBuilderForXML
            ParserRejectedMarkup TreeBuilder XMLParsedAsHTMLWarning
        """,
        internal="""
            annotations Any AttributeDict AttributeValueList builder_registry cast CharsetMetaAttributeValue
            ContentMetaAttributeValue defaultdict DetectsXMLParsedAsHTML Dict FAST HTML HTML_5 Iterable List
            ModuleType nonwhitespace_re Optional Pattern PERMISSIVE register_treebuilders_from RubyParenthesisString
            RubyTextString SAXTreeBuilder Script Set STRICT Stylesheet TemplateString TreeBuilderRegistry Tuple Type
            TYPE_CHECKING XML
        """,
    ),
    "bs4.dammit": Table(
        "EncodingDetector EntitySubstitution UnicodeDammit",
        internal="""
            cast chardet_module codepoint2name defaultdict Dict encoding_res EntitySubstitutionMeta getLogger html5
            html_meta Iterator List Literal Logger ModuleType Optional Pattern Set Tuple Type Union xml_encoding
        """,
    ),
    "bs4.element": Table(
        """
            AttributeDict AttributeValueList CData CharsetMetaAttributeValue Comment ContentMetaAttributeValue
            Declaration Doctype HTMLAttributeDict NamespacedAttribute NavigableString PageElement PreformattedString
            ProcessingInstruction ResultSet RubyParenthesisString RubyTextString Script SoupStrainer Stylesheet Tag
            TemplateString XMLAttributeDict XMLProcessingInstruction
        """,
        internal="""
            annotations Any AttributeResemblesVariableWarning AttributeValueWithCharsetSubstitution Callable cast CSS
            DEFAULT_OUTPUT_ENCODING Dict Formatter Generic HTMLFormatter Iterable Iterator List Mapping
            MutableSequence nonwhitespace_re Optional overload Pattern PYTHON_SPECIFIC_ENCODINGS Self Set Tuple Type
            TYPE_CHECKING TypeAlias TypeVar Union XMLFormatter
        """,
    ),
    "bs4.exceptions": Table(
        "FeatureNotFound ParserRejectedMarkup StopParsing",
        internal="Union",
    ),
    "bs4.filter": Table(
        "AttributeValueMatchRule ElementFilter MatchRule SoupStrainer StringMatchRule TagNameMatchRule",
        internal="""
            annotations Any AttributeDict Callable cast defaultdict Dict Iterable Iterator List NavigableString
            Optional PageElement ResultSet Sequence Tag Type Union
        """,
    ),
    "bs4.formatter": Table(
        "Formatter HTMLFormatter XMLFormatter",
        internal="""
            annotations Callable Dict EntitySubstitution Iterable Optional Set Tuple TYPE_CHECKING TypeAlias Union
        """,
    ),
}

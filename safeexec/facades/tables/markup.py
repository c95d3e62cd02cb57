"""Pages and trees of markup: lxml and Beautiful Soup."""

from __future__ import annotations

from safeexec.facades.tables.notation import Table
from safeexec.facades.tables.reasons import LIBRARY_TESTS, MACHINE, MEMORY, NETWORK, PROCESS

TABLES = {
    "lxml": Table(refuse={"get_include": MACHINE}),
    "lxml.etree": Table(
        """
            AncestorsIterator AttributeBasedElementClassLookup C14NError C14NWriterTarget canonicalize CDATA
            cleanup_namespaces clear_error_log Comment CommentBase CustomElementClassLookup DocumentInvalid DTD DTDError
            DTDParseError DTDValidateError dump Element ElementBase ElementChildIterator ElementClassLookup
            ElementDefaultClassLookup ElementDepthFirstIterator ElementNamespaceClassLookup ElementTextIterator
            ElementTree Entity EntityBase Error Error ErrorDomains ErrorLevels ErrorTypes ETCompatXMLParser ETXPath
            FallbackElementClassLookup fromstring fromstringlist FunctionNamespace get_default_parser HTML htmlfile
            HTMLParser HTMLPullParser ICONV_COMPILED_VERSION indent iselement iterwalk LIBXML_COMPILED_VERSION
            LIBXML_FEATURES LIBXML_VERSION LIBXSLT_COMPILED_VERSION LIBXSLT_VERSION LXML_VERSION LxmlError
            LxmlRegistryError LxmlSyntaxError NamespaceRegistryError ParseError parseid ParserBasedElementClassLookup
            ParserError PI PIBase ProcessingInstruction PythonElementClassLookup QName register_namespace RelaxNG
            RelaxNGError RelaxNGErrorTypes RelaxNGParseError RelaxNGValidateError Resolver Schematron SchematronError
            SchematronParseError SchematronValidateError SerialisationError set_default_parser set_element_class_lookup
            SiblingsIterator strip_attributes strip_elements strip_tags SubElement tostring tostringlist tounicode
            TreeBuilder XInclude XIncludeError XML XMLDTDID xmlfile XMLID XMLParser XMLPullParser XMLSchema
            XMLSchemaError XMLSchemaParseError XMLSchemaValidateError XMLSyntaxError XMLTreeBuilder XPath
            XPathDocumentEvaluator XPathError XPathEvalError XPathEvaluator XPathFunctionError XPathResultError
            XPathSyntaxError XSLT XSLTAccessControl XSLTApplyError XSLTError XSLTExtension XSLTExtensionError
            XSLTParseError XSLTSaveError
        """,
        files="iterparse parse",
        replaced="Extension",
        refuse={"adopt_external_document": MEMORY, "memory_debugger PyErrorLog use_global_python_log": LIBRARY_TESTS},
        internal="DEBUG",
        note="entities, XInclude, document() and schemas read what the kernel opens, huge trees end at the limits.",
    ),
    "lxml.html": Table(
        """
            CheckboxGroup CheckboxValues Classes document_fromstring Element FieldsDict find_class find_rel_links
            FormElement fragment_fromstring fragments_fromstring fromstring HtmlComment HtmlElement
            HtmlElementClassLookup HtmlEntity HtmlMixin HtmlProcessingInstruction InputElement InputGetter InputMixin
            iterlinks LabelElement make_links_absolute MultipleSelectOptions RadioGroup resolve_base_href rewrite_links
            SelectElement TextareaElement tostring tostring XHTML_NAMESPACE
        """,
        files="parse",
        refuse={"open_http_urllib submit_form": NETWORK, "open_in_browser": PROCESS},
    ),
    "lxml.html.builder": Table(
        """
            A ABBR ACRONYM ADDRESS APPLET AREA ARTICLE ASIDE ATTR AUDIO B BASE BASEFONT BDI BDO BIG BLOCKQUOTE BODY BR
            BUTTON CANVAS CAPTION CENTER CITE CLASS CODE COL COLGROUP DATA DATALIST DD DEL DETAILS DFN DIALOG DIR DIV DL
            DT E EM EMBED FIELDSET FIGCAPTION FIGURE FONT FOOTER FOR FORM FRAME FRAMESET H1 H2 H3 H4 H5 H6 HEAD HEADER
            HGROUP HR HTML I IFRAME IMG INPUT INS ISINDEX KBD LABEL LEGEND LI LINK MAIN MAP MARK MARQUEE MENU META METER
            NAV NOBR NOFRAMES NOSCRIPT OBJECT OL OPTGROUP OPTION OUTPUT P PARAM PICTURE PORTAL PRE PROGRESS Q RB RP RT
            RTC RUBY S SAMP SCRIPT SEARCH SECTION SELECT SLOT SMALL SOURCE SPAN STRIKE STRONG STYLE SUB SUMMARY SUP
            TABLE TBODY TD TEMPLATE TEXTAREA TFOOT TH THEAD TIME TITLE TR TRACK TT U UL VAR VIDEO WBR
        """
    ),
    "lxml.html.defs": Table(
        """
            block_tags deprecated_tags empty_tags event_attrs font_style_tags form_tags frame_tags general_block_tags
            head_tags html5_tags link_attrs list_tags nonstandard_tags phrase_tags safe_attrs special_inline_tags
            table_tags tags top_level_tags
        """
    ),
    "lxml.html.diff": Table("html_annotate htmldiff"),
    "lxml.html.html5parser": Table(
        "document_fromstring fragment_fromstring fragments_fromstring fromstring html_parser HTMLParser",
        files="parse",
        internal="XHTML_NAMESPACE",
    ),
    "lxml.html.soupparser": Table("convert_tree fromstring", files="parse"),
    "lxml.builder": Table("E ElementMaker"),
    "lxml.objectify": Table(
        """
            annotate BoolElement DataElement deannotate dump E Element ElementMaker enable_recursive_str FloatElement
            fromstring getRegisteredTypes IntElement makeparser NoneElement NumberElement ObjectifiedDataElement
            ObjectifiedElement ObjectifyElementClassLookup ObjectPath pyannotate PyType PYTYPE_ATTRIBUTE pytypename
            set_default_parser set_pytype_attribute_tag StringElement SubElement XML xsiannotate
        """,
        files="parse",
    ),
    "lxml.sax": Table("ElementTreeContentHandler ElementTreeProducer SaxError saxify"),
    "lxml.cssselect": Table(
        "CSSSelector ExpressionError LxmlHTMLTranslator LxmlTranslator SelectorError SelectorSyntaxError"
    ),
    "bs4": Table(
        """
            AttributeResemblesVariableWarning BeautifulSoup BeautifulStoneSoup CData Comment CSS Declaration
            DEFAULT_OUTPUT_ENCODING Doctype ElementFilter FeatureNotFound Formatter GuessedAtParserWarning
            MarkupResemblesLocatorWarning NavigableString PageElement ParserRejectedMarkup ProcessingInstruction
            ResultSet Script SoupStrainer StopParsing Stylesheet Tag TemplateString UnicodeDammit UnusualUsageWarning
            XMLParsedAsHTMLWarning
        """
    ),
    "bs4.builder": Table(
        """
            HTML5TreeBuilder HTMLParserTreeBuilder HTMLTreeBuilder LXMLTreeBuilder LXMLTreeBuilderForXML
            ParserRejectedMarkup TreeBuilder XMLParsedAsHTMLWarning
        """,
        internal="DetectsXMLParsedAsHTML TreeBuilderRegistry",
    ),
    "bs4.dammit": Table(
        "EncodingDetector EntitySubstitution UnicodeDammit",
        internal="chardet_module codepoint2name encoding_res EntitySubstitutionMeta html5 html_meta xml_encoding",
    ),
    "bs4.element": Table(
        """
            AttributeDict AttributeValueList CData CharsetMetaAttributeValue Comment ContentMetaAttributeValue
            Declaration Doctype HTMLAttributeDict NamespacedAttribute NavigableString PageElement PreformattedString
            ProcessingInstruction ResultSet RubyParenthesisString RubyTextString Script SoupStrainer Stylesheet Tag
            TemplateString XMLAttributeDict XMLProcessingInstruction
        """,
        internal="AttributeValueWithCharsetSubstitution",
    ),
    "bs4.exceptions": Table("FeatureNotFound ParserRejectedMarkup StopParsing"),
    "bs4.filter": Table(
        "AttributeValueMatchRule ElementFilter MatchRule SoupStrainer StringMatchRule TagNameMatchRule"
    ),
    "bs4.formatter": Table("Formatter HTMLFormatter XMLFormatter"),
}

"""How Sphinx builds the site: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # where `tools` is

from privtally.version import __version__

project = "privtally"
copyright = "the privtally authors"  # noqa: A001  # Sphinx's name for it
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "tools.site"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
default_role = "literal"
smartquotes_action = "qe"  # quotation marks and ellipses; the dashes of --option stay

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
# Types of other libraries and of rooms inside have no page; public names and every role must lead somewhere.
nitpick_ignore_regex = [("py:class", r"(?!privtally\.[A-Z]).*")]

html_theme = "furo"
html_title = "privtally"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_favicon = "../src/privtally/service/pages/static/icon.svg"

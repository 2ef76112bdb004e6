//! The parts of every page: head, navigation, sections, foot.

use super::html::escape;

/// A page without its sections. It takes fields that are marked as escaped, and HTML, as they are.
pub(super) struct HtmlTemplate<'a> {
    /// The title, escaped.
    pub title: &'a str,
    /// The version of assay that made the page.
    pub version: &'a str,
    /// The whole style sheet.
    pub css: &'a str,
    /// The word for what the skip link of the keyboard leads to, e.g. `findings`.
    pub skip: &'a str,
    /// The HTML below the title.
    pub below: &'a str,
    /// The last line, escaped.
    pub foot: &'a str,
}

impl HtmlTemplate<'_> {
    /// Returns the page with these sections. A section is its id, its name and its HTML.
    pub(super) fn page(&self, sections: &[(&str, &str, String)]) -> String {
        let HtmlTemplate { title, version, css, skip, below, foot } = self;
        let mut out = format!(
            "<!doctype html>\n<!-- a page of assay -->\n<html lang=\"en\"><head>\
             <meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"generator\" content=\"assay {}\"><title>{title}</title>\
             <style>{css}</style></head>\n<body><a class=\"skip\" href=\"#main\">Skip to the \
             {skip}</a>\n<header><h1>{title}</h1>{below}<nav aria-label=\"Sections\"><ul>",
            escape(version)
        );
        for (id, name, _) in sections {
            out += &format!("<li><a href=\"#{id}\">{name}</a></li>");
        }
        out += "</ul></nav></header>\n<main id=\"main\">\n";
        for (id, name, body) in sections {
            out += &format!(
                "<section id=\"{id}\" aria-labelledby=\"h-{id}\"><h2 id=\"h-{id}\">{name}</h2>\
                 {body}</section>\n"
            );
        }
        out + &format!("</main>\n<footer>{foot}</footer></body></html>\n")
    }
}

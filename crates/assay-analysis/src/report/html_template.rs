//! What every page is made of: head, navigation, sections, foot.

use super::html::escape;

/// A page, without its sections. What is escaped already is said.
pub(super) struct HtmlTemplate<'a> {
    /// Its title, escaped.
    pub title: &'a str,
    /// The version of assay that it is of.
    pub version: &'a str,
    /// All of its style.
    pub css: &'a str,
    /// What the link for those who read without a mouse leads to, e.g. `findings`.
    pub skip: &'a str,
    /// What stands below the title, as HTML.
    pub below: &'a str,
    /// The last line, escaped.
    pub foot: &'a str,
}

impl HtmlTemplate<'_> {
    /// The page with these sections: of each the id, the name and the HTML.
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

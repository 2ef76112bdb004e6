//! Findings as list items.

use super::html::escape;
use crate::finding::Finding;

pub(super) fn items<'a>(all: impl Iterator<Item = &'a Finding>) -> String {
    let mut out = String::from("<ul class=\"findings\">");
    for f in all {
        out += &format!("<li>{}.", escape(&f.statement));
        let evidence: String =
            f.evidence.iter().map(|e| format!("<li>{}</li>", escape(e))).collect();
        out += &format!(
            "<details><summary class=\"dim\">Evidence</summary><ul>{evidence}\
             <li>Threshold: {}.{}</li><li>Again: \
              <code>{}</code></li></ul></details></li>",
            escape(&f.threshold),
            // A program's requests are not known.
            if f.samples > 0 { format!(" {} requests.", f.samples) } else { String::new() },
            escape(&f.reproduce)
        );
    }
    out + "</ul>"
}

//! Text for HTML.

use crate::unseen::is_unseen;

/// Returns the text made safe inside elements and quoted attributes. Leaves out characters that are
/// not shown but have an effect.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_unseen(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Returns the text as a fragment identifier: letters, digits and `-`.
pub(crate) fn slug(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

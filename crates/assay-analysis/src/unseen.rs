//! Characters that are not shown but act on a terminal or hide in a page.

/// Returns `true` if a character is not shown but has an effect: a control character other than
/// line feed and tab, a character that turns the direction of the text around it, or one that
/// breaks, marks or hides text. Joiners, which many scripts need, are none of these.
pub fn is_unseen(c: char) -> bool {
    let turns = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c);
    let hides = ['\u{ad}', '\u{200b}', '\u{2028}', '\u{2029}', '\u{feff}'].contains(&c)
        || ('\u{2060}'..='\u{2064}').contains(&c)
        || ('\u{e0000}'..='\u{e007f}').contains(&c);
    (c.is_control() && !['\n', '\t'].contains(&c)) || turns || hides
}

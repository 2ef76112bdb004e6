//! Price lists: what drives cost, when, in which currency, and who says so.
//!
//! A price without a date is none, so a list has one date, and prices of different lists are never
//! put beside each other. The capacity is the one that was sold, which need not be the modelled
//! drive's.

use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use crate::experiment::{bad_name, is_name};
use crate::units::Bytes;
use std::ops::Range;

/// Prices of one source and one date.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceList {
    /// Short name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Who says so.
    pub source: String,
    /// When: `2008-11` or `2008-11-21`.
    pub date: String,
    /// In what: three capital letters of ISO 4217, e.g. `USD`.
    pub currency: String,
    /// The prices, each device once.
    pub prices: Vec<Price>,
}

/// What a drive costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Name of the drive, as in `sim:NAME` if it is modelled.
    pub device: String,
    /// What the source calls it.
    pub title: String,
    /// Capacity that was sold.
    pub capacity: Bytes,
    /// Price of one, in the currency of the list.
    pub amount: f64,
}

impl Price {
    /// Price of a decimal gigabyte.
    pub fn per_gb(&self) -> f64 {
        self.amount / (self.capacity.0 as f64 * 1e-9)
    }
}

impl PriceList {
    /// Decodes a price list.
    pub fn parse(source: Source<'_>) -> Decoded<PriceList> {
        document(source, "price list", decode)
    }

    /// The price of the drive that answers to one of these names.
    pub fn of(&self, names: &[&str]) -> Option<&Price> {
        self.prices.iter().find(|p| names.contains(&p.device.as_str()))
    }
}

fn decode(top: &mut Section<'_>) -> Decoded<PriceList> {
    let name = name(top, "name")?;
    let title = top.string("title")?;
    let source = top.string("source")?;
    let (date, date_at) = top.string_at("date")?;
    if !is_date(&date) {
        let e = top.error(
            Kind::UnknownValue,
            date_at,
            format!("`{date}` is not a date"),
            "year and month, or a day: `2008-11` or `2008-11-21`",
        );
        return Err(with_hint(e, "a price is only worth something with the time it was asked"));
    }
    let (currency, currency_at) = top.string_at("currency")?;
    if currency.len() != 3 || !currency.chars().all(|c| c.is_ascii_uppercase()) {
        let message = format!("`{currency}` is not a currency");
        let e = top.error(Kind::UnknownValue, currency_at, message, "three capital letters");
        return Err(with_hint(e, "codes of ISO 4217: `USD`, `EUR`, `NOK`"));
    }
    let mut prices: Vec<Price> = Vec::new();
    for mut section in top.sections("price", "price")? {
        let span = section.span_of("device");
        let price = decode_price(&mut section)?;
        section.finish()?;
        if prices.iter().any(|p| p.device == price.device) {
            return Err(twice(top, span, &price.device));
        }
        prices.push(price);
    }
    if prices.is_empty() {
        let e = top.error(Kind::MissingKey, 0..0, "the list has no price", "");
        return Err(with_hint(e, "add a `[[price]]` section; see `prices/`"));
    }
    Ok(PriceList { name, title, source, date, currency, prices })
}

fn decode_price(s: &mut Section<'_>) -> Decoded<Price> {
    const DEAREST: f64 = 1e9;
    let device = name(s, "device")?;
    let title = s.string("title")?;
    let capacity = s.size("capacity")?;
    if capacity == Bytes::ZERO {
        let span = s.whole_span_of("capacity");
        let e = s.error(Kind::OutOfRange, span, "a drive without capacity", "more than nothing");
        return Err(with_hint(e, "`capacity` is the one that was sold, e.g. `80GB`"));
    }
    let (whole, per_gb) = (s.has("amount"), s.has("per_gb"));
    if whole == per_gb {
        let message = match whole {
            true => "a price has both `amount` and `per_gb`",
            false => "a price has neither `amount` nor `per_gb`",
        };
        let at = if whole { s.span_of("per_gb") } else { s.span() };
        let e = s.error(Kind::Impossible, at, message, "exactly one of the two");
        return Err(with_hint(
            e,
            "`amount` is the price of one drive, `per_gb` that of 10^9 bytes",
        ));
    }
    let amount = match whole {
        true => s.number("amount", 0.01, DEAREST, None)?,
        false => s.number("per_gb", 0.0001, DEAREST, None)? * capacity.0 as f64 * 1e-9,
    };
    Ok(Price { device, title, capacity, amount })
}

fn name(s: &mut Section<'_>, key: &'static str) -> Decoded<String> {
    let (name, span) = s.string_at(key)?;
    if is_name(&name) { Ok(name) } else { Err(bad_name(s, span, &name)) }
}

fn twice(s: &Section<'_>, span: Range<usize>, device: &str) -> Box<Diagnostic> {
    let message = format!("`{device}` has two prices in one list");
    let e = s.error(Kind::Impossible, span, message, "one price for each device");
    with_hint(e, "prices of another day or shop are another list")
}

/// `YYYY-MM` or `YYYY-MM-DD`, as far as digits can tell.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, count: usize, most: u32| {
        let all = part.len() == count && part.bytes().all(|b| b.is_ascii_digit());
        all && part.parse::<u32>().is_ok_and(|n| n >= 1 && n <= most)
    };
    let days = parts.get(2).is_none_or(|day| digits(day, 2, 31));
    (2..=3).contains(&parts.len()) && digits(parts[0], 4, 9999) && digits(parts[1], 2, 12) && days
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "format = 1\nname = \"x\"\ntitle = \"X\"\nsource = \"a shop\"\n\
        date = \"2026-11\"\ncurrency = \"EUR\"\n";
    const PRICE: &str =
        "[[price]]\ndevice = \"a\"\ntitle = \"A\"\ncapacity = \"80GB\"\namount = 100\n";

    fn parse(text: &str) -> Result<PriceList, String> {
        PriceList::parse(Source { file: "p.toml", text }).map_err(|e| e.to_string())
    }

    #[test]
    fn a_list_is_decoded() {
        let list = parse(&format!("{LIST}{PRICE}")).expect("a list");
        assert_eq!((&*list.date, &*list.currency), ("2026-11", "EUR"));
        let price = list.of(&["b", "a"]).expect("a price");
        assert_eq!((price.amount, price.per_gb()), (100.0, 1.25));
        assert_eq!(list.of(&["b"]), None);
        let per_gb = PRICE.replace("amount = 100", "per_gb = 0.5");
        assert_eq!(parse(&format!("{LIST}{per_gb}")).expect("a list").prices[0].amount, 40.0);
    }

    #[test]
    fn mistakes_are_named_with_a_hint() {
        let cases = [
            (LIST.to_owned(), "the list has no price"),
            (format!("{LIST}{PRICE}{PRICE}"), "`a` has two prices in one list"),
            (format!("{LIST}{PRICE}per_gb = 1\n"), "a price has both `amount` and `per_gb`"),
            (format!("{LIST}{}", PRICE.replace("amount = 100\n", "")), "neither `amount` nor"),
            (format!("{LIST}{}", PRICE.replace("100", "-1")), "`amount` = -1 is out of range"),
            (format!("{LIST}{}", PRICE.replace("80GB", "0B")), "a drive without capacity"),
            (format!("{LIST}{PRICE}").replace("2026-11", "2026-13"), "`2026-13` is not a date"),
            (format!("{LIST}{PRICE}").replace("2026-11", "autumn"), "`autumn` is not a date"),
            (format!("{LIST}{PRICE}").replace("EUR", "euro"), "`euro` is not a currency"),
            (format!("{LIST}{PRICE}shop = 1\n"), "shop"),
        ];
        for (text, message) in cases {
            let error = parse(&text).expect_err(message);
            assert!(error.contains(message) && error.contains("hint: "), "{message}: {error}");
        }
    }

    #[test]
    fn dates_are_months_or_days() {
        assert!(["2008-01", "2008-12", "2008-11-01", "2008-11-31"].into_iter().all(is_date));
        let wrong = ["2008", "2008-00", "2008-1", "08-11", "2008-11-32", "2008-11-1-1", "", "-"];
        assert!(!wrong.into_iter().any(is_date));
    }
}

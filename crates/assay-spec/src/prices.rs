//! Price lists: the prices of drives, with their date, currency and source.
//!
//! A price without a date has no meaning, so each list has one date, and prices of different lists
//! are never compared. The capacity is the one that was sold, which need not be the modelled
//! drive's.

use crate::date::{self, days_in_month};
use crate::decode::{Decoded, Section, Source, document, with_hint};
use crate::diagnostic::{Diagnostic, Kind};
use crate::name::{bad_name, is_name};
use crate::units::Bytes;
use std::ops::Range;

/// The prices of one source and one date.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceList {
    /// The short name.
    pub name: String,
    /// The title, for people.
    pub title: String,
    /// The source of the prices.
    pub source: String,
    /// The date: `2008-11` or `2008-11-21`.
    pub date: String,
    /// The currency: three capital letters of ISO 4217, e.g. `USD`.
    pub currency: String,
    /// The prices, with each device once.
    pub prices: Vec<Price>,
    /// The price of 10^9 bytes of memory.
    pub memory_per_gb: Option<f64>,
    /// The price of a kWh.
    pub energy_per_kwh: Option<f64>,
}

/// The price of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The name of the drive; that of `sim:NAME` if the drive is modelled.
    pub device: String,
    /// The name that the source gives the drive.
    pub title: String,
    /// The capacity that was sold.
    pub capacity: Bytes,
    /// The price of one drive, in the currency of the list.
    pub amount: f64,
    /// The power at work, in watts.
    pub watts: Option<f64>,
    /// The idle power, in watts.
    pub idle_watts: Option<f64>,
    /// The bytes that may be written to the drive before it is worn out, as its maker rates it.
    pub endurance: Option<Bytes>,
}

impl Price {
    /// Returns the price of a decimal gigabyte.
    pub fn per_gb(&self) -> f64 {
        self.amount / (self.capacity.0 as f64 * 1e-9)
    }
}

/// A price that the user gives: `ssd-m=300USD`.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenAmount {
    /// A device of a list, a target's name, or a target as it was written.
    pub device: String,
    /// The price of one drive.
    pub amount: f64,
    /// The currency; `None` for the currency of the list.
    pub currency: Option<String>,
}

impl std::str::FromStr for GivenAmount {
    type Err = ();

    fn from_str(text: &str) -> Result<GivenAmount, ()> {
        let (device, price) = text.rsplit_once('=').ok_or(())?;
        let (device, price) = (device.trim(), price.trim());
        let digits = price.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(price.len());
        let amount: f64 = price[..digits].parse().map_err(|_| ())?;
        let currency = price[digits..].trim();
        let fine = currency.is_empty() || is_currency(currency);
        if device.is_empty() || !fine || amount <= 0.0 || amount > DEAREST {
            return Err(());
        }
        let currency = (!currency.is_empty()).then(|| currency.to_owned());
        Ok(GivenAmount { device: device.to_owned(), amount, currency })
    }
}

/// Returns `true` if a price can have this amount, currency and date.
pub fn is_price(amount: f64, currency: &str, date: &str) -> bool {
    amount > 0.0 && amount <= DEAREST && is_currency(currency) && is_date(date)
}

/// Returns `true` if `text` has the form of an ISO 4217 currency: three capital letters.
fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.chars().all(|c| c.is_ascii_uppercase())
}

impl PriceList {
    /// Decodes a price list.
    pub fn parse(source: Source<'_>) -> Decoded<PriceList> {
        document(source, "price list", decode)
    }

    /// Returns the price of the drive that has one of these names.
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
            "a month or an existing day: `2008-11` or `2008-11-21`",
        );
        return Err(with_hint(e, "write the date of the prices: prices change"));
    }
    let (currency, currency_at) = top.string_at("currency")?;
    if !is_currency(&currency) {
        let message = format!("`{currency}` is not a currency");
        let e = top.error(Kind::UnknownValue, currency_at, message, "three capital letters");
        return Err(with_hint(e, "write a code of ISO 4217, e.g. `USD`, `EUR` or `NOK`"));
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
    let memory_per_gb = optional_price(top, "memory", "per_gb")?;
    let energy_per_kwh = optional_price(top, "energy", "per_kwh")?;
    Ok(PriceList { name, title, source, date, currency, prices, memory_per_gb, energy_per_kwh })
}

/// Takes the only key of a section that is optional.
fn optional_price(
    top: &mut Section<'_>,
    section: &'static str,
    key: &'static str,
) -> Decoded<Option<f64>> {
    let Some(mut s) = top.optional_section(section, section)? else { return Ok(None) };
    let price = s.number(key, 1e-6, DEAREST, None)?;
    s.finish()?;
    Ok(Some(price))
}

/// The largest amount: more than any drive costs.
const DEAREST: f64 = 1e9;
/// The largest capacity: 10 PB, more than any drive holds.
const LARGEST: Bytes = Bytes(10_000_000_000_000_000);

fn decode_price(s: &mut Section<'_>) -> Decoded<Price> {
    let device = name(s, "device")?;
    let title = s.string("title")?;
    let capacity = decode_capacity(s)?;
    let amount = decode_amount(s, capacity)?;
    let (watts, idle_watts) = decode_power(s)?;
    let endurance = s.optional_size("endurance")?;
    if endurance == Some(Bytes::ZERO) {
        let span = s.whole_span_of("endurance");
        let e = s.error(Kind::OutOfRange, span, "an endurance of 0 is not possible", "more than 0");
        return Err(with_hint(e, "leave out `endurance` if it is not known or has no limit"));
    }
    Ok(Price { device, title, capacity, amount, watts, idle_watts, endurance })
}

fn decode_capacity(s: &mut Section<'_>) -> Decoded<Bytes> {
    let capacity = s.size("capacity")?;
    let (message, expected) = match capacity {
        Bytes::ZERO => {
            ("a capacity of 0 is not possible".to_owned(), "more than nothing".to_owned())
        }
        c if c > LARGEST => (format!("no drive holds {c}"), format!("at most {LARGEST}")),
        fine => return Ok(fine),
    };
    let e = s.error(Kind::OutOfRange, s.whole_span_of("capacity"), message, expected);
    Err(with_hint(e, "write the capacity under which the drive was sold, e.g. `80GB`"))
}

/// Takes the price of one drive.
fn decode_amount(s: &mut Section<'_>, capacity: Bytes) -> Decoded<f64> {
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
            "write `amount`, the price of one drive, or `per_gb`, the price of 10^9 bytes",
        ));
    }
    if whole {
        return s.number("amount", 0.01, DEAREST, None);
    }
    let amount = s.number("per_gb", 0.0001, DEAREST, None)? * capacity.0 as f64 * 1e-9;
    if amount <= DEAREST {
        return Ok(amount);
    }
    let message = format!("`per_gb` makes a drive of {capacity} cost {amount:.0}");
    let e = s.error(Kind::OutOfRange, s.span_of("per_gb"), message, format!("{DEAREST} at most"));
    Err(with_hint(
        e,
        "check which is meant: `per_gb` is the price of 10^9 bytes, `amount` the price of one \
         drive",
    ))
}

/// Takes the power at work and the idle power.
fn decode_power(s: &mut Section<'_>) -> Decoded<(Option<f64>, Option<f64>)> {
    let mut watts = |key| match s.has(key) {
        true => s.number(key, 0.0, 1e4, None).map(Some),
        false => Ok(None),
    };
    let (busy, idle) = (watts("watts")?, watts("idle_watts")?);
    match (busy, idle) {
        (Some(busy), Some(idle)) if idle > busy => {
            let message = format!("the drive takes {busy} W at work but {idle} W when idle");
            let expected = format!("at most {busy}");
            let e = s.error(Kind::Impossible, s.span_of("idle_watts"), message, expected);
            Err(with_hint(
                e,
                "check whether the two values are exchanged: `watts` is the power at work",
            ))
        }
        both => Ok(both),
    }
}

fn name(s: &mut Section<'_>, key: &'static str) -> Decoded<String> {
    let (name, span) = s.string_at(key)?;
    if is_name(&name) { Ok(name) } else { Err(bad_name(s, span, &name)) }
}

fn twice(s: &Section<'_>, span: Range<usize>, device: &str) -> Box<Diagnostic> {
    let message = format!("`{device}` has two prices in one list");
    let e = s.error(Kind::Impossible, span, message, "one price for each device");
    with_hint(e, "remove one, or move prices of another day or shop to another list")
}

/// Returns `true` if `text` is `YYYY-MM` or `YYYY-MM-DD` of the calendar.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let (year, month) = match parts[..] {
        [year, month] | [year, month, _] => (date::part(year, 4), date::part(month, 2)),
        _ => return false,
    };
    let days = year.zip(month).and_then(|(year, month)| days_in_month(year, month));
    let Some(days) = days else { return false };
    parts.get(2).is_none_or(|day| date::part(day, 2).is_some_and(|day| day <= days))
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
        assert_eq!((price.watts, price.idle_watts, price.endurance), (None, None, None));
        assert_eq!((list.memory_per_gb, list.energy_per_kwh), (None, None));
    }

    #[test]
    fn power_wear_memory_and_energy_are_part_of_a_list() {
        let more = "watts = 3\nidle_watts = 0.06\nendurance = \"15TB\"\n\
            [memory]\nper_gb = 2.5\n[energy]\nper_kwh = 0.25\n";
        let list = parse(&format!("{LIST}{PRICE}{more}")).expect("a list");
        let price = &list.prices[0];
        let endurance = Some(Bytes(15_000_000_000_000));
        assert_eq!(
            (price.watts, price.idle_watts, price.endurance),
            (Some(3.0), Some(0.06), endurance)
        );
        assert_eq!((list.memory_per_gb, list.energy_per_kwh), (Some(2.5), Some(0.25)));
        for (from, to, message) in [
            ("15TB", "0B", "an endurance of 0 is not possible"),
            ("per_gb = 2.5", "per_gb = 0", "`per_gb` = 0 is out of range"),
            ("per_kwh", "kwh", "kwh"),
        ] {
            let error = parse(&format!("{LIST}{PRICE}{}", more.replace(from, to)));
            let error = error.expect_err(message);
            assert!(error.contains(message) && error.contains("hint: "), "{message}: {error}");
        }
    }

    #[test]
    fn prices_by_hand_name_a_device_an_amount_and_a_currency() {
        let parse = |text: &str| text.parse::<GivenAmount>();
        let given = |device: &str, amount, currency: Option<&str>| {
            Ok(GivenAmount { device: device.into(), amount, currency: currency.map(Into::into) })
        };
        assert_eq!(parse("ssd-m=300USD"), given("ssd-m", 300.0, Some("USD")));
        assert_eq!(parse("/dev/sdb = 139.99 EUR"), given("/dev/sdb", 139.99, Some("EUR")));
        assert_eq!(parse("x=0.5"), given("x", 0.5, None));
        // The array itself contains an equals sign.
        let array = "raid0(sim:ssd-m*2, chunk=64KiB)";
        assert_eq!(parse(&format!("{array}=9USD")), given(array, 9.0, Some("USD")));
        for wrong in ["ssd-m", "=3", "x=", "x=USD", "x=-3", "x=0", "x=nan", "x=3usd", "x=3US"] {
            assert_eq!(parse(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn mistakes_are_named_with_a_hint() {
        let cases = [
            (LIST.to_owned(), "the list has no price"),
            (format!("{LIST}{PRICE}{PRICE}"), "`a` has two prices in one list"),
            (format!("{LIST}{PRICE}per_gb = 1\n"), "a price has both `amount` and `per_gb`"),
            (format!("{LIST}{}", PRICE.replace("amount = 100\n", "")), "neither `amount` nor"),
            (format!("{LIST}{}", PRICE.replace("100", "-1")), "`amount` = -1 is out of range"),
            (format!("{LIST}{}", PRICE.replace("80GB", "0B")), "a capacity of 0 is not possible"),
            (format!("{LIST}{PRICE}").replace("2026-11", "2026-13"), "`2026-13` is not a date"),
            (format!("{LIST}{PRICE}").replace("2026-11", "autumn"), "`autumn` is not a date"),
            (format!("{LIST}{PRICE}").replace("EUR", "euro"), "`euro` is not a currency"),
            (format!("{LIST}{PRICE}shop = 1\n"), "shop"),
            (format!("{LIST}{PRICE}").replace("2026-11", "2026-11-31"), "`2026-11-31` is not a"),
            (format!("{LIST}{PRICE}watts = 2\nidle_watts = 3\n"), "2 W at work but 3 W when idle"),
            (format!("{LIST}{}", PRICE.replace("80GB", "8000000TiB")), "no drive holds 8000000TiB"),
            (
                format!("{LIST}{}", PRICE.replace("amount = 100", "per_gb = 1e9")),
                "makes a drive of 80GB cost 80000000000",
            ),
        ];
        for (text, message) in cases {
            let error = parse(&text).expect_err(message);
            assert!(error.contains(message) && error.contains("hint: "), "{message}: {error}");
        }
    }

    #[test]
    fn dates_are_months_or_days() {
        let right = ["2008-01", "2008-12", "2008-11-01", "2008-11-30", "2008-02-29", "2000-02-29"];
        assert!(right.into_iter().all(is_date));
        let wrong = ["2008", "2008-00", "2008-1", "08-11", "2008-11-32", "2008-11-1-1", "", "-"];
        assert!(!wrong.into_iter().any(is_date));
        let never = ["2008-11-31", "2009-02-29", "1900-02-29", "2008-02-30", "2008-04-31"];
        assert!(!never.into_iter().any(is_date));
    }
}

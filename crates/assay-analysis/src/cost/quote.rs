//! The price of a target: the sum of the prices of its drives and of the cards they are attached
//! to, as far as these are known.
//!
//! *Invariant.* All amounts of one [`Prices`] are in one currency.

use assay_spec::array::{ArraySpec, Level, MemberSpec, MemberTarget, parse, parse_linux};
use assay_spec::decode::Source;
use assay_spec::device::DeviceSpec;
use assay_spec::diagnostic::Diagnostic;
use assay_spec::linux::{BlockDevice, LinuxSpec};
use assay_spec::prices::{Price, PriceList, is_price};
use assay_spec::record::{GivenPrice, PricesRecord, TargetRecord};
use std::collections::BTreeSet;

/// A price list and prices given by hand, in one currency.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The price list.
    pub list: Option<PriceList>,
    /// The prices given by hand, which take precedence over the list.
    pub given: Vec<GivenPrice>,
    /// The currency, e.g. `USD`.
    pub currency: String,
}

/// The reason why prices cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    /// The list does not decode.
    #[error("{0}")]
    List(Box<Diagnostic>),
    /// The prices are in two currencies.
    #[error("prices in {0} and in {1} cannot be compared")]
    Currencies(String, String),
    /// There is neither a list nor a given price.
    #[error("there is no price")]
    Nothing,
    /// A given price has no valid amount, currency or date: its text.
    #[error("`{0}` is not a price with a currency and a date")]
    NoPrice(String),
}

/// The price of a target, with the properties that costs are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Quote {
    /// The price of the target.
    pub amount: f64,
    /// The usable capacity in 10^9 bytes: the capacities that were sold, less what redundancy
    /// takes.
    pub gigabytes: Option<f64>,
    /// The number of drives in the target.
    pub drives: usize,
    /// The cards that are not included because their prices are not known.
    pub left_out: Vec<String>,
    /// The power of the whole target when busy, in watts.
    pub watts: Option<f64>,
    /// The power of the whole target when idle, in watts.
    pub idle_watts: Option<f64>,
    /// The bytes that may be written to the target before one of its drives is worn out. Redundancy
    /// writes more than these to the drives: as much as full stripes take.
    pub endurance: Option<f64>,
}

impl Quote {
    /// Returns the price of 10^9 bytes.
    pub fn per_gb(&self) -> Option<f64> {
        self.gigabytes.filter(|gb| *gb > 0.0).map(|gb| self.amount / gb)
    }
}

impl Prices {
    /// Reads the prices that a run keeps.
    ///
    /// # Errors
    /// If the list does not decode, a given price is not valid, there are two currencies, or there
    /// is no price.
    pub fn of(record: &PricesRecord) -> Result<Prices, PricesError> {
        let parsed = (record.list.as_ref())
            .map(|l| PriceList::parse(Source { file: &l.file, text: &l.text }));
        let list = parsed.transpose().map_err(PricesError::List)?;
        if let Some(GivenPrice { device, amount, currency, date }) =
            record.given.iter().find(|g| !is_price(g.amount, &g.currency, &g.date))
        {
            let text = format!("{device}={amount}{currency} of {date}");
            return Err(PricesError::NoPrice(text));
        }
        let given = record.given.iter().map(|g| &g.currency);
        let mut all = list.iter().map(|l| &l.currency).chain(given);
        let currency = all.next().ok_or(PricesError::Nothing)?.clone();
        if let Some(other) = all.find(|c| **c != currency) {
            return Err(PricesError::Currencies(currency, other.clone()));
        }
        Ok(Prices { list, given: record.given.clone(), currency })
    }

    /// Returns the dates of the prices, each once, e.g. `2008-11`.
    pub fn dates(&self) -> Vec<&str> {
        let given = self.given.iter().map(|g| g.date.as_str());
        let mut dates: Vec<&str> = self.list.iter().map(|l| l.date.as_str()).chain(given).collect();
        dates.sort_unstable();
        dates.dedup();
        dates
    }

    /// Returns dates and currency for the note below a table: `prices of 2008-11 in USD`.
    pub fn dated(&self) -> String {
        format!("prices of {} in {}", self.dates().join(" and "), self.currency)
    }

    /// Returns the sources of the prices.
    pub fn sources(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(
            self.list.iter().map(|l| format!("list {} of {}: {}", l.name, l.date, l.source)),
        );
        let by_hand = |g: &GivenPrice| {
            format!("{} {} {} as given on {}", g.device, g.amount, g.currency, g.date)
        };
        parts.extend(self.given.iter().map(by_hand));
        parts.join("; ")
    }

    /// Returns `true` if amounts of both may be compared: they have the same currency and dates.
    pub fn comparable(&self, other: &Prices) -> bool {
        self.currency == other.currency && self.dates() == other.dates()
    }

    /// Returns the price of a target, or `None` if neither the target nor each of its drives has a
    /// price.
    pub fn quote(&self, target: &TargetRecord) -> Option<Quote> {
        let whole = self.given(&[&target.name, &target.written]);
        let drives = Drives::of(target);
        let Some(drives) = drives else {
            // A file or a device of this machine: the price is found by its name or by the model it
            // reports.
            let model = target.identity.iter().find(|(key, _)| key == "model");
            let names: Vec<String> = model.iter().map(|(_, model)| slug(model)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let price = self.listed(&names);
            let amount = whole.map(|g| g.amount).or_else(|| self.amount(&names, price))?;
            let capacity = price.map_or(target.capacity.0, |p| p.capacity.0) as f64;
            return Some(Quote {
                amount,
                gigabytes: Some(capacity * 1e-9),
                drives: 1,
                left_out: Vec::new(),
                watts: price.and_then(|p| p.watts),
                idle_watts: price.and_then(|p| p.idle_watts),
                endurance: price.and_then(|p| p.endurance).map(|e| e.0 as f64),
            });
        };
        self.of_drives(&drives, whole)
    }

    fn of_drives(&self, drives: &Drives, whole: Option<&GivenPrice>) -> Option<Quote> {
        let mut parts = Vec::new();
        for names in &drives.names {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let price = self.listed(&names);
            parts.push((self.amount(&names, price), price));
        }
        let sum: Option<f64> = parts.iter().map(|(amount, _)| *amount).sum();
        let mut left_out = Vec::new();
        let mut amount = match whole {
            Some(given) => given.amount,
            None => sum?,
        };
        for card in drives.cards.iter().filter(|_| whole.is_none()) {
            let name = card.split('#').next().unwrap_or(card);
            match self.amount(&[name], self.listed(&[name])) {
                Some(price) => amount += price,
                None => left_out.push(card.clone()),
            }
        }
        let sold = |(index, part): (usize, &(Option<f64>, Option<&Price>))| match part.1 {
            Some(price) => Some(price.capacity.0 as f64),
            None => drives.capacities.get(index).copied().flatten(),
        };
        let sold: Option<Vec<f64>> = parts.iter().enumerate().map(sold).collect();
        let all = |of: fn(&Price) -> Option<f64>| -> Option<f64> {
            parts.iter().map(|(_, price)| price.and_then(of)).sum()
        };
        let endurance =
            |(_, price): &(_, Option<&Price>)| Some(price.and_then(|p| p.endurance)?.0 as f64);
        let endurances: Option<Vec<f64>> = parts.iter().map(endurance).collect();
        Some(Quote {
            amount,
            gigabytes: sold.map(|sold| drives.usable(&sold) * 1e-9),
            drives: parts.len(),
            left_out,
            watts: all(|p| p.watts),
            idle_watts: all(|p| p.idle_watts),
            endurance: endurances.map(|each| drives.usable(&each)),
        })
    }

    /// Returns the price given for one of these names.
    fn given(&self, names: &[&str]) -> Option<&GivenPrice> {
        self.given.iter().find(|g| names.contains(&g.device.as_str()))
    }

    fn listed(&self, names: &[&str]) -> Option<&Price> {
        self.list.as_ref()?.of(names)
    }

    fn amount(&self, names: &[&str], listed: Option<&Price>) -> Option<f64> {
        self.given(names).map(|g| g.amount).or(listed.map(|p| p.amount))
    }

    /// Returns the names under which prices were given that belong to no target in `targets`.
    pub fn unused<'a>(&'a self, targets: &[TargetRecord]) -> Vec<&'a str> {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for target in targets {
            known.extend([target.name.clone(), target.written.clone()]);
            let model = target.identity.iter().find(|(key, _)| key == "model");
            known.extend(model.map(|(_, model)| slug(model)));
            let Some(drives) = Drives::of(target) else { continue };
            known.extend(drives.names.into_iter().flatten());
            known.extend(drives.cards.iter().map(|c| c.split('#').next().unwrap_or(c).to_owned()));
        }
        let given = self.given.iter().map(|g| g.device.as_str());
        given.filter(|device| !known.contains(*device)).collect()
    }
}

/// Returns the name of a model in a price list: `Samsung SSD 870 EVO` is `samsung-ssd-870-evo`.
fn slug(model: &str) -> String {
    let small = model.to_lowercase();
    let words = small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The modelled drives of a target.
struct Drives {
    /// The names of each drive: as written, of its device file, and its aliases.
    names: Vec<Vec<String>>,
    /// The capacity of each drive in bytes, if its device file is at hand.
    capacities: Vec<Option<f64>>,
    /// The names of the cards, each once.
    cards: BTreeSet<String>,
    /// The arrangement of the drives.
    shape: Arrangement,
}

/// An arrangement of drives in arrays. Its leaves are in the order of the drives.
enum Arrangement {
    Drive,
    Array(Level, Vec<Arrangement>),
}

impl Drives {
    /// Returns the drives of a target, or `None` if it does not consist of modelled drives.
    fn of(target: &TargetRecord) -> Option<Drives> {
        let text = target.spec.as_deref()?;
        let none = || Drives {
            names: Vec::new(),
            capacities: Vec::new(),
            cards: BTreeSet::new(),
            shape: Arrangement::Drive,
        };
        let mut drives = none();
        match target.kind.as_str() {
            "model" => {
                let word = target.written.strip_prefix("sim:").unwrap_or(&target.written);
                drives.add(word, Some(text));
            }
            "array" => {
                let spec = parse(&target.written).ok()?;
                drives.shape = drives.array(&spec, &TargetRecord::texts(text));
            }
            "linux" => {
                let spec = parse_linux(&target.written).ok()?;
                drives.shape = drives.linux(&spec, &TargetRecord::texts(text));
            }
            _ => return None,
        }
        Some(drives)
    }

    fn add(&mut self, word: &str, text: Option<&str>) {
        let spec = text.and_then(|t| DeviceSpec::parse(Source { file: word, text: t }).ok());
        let mut names = vec![word.to_owned()];
        if let Some(spec) = &spec {
            names.push(spec.name.clone());
            names.extend(spec.aliases.iter().cloned());
        }
        self.names.push(names);
        self.capacities.push(spec.map(|s| s.capacity.0 as f64));
    }

    fn member(&mut self, member: &MemberSpec, texts: &[(String, String)]) -> Arrangement {
        self.cards.extend(member.controller.clone());
        match &member.target {
            MemberTarget::Drive(name) => {
                let text = texts.iter().find(|(key, _)| *key == format!("sim:{name}"));
                self.add(name, text.map(|(_, text)| text.as_str()));
                Arrangement::Drive
            }
            MemberTarget::Array(array) => self.array(array, texts),
        }
    }

    fn members(&mut self, members: &[MemberSpec], texts: &[(String, String)]) -> Vec<Arrangement> {
        members.iter().map(|m| self.member(m, texts)).collect()
    }

    fn array(&mut self, spec: &ArraySpec, texts: &[(String, String)]) -> Arrangement {
        self.cards.extend(spec.controller.clone());
        Arrangement::Array(spec.level, self.members(&spec.members, texts))
    }

    fn linux(&mut self, spec: &LinuxSpec, texts: &[(String, String)]) -> Arrangement {
        match &spec.device {
            BlockDevice::Drive(member) => self.member(member, texts),
            BlockDevice::Array(array) => self.array(array, texts),
            BlockDevice::RaidZ(members) => {
                Arrangement::Array(Level::Raid5, self.members(members, texts))
            }
        }
    }

    fn usable(&self, sold: &[f64]) -> f64 {
        self.shape.usable(&mut sold.iter().copied())
    }
}

impl Arrangement {
    /// Returns the usable bytes of drives with these capacities, or the bytes that can be written
    /// to drives with these endurances. The smallest member bounds both.
    fn usable(&self, sold: &mut dyn Iterator<Item = f64>) -> f64 {
        let Arrangement::Array(level, members) = self else { return sold.next().unwrap_or(0.0) };
        let members: Vec<f64> = members.iter().map(|m| m.usable(sold)).collect();
        usable(*level, &members)
    }
}

/// Returns the capacity of an array whose members have these capacities.
fn usable(level: Level, members: &[f64]) -> f64 {
    let smallest = members.iter().copied().fold(f64::INFINITY, f64::min);
    let count = members.len() as f64;
    let data = match level {
        Level::Jbod => return members.iter().sum(),
        Level::Raid0 => count,
        Level::Raid1 => 1.0,
        Level::Raid10 | Level::Raid01 => count / 2.0,
        Level::Raid4 | Level::Raid5 => count - 1.0,
        Level::Raid6 => count - 2.0,
    };
    smallest * data
}

//! `--prices` and `--price`: the prices of drives, from a list or given one by one.

use crate::output::Failure;
use assay_analysis::cost::{Prices, PricesError};
use assay_engine::read;
use assay_spec::catalog::{PRICES, find};
use assay_spec::decode::Source;
use assay_spec::diagnostic::closest;
use assay_spec::experiment::Experiment;
use assay_spec::prices::{GivenAmount, PriceList};
use assay_spec::record::{GivenPrice, PriceListRecord, PricesRecord, RunRecord, TargetRecord};
use std::path::Path;

/// What a verb takes that shows costs.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Pricing {
    /// Prices of drives: a list that comes with assay (`cmu08`) or a file
    #[arg(long, value_name = "LIST|FILE")]
    prices: Option<String>,
    /// Price of one drive or target, e.g. `ssd-m=300USD`; may be given again for others
    #[arg(long = "price", value_name = "DEVICE=AMOUNT")]
    price: Vec<String>,
}

impl Pricing {
    /// Returns the prices of a new run: the list given with `--prices`, else the list that its
    /// experiments name, else the list of the study's document; and all prices given with
    /// `--price`. Returns `None` if no price was given and the list has none of the targets.
    ///
    /// # Errors
    /// If the experiments name several lists, a list or a price cannot be read, or prices that were
    /// given have no effect.
    pub fn of_run<'e>(
        &self,
        study: &str,
        experiments: impl Iterator<Item = &'e Experiment>,
        targets: &[TargetRecord],
        started: &str,
    ) -> Result<Option<PricesRecord>, Failure> {
        let mut named: Vec<&str> = experiments.filter_map(|e| e.prices.as_deref()).collect();
        named.dedup();
        if let ([first, second, ..], None) = (named.as_slice(), &self.prices) {
            return Err(Failure::usage(
                format!("the experiments name two price lists, {first} and {second}"),
                "choose one with `--prices`",
            ));
        }
        let own = named.first().copied().or(find(PRICES, study).map(|b| b.name));
        let own = own.filter(|_| self.prices.is_none()).map(read_list).transpose()?;
        let mut base = PricesRecord { list: own, given: Vec::new() };
        if self.price.is_empty() && self.prices.is_none() {
            // A list without prices of the targets is not recorded.
            let prices = Prices::of(&base).ok();
            let any = prices.is_some_and(|p| targets.iter().any(|t| p.quote(t).is_some()));
            return Ok(any.then_some(base));
        }
        self.apply_to(&mut base, started)?;
        self.check_effect(&base, targets)?;
        Ok(Some(base))
    }

    /// Puts the prices that were given, if any, into the record of a saved run, which is then
    /// analysed with them.
    ///
    /// # Errors
    /// If a list or a price cannot be read, or the prices have no effect.
    pub fn of_saved(&self, record: &mut RunRecord) -> Result<(), Failure> {
        if self.price.is_empty() && self.prices.is_none() {
            return Ok(());
        }
        let mut base = record.prices.take().unwrap_or_default();
        self.apply_to(&mut base, &assay_engine::machine::utc_now())?;
        self.check_effect(&base, &record.targets)?;
        record.prices = Some(base);
        Ok(())
    }

    fn apply_to(&self, base: &mut PricesRecord, now: &str) -> Result<(), Failure> {
        if let Some(name) = &self.prices {
            *base = PricesRecord { list: Some(read_list(name)?), given: Vec::new() };
        }
        let listed = base.list.as_ref().and_then(|l| {
            PriceList::parse(Source { file: &l.file, text: &l.text }).ok().map(|l| l.currency)
        });
        let before = base.given.first().map(|g| g.currency.clone());
        let mut currency = listed.or(before);
        let mut named = Vec::new();
        for text in &self.price {
            let given = one(text, currency.as_deref(), now)?;
            if named.contains(&given.device) {
                return Err(Failure::usage(
                    format!("`--price` gives two prices of {}", given.device),
                    "give each drive or target one price",
                ));
            }
            named.push(given.device.clone());
            currency.get_or_insert_with(|| given.currency.clone());
            base.given.retain(|g| g.device != given.device);
            base.given.push(given);
        }
        Ok(())
    }

    /// Refuses prices that apply to no target, because the user must have meant something else.
    fn check_effect(&self, record: &PricesRecord, targets: &[TargetRecord]) -> Result<(), Failure> {
        let prices = Prices::of(record).map_err(|e| match e {
            PricesError::List(diagnostic) => Failure::from(diagnostic),
            other => Failure::usage(
                other.to_string(),
                "give the prices in the currency of the list, or choose another list with \
                 `--prices`",
            ),
        })?;
        if let Some(device) = prices.unused(targets).first() {
            return Err(Failure::usage(
                format!("`--price {device}=…` has no effect: no target has this drive"),
                "name a drive as in `sim:NAME`, or a target as `assay run` names it",
            ));
        }
        if let (Some(name), true) = (&self.prices, self.price.is_empty())
            && targets.iter().all(|t| prices.quote(t).is_none())
        {
            return Err(Failure::usage(
                format!("`--prices {name}` has no effect: no target has a drive of this list"),
                "give single prices with `--price DEVICE=AMOUNT`, or choose another list; \
                 docs/prices.md describes the format of lists",
            ));
        }
        Ok(())
    }
}

fn one(text: &str, currency: Option<&str>, now: &str) -> Result<GivenPrice, Failure> {
    let given: GivenAmount = text.parse().map_err(|()| {
        let hint = "write a drive, an amount and a currency, e.g. `--price ssd-m=300USD`";
        Failure::usage(format!("`--price {text}` is not a price"), hint)
    })?;
    let currency = given.currency.as_deref().or(currency).ok_or_else(|| {
        let hint = format!("write the currency after the amount, e.g. `--price {text}USD`");
        Failure::usage(format!("`--price {text}` has no currency"), hint)
    })?;
    Ok(GivenPrice {
        device: given.device,
        amount: given.amount,
        currency: currency.to_owned(),
        date: now.chars().take(10).collect(),
    })
}

/// Reads the bundled price list with this name, or the list in this file. Decodes it, so that
/// mistakes are reported before anything runs.
fn read_list(name: &str) -> Result<PriceListRecord, Failure> {
    let (file, text) = match find(PRICES, name) {
        Some(bundled) => (bundled.file.to_owned(), bundled.text.to_owned()),
        None if name.ends_with(".toml") => {
            let text = read::text(Path::new(name), read::SPEC_MAX).map_err(|e| {
                let hint = "check the path (a relative path starts at the current directory); \
                            docs/prices.md describes the format of lists";
                let text = format!("the price list {name} cannot be read: {e}");
                Failure::usage(text, e.hint(hint))
            })?;
            (name.to_owned(), text)
        }
        None => return Err(unknown(name)),
    };
    PriceList::parse(Source { file: &file, text: &text })?;
    Ok(PriceListRecord { file, text })
}

fn unknown(name: &str) -> Failure {
    let names: Vec<&str> = PRICES.iter().map(|b| b.name).collect();
    let hint = match closest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            format!("name a price list ({}) or a file whose name ends in `.toml`", names.join(", "))
        }
    };
    Failure::usage(format!("there is no price list `{name}`"), hint)
}

//! The page map as a translation layer.

use super::map_checkpoint::SavedMap;
use super::{PageMap, check, recovery};
use crate::ftl::{Census, Deferred, Ftl, MapCache, MapWrites, NONE, Recover, Trim};
use crate::lpn::Lpn;
use crate::nand::{Cause, Flash, Nand, Ppa, Token};
use assay_mem::prefetch;
use std::ops::Range;

impl Ftl for PageMap {
    #[inline]
    fn read(&mut self, nand: &mut Nand, page: Lpn, cause: Cause, token: Token) -> bool {
        let Some(ppa) = self.locate(page) else { return false };
        if nand.chips.is_buffered(ppa) {
            return false;
        }
        nand.read(ppa, cause, token);
        true
    }

    #[inline]
    fn write(&mut self, nand: &mut Nand, page: Lpn, _run: &Range<Lpn>, token: Token) -> u32 {
        if let Some(saved) = &mut self.saved {
            saved.change(page);
        }
        let plane = self.put(nand, page, Cause::Host, token, &[]);
        if self.tables.cached_map.is_some() {
            self.tables.change_entry(page);
            self.write_changed(nand, super::cached_map::AT_A_TIME);
        }
        plane
    }

    fn locate(&self, page: Lpn) -> Option<Ppa> {
        let physical = Some(self.tables.l2p[page.index()]).filter(|p| *p != NONE)?;
        if self.trims.has(page) {
            return None;
        }
        Some(Ppa { plane: self.tables.plane_of(physical), page: physical })
    }

    fn check(&self) {
        check::check_maps(self);
        check::check_planes(self);
        if let Some(cache) = &self.tables.cache {
            cache.check(&self.planes, &self.tables.blocks);
        }
        self.tables.cached_map.iter().for_each(|cached_map| cached_map.check());
        self.check_room();
    }
}

impl MapCache for PageMap {
    fn map_page(&self, page: Lpn) -> Option<Lpn> {
        self.tables.cached_map.as_ref().map(|cached_map| cached_map.map_page(page))
    }

    fn has_entry(&mut self, page: Lpn) -> bool {
        self.tables.cached_map.as_mut().is_none_or(|cached_map| cached_map.has_entry(page))
    }

    fn cache_entry(&mut self, page: Lpn) {
        self.tables.cached_map.iter_mut().for_each(|cached_map| cached_map.cache_entry(page));
    }

    #[inline]
    fn prefetch_hint(&self, page: Lpn) {
        prefetch(&self.tables.l2p, page.index());
    }

    #[inline]
    fn prefetch_old_copy(&self, page: Lpn) {
        let old = self.tables.l2p[page.index()];
        prefetch(&self.tables.valid_bitmap, old as usize / 64);
        prefetch(&self.tables.blocks.stale, (old / self.tables.pages_per_block) as usize);
    }
}

impl MapWrites for PageMap {
    #[inline]
    fn checkpoint_if_due(&mut self, nand: &mut Nand) -> u32 {
        let due = self.saved.as_mut().is_some_and(SavedMap::is_due);
        if due { self.write_map(nand) } else { 0 }
    }

    fn write_map_after_trims(&mut self, nand: &mut Nand) {
        self.write_all_changed(nand);
    }
}

impl Trim for PageMap {
    fn trim(&mut self, page: Lpn) {
        if let Some(saved) = &mut self.saved {
            saved.change(page);
        }
        if self.tables.l2p[page.index()] != NONE {
            self.tables.change_entry(page);
        }
        match self.tables.is_safe {
            true => self.trim_later(page),
            false => self.forget(page),
        }
    }

    fn takes_trims(&self) -> bool {
        !(self.tables.is_safe && self.is_worn_out())
    }

    fn are_trims_due(&self) -> bool {
        self.trims.are_due()
    }

    fn record_trims(&mut self, nand: &mut Nand) -> u32 {
        self.write_record(nand)
    }

    fn on_trims_recorded(&mut self) {
        self.record_is_written();
    }
}

impl Deferred for PageMap {
    fn program_gathered(&mut self, nand: &mut Nand) {
        if nand.chips.has_multi_page() {
            self.planes.iter_mut().for_each(|plane| self.tables.pad(plane, nand));
            self.free_emptied(nand);
        }
    }

    fn background(&mut self, nand: &mut Nand) -> bool {
        let mut asked = false;
        if self.is_worn_out() {
            // A worn-out drive takes no writes: collection would only wear it further.
            nand.erase_on_idle_planes();
            return false;
        }
        if self.tables.collection.over_drive {
            asked = self.collect_over_drive_in_background(nand);
        } else {
            for plane in &mut self.planes {
                asked |= self.tables.collect_in_background(plane, nand);
            }
        }
        if nand.chips.has_multi_page() {
            self.free_emptied(nand);
            // Over the drive all planes would pad their programs, for nothing if no write comes.
            let planes = if self.tables.collection.over_drive { 0 } else { self.planes.len() };
            for plane in 0..planes {
                asked |= self.drain_for_emptied(nand, plane);
            }
        }
        nand.erase_on_idle_planes();
        asked
    }
}

impl Recover for PageMap {
    fn recover(&mut self, nand: &mut Nand, flash: &Flash) -> bool {
        if self.tables.is_safe {
            recovery::recover(self, nand, flash);
        }
        self.tables.is_safe
    }
}

impl Census for PageMap {
    fn erases(&self) -> &[u32] {
        &self.tables.blocks.erases
    }

    fn is_worn_out(&self) -> bool {
        self.tables.endurance.as_ref().is_some_and(|e| e.is_over)
    }

    fn free_blocks(&self) -> u64 {
        self.planes.iter().map(|p| p.free.len() as u64).sum()
    }

    fn counters(&self) -> Vec<(String, f64)> {
        let mut all = vec![("urgent_collections".to_owned(), self.tables.urgent as f64)];
        if let Some(cached_map) = &self.tables.cached_map {
            let words = ["map_lookups", "map_misses", "map_writes"].map(String::from);
            all.extend(words.into_iter().zip(cached_map.counts.map(|n| n as f64)));
        }
        let endurance = self.tables.endurance.iter();
        all.extend(endurance.flat_map(|e| e.counters(&self.tables.blocks.erases)));
        all
    }

    fn mark(&mut self) {
        self.tables.urgent = 0;
        self.tables.cached_map.iter_mut().for_each(|cached_map| cached_map.counts = [0; 3]);
    }
}

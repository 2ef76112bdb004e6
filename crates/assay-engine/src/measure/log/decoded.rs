//! The result of decoding a log.

use parquet::errors::ParquetError;

/// A result whose error says what is wrong with a file.
pub(super) type Decoded<T> = std::result::Result<T, String>;

/// Converts an error of the decoder to text.
pub(super) fn in_words(e: ParquetError) -> String {
    let text = e.to_string();
    match text.contains("Disabled feature") {
        true => "assay cannot read its compression: save it with zstd, or uncompressed".to_owned(),
        false => text,
    }
}

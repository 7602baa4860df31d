use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, BufRead, Write};

/// An index from words to the lines on which they occur.
#[derive(Debug, Default, Clone)]
pub struct Index {
    postings: HashMap<String, Vec<u32>>,
    lines: usize,
}

#[derive(Debug)]
pub enum IndexError {
    Io(io::Error),
    TooManyLines { limit: usize },
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Io(error) => write!(f, "cannot read the input: {error}"),
            IndexError::TooManyLines { limit } => write!(f, "more than {limit} lines"),
        }
    }
}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        IndexError::Io(error)
    }
}

impl Index {
    pub fn build<R: BufRead>(reader: R, limit: usize) -> Result<Self, IndexError> {
        let mut index = Index::default();
        for line in reader.lines() {
            let line = line?;
            if index.lines >= limit {
                return Err(IndexError::TooManyLines { limit });
            }
            for word in line.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
                let entry = index.postings.entry(word.to_lowercase()).or_insert_with(Vec::new);
                if entry.last() != Some(&(index.lines as u32)) {
                    entry.push(index.lines as u32);
                }
            }
            index.lines += 1;
        }
        Ok(index)
    }

    pub fn write_sorted<W: Write>(&self, out: &mut W) -> io::Result<()> {
        let sorted: BTreeMap<_, _> = self.postings.iter().collect();
        for (word, lines) in sorted {
            writeln!(out, "{word}\t{}", lines.len())?;
        }
        Ok(())
    }
}

//! Formats that are not supported. Each has a command that converts it to a supported format.

use std::fs;
use std::path::Path;

/// The fault of a file extension, and the way to fix it.
pub(super) fn unknown(ending: &str) -> String {
    let what = match ending {
        "" => "no ending in the file's name".to_owned(),
        ending => format!("unknown format .{ending}"),
    };
    match conversion(ending) {
        Some(conversion) => format!("{what}: {conversion}"),
        None => format!("{what}: expected {}", known()),
    }
}

/// The command that makes one file of a folder, which Spark, Hugging Face's datasets and table formats write.
pub(super) fn folder(path: &Path) -> String {
    let has = |name: &str| path.join(name).exists();
    // The commands do not contain the folder's name, since a shell might run parts of it.
    let datasets = |split: &str| {
        format!(
            "`python3 -c \"import datasets; datasets.load_from_disk('FOLDER'){split}.to_parquet('base.parquet')\"`"
        )
    };
    // A table format keeps files of removed rows, so its own reader must choose the files.
    let duckdb = |from: &str| format!("`duckdb -c \"copy (from {from}) to 'base.parquet'\"`");
    if has("dataset_dict.json") {
        return format!("{} for each of its splits", datasets("['train']"));
    }
    if has("state.json") {
        return datasets("");
    }
    if has("_delta_log") {
        return duckdb("delta_scan('FOLDER')");
    }
    if has("metadata") && has("data") {
        return duckdb("iceberg_scan('FOLDER')");
    }
    if has("_versions") || has("_latest.manifest") {
        let lance = "`python3 -c \"import lance, pyarrow.parquet; \
             pyarrow.parquet.write_table(lance.dataset('FOLDER').to_table(), 'base.parquet')\"`";
        return lance.to_owned();
    }
    let mut names = fs::read_dir(path).into_iter().flatten().flatten();
    let ending = names.find_map(|entry| {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let texts = [".csv", ".csv.gz", ".json", ".json.gz", ".jsonl"];
        texts.into_iter().find(|ending| name.ends_with(ending))
    });
    match ending {
        Some(ending) => duckdb(&format!("'FOLDER/*{ending}'")),
        None => format!(
            "{}, or with `python3 -c \"import pandas; pandas.read_parquet('FOLDER').to_parquet('base.parquet')\"`",
            duckdb("'FOLDER/**/*.parquet'")
        ),
    }
}

fn known() -> &'static str {
    match (cfg!(feature = "arrow"), cfg!(feature = "text")) {
        (true, true) => {
            ".npy, .fvecs, .bvecs, .fbin, .u8bin, .i8bin, .parquet, .arrow, .feather, .jsonl, .json, .csv or .tsv (.npy \
             or .ivecs for neighbours), or the option that names the format (on the command line --format)"
        }
        _ => ".npy, .fvecs, .bvecs, .fbin, .u8bin or .i8bin (.npy or .ivecs for neighbours)",
    }
}

/// Saves the vectors of a FAISS index, and its ids or the numbers of its vectors. An index of inverted lists (IVF) keeps ids in the
/// lists, and the numbers from 0 are not its ids.
const FAISS: &str = "import faiss, numpy; i = faiss.read_index('FILE'); m = hasattr(i, 'id_map'); b = faiss.downcast_index(i.index) if m \
    else i; v = faiss.try_extract_index_ivf(b); v and v.set_direct_map_type(faiss.DirectMap.Hashtable); n = \
    numpy.concatenate([faiss.rev_swig_ptr(v.invlists.get_ids(l), v.invlists.list_size(l)).copy() for l in \
    range(v.nlist)]).astype('int64') if v else numpy.arange(b.ntotal); numpy.save('ids.npy', faiss.vector_to_array(i.id_map)[n] if m \
    else n); numpy.save('base.npy', numpy.stack([b.reconstruct(int(k)) for k in n]))";

/// Writes the words and vectors of GloVe, word2vec or fastText. A first line may hold two numbers, and a word may have spaces.
const WORDS: &str = "import csv; f = open('FILE', encoding='utf-8'); f.readline(); d = f.readline().rstrip().count(' '); f.seek(0); \
    w = csv.writer(open('base.csv', 'w', newline='', encoding='utf-8')); w.writerow(['id', 'vector']); \
    w.writerows([x[0], '[' + ','.join(x[1:]) + ']'] for x in (l.rstrip().rsplit(' ', d) for l in f) if len(x) != 2)";

/// Writes a table of SQLite, whose vectors may be bytes.
const SQLITE: &str = "import sqlite3, pyarrow, pyarrow.parquet; c = sqlite3.connect('FILE').execute('select * from TABLE'); n = [d[0] for d \
    in c.description]; pyarrow.parquet.write_table(pyarrow.Table.from_pylist([dict(zip(n, r)) for r in c]), 'base.parquet')";

/// The advice for a database of SQLite.
pub(crate) fn sqlite() -> String {
    format!("export the table, with `python3 -c \"{SQLITE}\"`")
}

/// The command that converts this format to a supported one.
fn conversion(ending: &str) -> Option<String> {
    let python = |program: &str| format!("convert it, with `python3 -c \"{program}\"`");
    let table = |read: &str| {
        python(&format!(
            "import pandas; pandas.{read}('FILE').to_parquet('base.parquet')"
        ))
    };
    Some(match ending {
        "hdf5" | "h5" => format!(
            "{}; sets of ann-benchmarks have their queries in 'test'",
            python("import h5py, numpy; numpy.save('base.npy', h5py.File('FILE')['train'][:])")
        ),
        "npz" => format!(
            "it has several arrays, so {}",
            python("import numpy; numpy.save('base.npy', numpy.load('FILE')['NAME'])")
        ),
        "pkl" | "pickle" => format!(
            "it may run code, so read it only if you know who made it; of a DataFrame {}; of an array, which in a dict has ['NAME'] behind \
             it, {}",
            table("read_pickle"),
            python("import numpy, pandas; numpy.save('base.npy', numpy.stack(pandas.read_pickle('FILE')))")
        ),
        "pt" | "pth" => python(
            "import numpy, torch; numpy.save('base.npy', torch.load('FILE', weights_only=True).float().numpy())",
        ),
        "safetensors" => python(
            "import numpy; from safetensors.numpy import load_file; numpy.save('base.npy', load_file('FILE')['NAME'])",
        ),
        // Without these options, pandas makes numbers of texts such as 00007, and drops texts such as NA and None.
        "xls" | "xlsx" => python(
            "import pandas; pandas.read_excel('FILE', dtype=object, keep_default_na=False, na_values=['']).to_parquet('base.parquet')",
        ),
        "orc" => table("read_orc"),
        "mat" => python(
            "import numpy, scipy.io; numpy.save('base.npy', scipy.io.loadmat('FILE')['NAME'])",
        ),
        "faiss" | "index" => format!("{}; build with --ids ids.npy", python(FAISS)),
        "db" | "sqlite" | "sqlite3" => sqlite(),
        "duckdb" => {
            "export the table, with `duckdb FILE \"copy TABLE to 'base.parquet'\"`".to_owned()
        }
        "avro" => {
            "convert it, with `duckdb -c \"copy (from read_avro('FILE')) to 'base.parquet'\"`"
                .to_owned()
        }
        "txt" | "vec" | "dat" => format!(
            "of a table name the format (on the command line --format csv); of rows of numbers alone {}; of words before numbers, as \
             GloVe, word2vec and fastText have, {}",
            python("import numpy; numpy.save('base.npy', numpy.loadtxt('FILE'))"),
            python(WORDS)
        ),
        "bin" | "raw" => format!(
            "numbers alone, which do not say how many a vector has: {}",
            python("import numpy; numpy.save('base.npy', numpy.fromfile('FILE', 'float32').reshape(-1, DIMENSION))")
        ),
        "sql" | "dump" => {
            "export the table from its database, with `psql -c \"\\copy TABLE to 'base.csv' with (format csv, header)\"` or as the database \
             writes CSV"
                .to_owned()
        }
        "zip" => "unpack it, with `unzip FILE`".to_owned(),
        "tar" => "unpack it, with `tar -xf FILE`".to_owned(),
        "bz2" => "unpack it, with `bunzip2 -k FILE`".to_owned(),
        "xz" => "unpack it, with `unxz -k FILE`".to_owned(),
        other if other.ends_with(".gz") || other.ends_with(".gzip") => {
            "unpack it, with `gunzip -k FILE`. Only texts are read packed, and their format has no .gz: --format jsonl".to_owned()
        }
        other if other.ends_with(".zst") || other.ends_with(".zstd") => {
            "unpack it, with `unzstd FILE`. Only texts are read packed, and their format has no .zst: --format jsonl".to_owned()
        }
        _ => return None,
    })
}

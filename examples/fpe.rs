//! Format-preserving encryption of the fields of a small table.
//!
//! ```text
//! cargo run --example fpe
//! ```

use rand::{TryRng, rngs::SysRng};
use sordino_fpe::{AesKey, Alphabet, Ff1, Format, Tweaks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut bytes = [0; 32];
    SysRng.try_fill_bytes(&mut bytes)?;
    let key = AesKey::new_256(&bytes);

    println!("one field of each format, hidden and shown again");
    for (name, text) in [
        ("pan", "4111 1111 1111 1111"),
        ("pan-luhn", "4111111111111111"),
        ("ssn", "123-45-6789"),
        ("phone:4", "+1 (415) 555-0123"),
        ("date", "1984-06-08"),
        ("uuid", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"),
        ("email", "jane.doe@mail.example"),
        ("orcid", "0000-0002-1825-0097"),
        ("alphabet:アイウエオカキクケコ", "アカサ"),
    ] {
        let cipher = name.parse::<Format>()?.cipher(&key)?;
        match cipher.encrypt(b"example", text) {
            Ok(hidden) => {
                let shown = cipher.decrypt(b"example", &hidden)?;
                println!("  {name:<10} {text:<38} {hidden:<38} {}", shown == text);
            }
            Err(error) => println!("  {name:<10} refused: {error}"),
        }
    }

    println!("record ids of a table of 2^32 rows");
    let ids = Ff1::new(&key, 2)?.range(0..=u128::from(u32::MAX))?;
    for id in 0..3 {
        let hidden = ids.encrypt_u64(b"rows", id)?;
        println!("  {id} {hidden:>10} {}", ids.decrypt_u64(b"rows", hidden)?);
    }

    println!("a batch of 100,000 account numbers of 16 digits");
    let plan = Ff1::new(&key, 10)?.plan(16, 8)?;
    let mut records: Vec<u8> = (0..100_000)
        .flat_map(|i| format!("{i:016}").into_bytes())
        .collect();
    let start = std::time::Instant::now();
    plan.encrypt_ascii_batch(&Alphabet::DECIMAL, Tweaks::One(b"accounts"), &mut records)?;
    let each = start.elapsed() / 100_000;
    println!(
        "  {each:?} each; the first: {}",
        String::from_utf8_lossy(&records[..16])
    );
    Ok(())
}

//! Vectors of texts without a model: pieces of words are hashed to coordinates.

/// The number of coordinates of a vector.
pub(super) const DIM: usize = 128;

/// The number of letters of a piece.
const PIECE: usize = 4;

/// The weight of words that occur in most texts.
const SHORT_WORD: f32 = 0.15;

/// The vector of a text, with length 1; `None` if the text has no letters.
pub(super) fn of(text: &str) -> Option<Vec<f32>> {
    let mut vector = vec![0.0_f32; DIM];
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphabetic());
    for word in words.filter(|word| !word.is_empty()) {
        let whole = if word.len() < PIECE && word != "eat" {
            SHORT_WORD
        } else {
            1.0
        };
        add(&mut vector, word.as_bytes(), whole);
        for piece in word
            .as_bytes()
            .windows(PIECE)
            .filter(|_| word.len() > PIECE)
        {
            add(&mut vector, piece, 0.3);
        }
    }
    let len = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    (len > 0.0).then(|| vector.iter().map(|x| x / len).collect())
}

/// Adds a piece at two coordinates, with signs.
fn add(vector: &mut [f32], piece: &[u8], weight: f32) {
    let hash = blake3::hash(piece);
    for bytes in hash.as_bytes()[..4].chunks(2) {
        let at = usize::from(bytes[0]) % DIM;
        vector[at] += if bytes[1] % 2 == 0 { weight } else { -weight };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_words_in_common_are_nearer() {
        let dot = |a: &str, b: &str| -> f32 {
            let (a, b) = (of(a).unwrap(), of(b).unwrap());
            a.iter().zip(&b).map(|(a, b)| a * b).sum()
        };
        let question = "something warm to eat";
        assert!(dot(question, "Pho is a warm soup to eat.") > dot(question, "A saw is a tool."));
        assert!((dot(question, question) - 1.0).abs() < 1e-5);
        assert!(of("12 ?!").is_none() && of("").is_none());
    }
}

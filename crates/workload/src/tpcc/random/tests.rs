//! Tests of the random content: ranges, frequencies, known values.

use super::*;
use std::collections::HashSet;

/// Chi-square of counts against expected counts, less its mean, in standard deviations.
fn chi_square_deviations(counts: &[u32], expected: impl Fn(usize) -> f64) -> f64 {
    let mut chi_square = 0.0;
    let mut degrees_of_freedom = -1.0;
    for (index, count) in counts.iter().enumerate() {
        let expected = expected(index);
        if expected == 0.0 {
            assert_eq!(*count, 0, "at {index}");
            continue;
        }
        chi_square += (f64::from(*count) - expected).powi(2) / expected;
        degrees_of_freedom += 1.0;
    }
    (chi_square - degrees_of_freedom) / (2.0_f64 * degrees_of_freedom).sqrt()
}

#[test]
fn letters_and_digits_are_uniform_at_every_position() {
    let (mut letter_counts, mut digit_counts) = ([0_u32; 128 * 8], [0_u32; 10]);
    let mut out = Vec::new();
    for row in 0..100_000 {
        let mut stream = RandomStream::new(7, Table::Stock, row);
        out.clear();
        stream.push_letters(&mut out, 8, 8);
        for (index, letter) in out.iter().enumerate() {
            letter_counts[index * 128 + usize::from(*letter)] += 1;
        }
        out.clear();
        stream.push_digits(&mut out, 16);
        assert_eq!(out.len(), 16);
        out.iter()
            .for_each(|digit| digit_counts[usize::from(digit - b'0')] += 1);
    }
    let is_letter = |index: usize| ALPHABET.contains(&((index % 128) as u8));
    let deviations = chi_square_deviations(&letter_counts, |index| {
        if is_letter(index) { 100_000.0 / 62.0 } else { 0.0 }
    });
    assert!(
        deviations.abs() < 5.0,
        "letters are {deviations} deviations off"
    );
    let deviations = chi_square_deviations(&digit_counts, |_| 160_000.0);
    assert!(
        deviations.abs() < 5.0,
        "digits are {deviations} deviations off"
    );
}

#[test]
fn lengths_and_numbers_are_uniform_up_to_both_ends() {
    let (mut length_counts, mut number_counts) = ([0_u32; 25], [0_u32; 11]);
    for row in 0..100_000 {
        let mut stream = RandomStream::new(1, Table::Item, row);
        let mut out = Vec::new();
        stream.push_data(&mut out, false);
        length_counts[out.len() - 26] += 1;
        number_counts[stream.uniform(5, 15) as usize - 5] += 1;
    }
    for (counts, expected) in [
        (&length_counts[..], 4_000.0),
        (&number_counts[..], 100_000.0 / 11.0),
    ] {
        let deviations = chi_square_deviations(counts, |_| expected);
        assert!(
            deviations.abs() < 5.0,
            "{deviations} deviations off: {counts:?}"
        );
    }
}

#[test]
fn streams_depend_on_seed_table_and_row() {
    let first_bits = |seed, table, row| RandomStream::new(seed, table, row).next_bits();
    let mut distinct = HashSet::new();
    for seed in 0..10 {
        for table in Table::ALL {
            for row in 0..1000 {
                assert!(distinct.insert(first_bits(seed, table, row)));
                assert_eq!(first_bits(seed, table, row), first_bits(seed, table, row));
            }
        }
    }
}

#[test]
fn original_is_at_any_position_inside_the_data() {
    let mut offsets = HashSet::new();
    for row in 0..20_000 {
        let mut out = b"before".to_vec();
        RandomStream::new(1, Table::Item, row).push_data(&mut out, true);
        let text = std::str::from_utf8(&out).expect("letters");
        let offset = text.find("ORIGINAL").expect("holds it") - 6;
        assert!((26..=50).contains(&(out.len() - 6)) && out.starts_with(b"before"));
        offsets.insert(offset);
    }
    assert_eq!(offsets, (0..=42).collect());
}

#[test]
fn zips_end_in_11111() {
    let mut out = Vec::new();
    RandomStream::new(3, Table::Warehouse, 1).push_zip(&mut out);
    assert!(out.len() == 9 && out.ends_with(b"11111"), "{out:?}");
    assert!(out.iter().all(u8::is_ascii_digit));
}

/// Compares with the exact frequencies, obtained by counting all pairs of draws.
#[test]
fn non_uniform_numbers_have_the_frequencies_of_the_formula() {
    let nurand = NuRand::LOAD_LAST_NAMES;
    let mut pair_counts = [0_u32; 1000];
    for first in 0..=255_u32 {
        for second in 0..=999_u32 {
            pair_counts[(((first | second) + 123) % 1000) as usize] += 1;
        }
    }
    let mut stream = RandomStream::new(5, Table::Customer, 0);
    let mut counts = [0_u32; 1000];
    for _ in 0..1_000_000 {
        let number = nurand.draw(|low, high| stream.uniform(low, high));
        counts[number as usize] += 1;
    }
    let deviations =
        chi_square_deviations(&counts, |index| f64::from(pair_counts[index]) * 1e6 / 256e3);
    assert!(deviations.abs() < 5.0, "{deviations} deviations off");
    let customer = RunConstants::new(1).customer;
    let numbers = (0..100_000).map(|_| customer.draw(|low, high| stream.uniform(low, high)));
    let numbers: HashSet<u32> = numbers.collect();
    assert!(numbers.iter().all(|number| (1..=3000).contains(number)));
    assert!(numbers.len() > 1_500);
}

#[test]
fn run_constants_keep_the_specified_distance_from_the_load() {
    let mut distinct = HashSet::new();
    for seed in 0..2_000 {
        let run = RunConstants::new(seed);
        assert_eq!(run, RunConstants::new(seed));
        let distance = run.last_name.c.abs_diff(NuRand::LOAD_LAST_NAMES.c);
        assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
        assert!(run.last_name.c <= 255 && run.customer.c <= 1023 && run.item.c <= 8191);
        distinct.insert(run.last_name.c);
    }
    assert_eq!(
        distinct.len(),
        2 * 53,
        "every allowed distance, in both directions"
    );
}

#[test]
fn last_names_match_the_specification() {
    let names = LastNames::new();
    for (number, name) in [
        (0, "BARBARBAR"),
        (371, "PRICALLYOUGHT"),
        (777, "CALLYCALLYCALLY"),
        (999, "EINGEINGEING"),
    ] {
        assert_eq!(names.get(number), name);
    }
    let distinct: HashSet<&str> = (0..1000).map(|number| names.get(number)).collect();
    assert_eq!(distinct.len(), 1000);
    assert!(distinct.iter().all(|name| name.len() <= 16));
}

#[test]
fn permutations_are_bijective_and_differ() {
    for n in [1, 2, 10, 900, 3_000, 100_000] {
        let permutation = Permutation::new(1, Table::Orders, 5, n);
        let reached: HashSet<u32> = (0..n).map(|index| permutation.at(index)).collect();
        assert_eq!(reached.len() as u32, n);
        assert!(reached.iter().all(|index| *index < n));
    }
    // The mean number of fixed points is 1, whatever the size.
    let fixed_points = |number| {
        let permutation = Permutation::new(1, Table::Orders, number, 3_000);
        (0..3_000)
            .filter(|index| permutation.at(*index) == *index)
            .count()
    };
    let total_fixed_points: usize = (0..500).map(fixed_points).sum();
    assert!(
        (380..=620).contains(&total_fixed_points),
        "{total_fixed_points} in 500"
    );
    // Over many permutations, the images of a position cover the range evenly.
    let mut images_by_tenth = [0_u32; 10];
    for number in 0..10_000 {
        let image = Permutation::new(1, Table::Orders, number, 3_000).at(17);
        images_by_tenth[image as usize / 300] += 1;
    }
    let deviations = chi_square_deviations(&images_by_tenth, |_| 1_000.0);
    assert!(
        deviations.abs() < 5.0,
        "{deviations} deviations off: {images_by_tenth:?}"
    );
}

// What library.lee does, with Rust's standard library as it comes.
use std::collections::HashMap;

struct Random(u64);
impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as u32
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let n: i32 = args[2].parse().unwrap();
    let mut random = Random(1);
    let mut sum: u64 = 0;
    match args[1].as_str() {
        "v" => {
            for _ in 0..10 {
                let mut v: Vec<i32> = vec![];
                for i in 0..n {
                    v.push(std::hint::black_box(i));
                }
                for &x in &v {
                    sum += x as u32 as u64;
                }
            }
        }
        "m" => {
            let mut m: HashMap<i32, i32> = HashMap::new();
            for i in 0..n {
                let e = m.entry((random.next() % (2 * n as u32)) as i32).or_insert(0);
                *e = e.wrapping_add(i);
            }
            for i in 0..2 * n {
                sum += *m.get(&i).unwrap_or(&1) as u32 as u64;
            }
        }
        "w" => {
            use std::fmt::Write;
            let mut m: HashMap<String, i32> = HashMap::new();
            let mut word = String::new();
            for _ in 0..n {
                word.clear();
                write!(word, "word{}", random.next() % (n as u32 / 4)).unwrap();
                match m.get_mut(word.as_str()) {
                    Some(k) => *k += 1,
                    None => drop(m.insert(word.clone(), 1)),
                }
            }
            sum = m.values().map(|&k| k as u32 as u64 * k as u32 as u64).sum();
        }
        "s" => {
            let mut v: Vec<i32> = (0..n).map(|_| random.next() as i32).collect();
            v.sort_unstable();
            sum = v.iter().fold(0u64, |s, &x| s.wrapping_mul(31).wrapping_add(x as u32 as u64));
        }
        _ => {
            for _ in 0..10 {
                let mut s = String::new();
                for i in 0..n {
                    s.push_str("some ");
                    s.push((b'a' + (i % 26) as u8) as char);
                }
                sum += (s.len() + s.as_bytes()[s.len() / 2] as usize) as u64;
            }
        }
    }
    println!("{sum}");
}

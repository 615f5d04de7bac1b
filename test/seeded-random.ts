/** Seeded random: chance that repeats, from a seed (mulberry32). */

/** From 0 up to, not including, 1. */
export function seeded(seed: number): () => number {
  const next = seededWords(seed)
  return () => next() / 4_294_967_296
}

/** Whole numbers below `limit`. */
export function drawing(seed: number): (limit: number) => number {
  const next = seededWords(seed)
  return (limit) => next() % limit
}

function seededWords(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

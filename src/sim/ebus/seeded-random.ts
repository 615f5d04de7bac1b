/**
 * Seeded random: a small seeded random source, so that a run of the virtual house is exactly repeatable.
 *
 * Pure, but for the source it hands out.
 */
export type SeededRandomSource = () => number

/** Numbers in [0, 1), the same ones for the same seed. */
export function createSeededRandomSource(seed: number): SeededRandomSource {
  let state = seed | 0
  return () => {
    const next = nextRandom(state)
    state = next.state
    return next.value
  }
}

/** For state machines that contain their random state. */
export function nextRandom(state: number): { readonly state: number; readonly value: number } {
  // Mulberry32: 32 bits of state are enough for a house that only has to be repeatable.
  const next = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(next ^ (next >>> 15), 1 | next)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return { state: next, value: ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296 }
}

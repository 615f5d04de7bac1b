/**
 * Rate-limited transport: passes an adapter's bytes on in small slices and at a limited rate, however much it sends at
 * once.
 *
 *   received ──▶ slice ▸ (the others' turn) ▸ slice ▸ (a pause, above the rate) ▸ …
 *
 * Bytes that are not taken yet slow a stream's sender down; a flood then takes a share of one processor instead of all
 * of it.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import type { TokenRate } from '../../toolbox/token-bucket.ts'
import { createFullBucket, refillBucket } from '../../toolbox/token-bucket.ts'

/** As much as two seconds of the busiest bus. */
const SLICE_BYTES = 1_024
/**
 * A bus carries 240 symbols a second, which are 480 bytes. Five hundred times as much is more than any simulator sends,
 * and than ebusd's longest listing. The burst covers what a network may delay for minutes and then deliver at once.
 */
const RATE: TokenRate = { tokens: 256, perMs: 1, burst: 262_144 }

export async function* limitReceivedByteRate(
  received: AsyncIterable<Uint8Array>,
  { monotonic }: Pick<Clock, 'monotonic'>,
): AsyncGenerator<Uint8Array, void> {
  let bucket = createFullBucket(RATE, monotonic())
  let sinceTurn = 0
  for await (const bytes of received)
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      const slice = bytes.subarray(at, at + SLICE_BYTES)
      yield slice
      const { tokens, atMs } = refillBucket(bucket, RATE, monotonic())
      bucket = { tokens: tokens - slice.length, atMs }
      sinceTurn += slice.length
      if (bucket.tokens < 0) await pause((-bucket.tokens * RATE.perMs) / RATE.tokens)
      // Many small pieces that wait are as much work as a large one, so their bytes are added up.
      else if (sinceTurn >= SLICE_BYTES) await nextTurn()
      else continue
      sinceTurn = 0
    }
}

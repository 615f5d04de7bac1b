/**
 * The power goes out, 25 times, under load. What the caller was told is on record; what was begun and not finished
 * is closed as aborted; the ledger verifies. `bench/crash.bench.ts` does the same for longer.
 */
import { describe, expect, it } from 'vitest'
import { cutPower } from '../power-cuts.ts'

describe('a gateway after a power cut', () => {
  it('has every acknowledged call, aborts unfinished ones, and its ledger verifies', { timeout: 600_000 }, async () => {
    const aftermath = await cutPower({ kills: 25, callers: 8, longestLoadMs: 250, budgetMs: 60_000 })
    process.stderr.write(
      `${aftermath.kills} power cuts: ${aftermath.acknowledged} calls acknowledged, ${aftermath.aborted} cut off\n`,
    )
    expect(aftermath.findings).toEqual([])
    expect(aftermath.acknowledged).toBeGreaterThan(0)
  })
})

import { describe, expect, it } from 'vitest'
import type { Outcome, StreamFrame } from '../bus/call.ts'
import type { Json } from '../core/json.ts'
import { ok } from '../core/result.ts'
import { EventLoopYieldQueue } from './event-loop-yield-queue.ts'
import { sanitizeStreamFrame, sanitizeOutcome } from './outcome-sanitizer.ts'

/** U+200B, which nobody can see. */
const HIDDEN = '\u200b'
const many = (text: string): Json => Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`n${at}`, text]))
const nested = (levels: number, end: Json): Json => (levels === 0 ? end : { x: nested(levels - 1, end) })

describe('an answer of another node', () => {
  it('is sanitized synchronously when it is small', () => {
    expect(sanitizeOutcome(ok({ data: { name: `a${HIDDEN}b` } }), new EventLoopYieldQueue())).toEqual(
      ok({ data: { name: 'ab' } }),
    )
    const frame: StreamFrame = { event: 'token', data: { text: `a${HIDDEN}b` } }
    expect(sanitizeStreamFrame(frame, new EventLoopYieldQueue())).toEqual({ event: 'token', data: { text: 'ab' } })
  })

  it('is sanitized in event loop turns of its own when it is large, with the same result', async () => {
    let turn = 0
    let isOver = false
    const count = (): void => {
      turn++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const turns = new EventLoopYieldQueue()
    const ends: number[] = []
    const clean = async (): Promise<Outcome> => {
      const outcome = await sanitizeOutcome(ok({ data: many(`a${HIDDEN}b`) }), turns)
      ends.push(turn)
      return outcome
    }
    const outcomes = await Promise.all([clean(), clean(), clean()])
    isOver = true
    expect(outcomes).toEqual([1, 2, 3].map(() => ok({ data: many('ab') })))
    // Three answers of two steps each, and no two steps in one turn.
    expect(new Set(ends).size).toBe(3)
    expect(ends.at(-1)).toBeGreaterThanOrEqual(5)
    expect(await sanitizeStreamFrame({ event: 'token', data: many(`a${HIDDEN}b`) }, turns)).toEqual({
      event: 'token',
      data: many('ab'),
    })
  })

  it('fails when it is nested deeper than 64 levels, whatever its size', () => {
    const deep = { ok: true, value: { data: [nested(70, 1), many('ab')] } } as const
    expect(sanitizeOutcome(deep, new EventLoopYieldQueue())).toMatchObject({
      fault: { kind: 'failed', message: 'The peer answered something that is nested deeper than 64 levels.' },
    })
    const frame: StreamFrame = { event: 'token', data: nested(70, 1) }
    expect(sanitizeStreamFrame(frame, new EventLoopYieldQueue())).toBe(frame)
  })
})

import { describe, expect, it } from 'vitest'
import { ulidToTraceId } from '../core/ids.ts'
import { parseTraceparent } from './traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('traceparent', () => {
  it('is parsed to a trace id with the same bits', () => {
    const parsed = parseTraceparent(`00-${TRACE}-${SPAN}-01`)
    expect(ulidToTraceId(parsed?.traceId ?? '')).toBe(TRACE)
    expect(parsed?.parentSpan).toBe(SPAN)
  })

  it('of a later version is parsed by its known fields', () => {
    expect(parseTraceparent(`01-${TRACE}-${SPAN}-01-more`)?.parentSpan).toBe(SPAN)
  })

  it.each([
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}`,
    '',
    undefined,
    7,
  ])('is undefined for %s', (text) => {
    expect(parseTraceparent(text)).toBeUndefined()
  })
})

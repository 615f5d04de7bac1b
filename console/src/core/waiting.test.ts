import { describe, expect, it } from 'vitest'
import { waitingNow } from './waiting.ts'

const open = (id: string) => ({ id, state: 'requested' as const })
const over = (id: string) => ({ id, state: 'approved' as const })

describe('what waits', () => {
  it('is what nobody has answered', () => {
    expect([...waitingNow(new Set(), [open('b'), over('a')])]).toEqual(['b'])
  })

  it('keeps its place when somebody answers it, and so does what is beside it', () => {
    expect([...waitingNow(new Set(['a', 'b']), [open('c'), open('b'), over('a')])]).toEqual(['a', 'b', 'c'])
  })

  it('stays with its answer when it was the last', () => {
    expect([...waitingNow(new Set(['a']), [over('a')])]).toEqual(['a'])
  })

  it('begins anew when something comes and nothing of what was there is open', () => {
    expect([...waitingNow(new Set(['a']), [open('b'), over('a')])]).toEqual(['b'])
  })
})

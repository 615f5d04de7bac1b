import { describe, expect, it } from 'vitest'
import { waitingNow } from './waiting.ts'

const open = (id: string) => ({ id, state: 'requested' as const })
const over = (id: string) => ({ id, state: 'approved' as const })

describe('what waits', () => {
  it('lists the requests without an answer', () => {
    expect([...waitingNow(new Set(), [open('b'), over('a')])]).toEqual(['b'])
  })

  it('keeps its place when it is answered, and so do its neighbours', () => {
    expect([...waitingNow(new Set(['a', 'b']), [open('c'), open('b'), over('a')])]).toEqual(['a', 'b', 'c'])
  })

  it('stays with its answer when it was the last', () => {
    expect([...waitingNow(new Set(['a']), [over('a')])]).toEqual(['a'])
  })

  it('starts a new list when a request arrives and no earlier one is open', () => {
    expect([...waitingNow(new Set(['a']), [open('b'), over('a')])]).toEqual(['b'])
  })
})

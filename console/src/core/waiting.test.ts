import { describe, expect, it } from 'vitest'
import { waitingNow } from './waiting.ts'

const open = (id: string) => ({ id, state: 'requested' as const })
const over = (id: string) => ({ id, state: 'approved' as const })

describe('list of waiting requests', () => {
  it('contains the undecided requests', () => {
    expect([...waitingNow(new Set(), [open('b'), over('a')])]).toEqual(['b'])
  })

  it('keeps a decided request and its neighbours in place', () => {
    expect([...waitingNow(new Set(['a', 'b']), [open('c'), open('b'), over('a')])]).toEqual(['a', 'b', 'c'])
  })

  it('keeps the last request after it was decided', () => {
    expect([...waitingNow(new Set(['a']), [over('a')])]).toEqual(['a'])
  })

  it('starts anew when a request arrives and no earlier one is open', () => {
    expect([...waitingNow(new Set(['a']), [open('b'), over('a')])]).toEqual(['b'])
  })
})

import { describe, expect, it } from 'vitest'

import { fromHex } from '../../core/bytes.ts'
import { recordAddressSent, stepArbitrationContest, newArbitrationContest } from './arbitration-contest.ts'

/** What an initiator that always takes its chance learns, symbol by symbol. */
function play(own: number, trace: string): string[] {
  const contest = newArbitrationContest()
  contest.wanted = own
  return [...fromHex(trace)].map((symbol) => {
    const { mayCompete, mustCompete, outcome, winner, hidden } = stepArbitrationContest(contest, symbol)
    if (mayCompete || mustCompete) recordAddressSent(contest)
    if (outcome === 'lost') return `lost to ${winner.toString(16)}`
    if (outcome === 'won') return 'won'
    if (hidden) return 'hidden'
    return mayCompete ? 'competes' : mustCompete ? 'competes again' : 'symbol'
  })
}

describe('arbitration contest', () => {
  it('is won when the own address is echoed', () => {
    expect(play(0x31, 'aa 31 15')).toEqual(['competes', 'won', 'symbol'])
  })

  it('is lost once another initiator of a higher class continues', () => {
    expect(play(0x31, 'aa 10 08 b5')).toEqual(['competes', 'hidden', 'lost to 10', 'symbol'])
  })

  it('is lost within the class when the other initiator continues', () => {
    expect(play(0x71, 'aa 31 08')).toEqual(['competes', 'hidden', 'lost to 31'])
  })

  it('has a second round when nobody continues and the address seen is of the own class', () => {
    expect(play(0x10, 'aa 00 aa 10 15')).toEqual(['competes', 'hidden', 'competes again', 'won', 'symbol'])
  })

  it('reports the winner of a second round between other initiators', () => {
    expect(play(0x03, 'aa 00 aa 10 15')).toEqual(['competes', 'hidden', 'symbol', 'hidden', 'lost to 10'])
  })

  it('is lost to the address seen when nobody continues', () => {
    expect(play(0x03, 'aa 00 aa aa')).toEqual(['competes', 'hidden', 'symbol', 'lost to 0'])
  })

  it('is not joined in a second round between other initiators', () => {
    expect(play(0x31, '10 aa')).toEqual(['symbol', 'symbol'])
  })

  it('starts again when the own address was not echoed', () => {
    expect(play(0x31, 'aa aa 31')).toEqual(['competes', 'competes', 'won'])
  })
})

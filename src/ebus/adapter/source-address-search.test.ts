import { describe, expect, it } from 'vitest'

import type { Telegram } from '../wire/telegram.ts'
import type { SourceAddressSearch } from './source-address-search.ts'
import {
  SOURCE_ADDRESS_CANDIDATES,
  newSourceAddressSearch,
  noteForeignTelegram,
  handleProbeVerdict,
  noteBusSignal,
  noteSignalLoss,
  nextSourceProbe,
  createProbeTelegram,
} from './source-address-search.ts'

const telegram = (source: number, target = 0xfe): Telegram => ({
  source,
  target,
  primary: 7,
  secondary: 0,
  data: new Uint8Array(),
})

function listening(): SourceAddressSearch {
  const selection = newSourceAddressSearch('auto', 5_000)
  noteBusSignal(selection, 0)
  return selection
}

describe('source address search', () => {
  it('listens for its time, counted from the first signal, before it probes', () => {
    const selection = newSourceAddressSearch('auto', 5_000)
    expect(nextSourceProbe(selection, 60_000)).toBeUndefined()
    noteBusSignal(selection, 60_000)
    expect(nextSourceProbe(selection, 64_999)).toBeUndefined()
    expect(nextSourceProbe(selection, 65_000)).toBe(0xff)
  })

  it('probes the target address of the candidate, with the candidate as source', () => {
    expect(createProbeTelegram(0xff)).toMatchObject({ source: 0xff, target: 0x04, primary: 0x07, secondary: 0x04 })
  })

  it('skips addresses that send telegrams or whose target address receives some', () => {
    const selection = listening()
    noteForeignTelegram(selection, telegram(0xff), 100)
    noteForeignTelegram(selection, telegram(0x10, 0x84), 200)
    expect(nextSourceProbe(selection, 5_000)).toBe(0x3f)
  })

  it('admits an address whose probe is not answered', () => {
    const selection = listening()
    nextSourceProbe(selection, 5_000)
    expect(handleProbeVerdict(selection, 'free', 5_100)).toBeUndefined()
    expect(selection).toMatchObject({ state: 'admitted', address: 0xff })
  })

  it('probes the next address after an answer, and gives up after the last one', () => {
    const selection = listening()
    const probes = [nextSourceProbe(selection, 5_000)]
    while (probes.at(-1) !== undefined) probes.push(handleProbeVerdict(selection, 'taken', 5_100))
    expect(probes.slice(0, -1)).toEqual(SOURCE_ADDRESS_CANDIDATES)
    expect(selection.state).toBe('none-free')
    noteForeignTelegram(
      selection,
      { source: 0xff, target: 0x15, primary: 0x07, secondary: 0x04, data: new Uint8Array() },
      6_000,
    )
    nextSourceProbe(selection, 65_100)
    expect(selection.state).toBe('listening')
    // What was heard once, in noise perhaps, is not taken for ever.
    expect(nextSourceProbe(selection, 70_100)).toBe(0xff)
  })

  it('listens again after a probe with an unclear result', () => {
    const selection = listening()
    nextSourceProbe(selection, 5_000)
    handleProbeVerdict(selection, 'unclear', 6_000)
    expect(selection).toMatchObject({ state: 'listening', untilMs: 11_000 })
  })

  it('restarts when the signal is lost before it has an address, and keeps an admitted one', () => {
    const selection = listening()
    noteSignalLoss(selection)
    expect(nextSourceProbe(selection, 60_000)).toBeUndefined()
    const fixed = newSourceAddressSearch(0x31, 5_000)
    noteSignalLoss(fixed)
    expect(fixed.state).toBe('admitted')
  })

  it('gives up a chosen address that another initiator uses', () => {
    const selection = listening()
    nextSourceProbe(selection, 5_000)
    handleProbeVerdict(selection, 'free', 5_100)
    noteForeignTelegram(selection, telegram(0xff), 9_000)
    expect(selection).toMatchObject({ state: 'listening', address: undefined })
    expect(nextSourceProbe(selection, 14_000)).toBe(0x7f)
  })

  it('sends nothing with a configured address while another initiator uses it', () => {
    const selection = newSourceAddressSearch(0x31, 5_000)
    noteForeignTelegram(selection, telegram(0x31), 1_000)
    expect(selection.state).toBe('not-ours')
    nextSourceProbe(selection, 60_000)
    expect(selection.state).toBe('not-ours')
    nextSourceProbe(selection, 61_000)
    expect(selection.state).toBe('admitted')
  })

  it('refuses an address that is not an initiator address', () => {
    expect(() => newSourceAddressSearch(0x15, 5_000)).toThrow(RangeError)
  })
})

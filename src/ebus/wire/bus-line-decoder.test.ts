import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import type { BusLineEvent, BusLineDecoderState } from './bus-line-decoder.ts'
import { STREAM_GAP_SYMBOL, newBusLineDecoder, stepBusLineDecoder } from './bus-line-decoder.ts'

/** Hex pairs as the wire carries them; `--` is silence. */
function play(trace: string, line: BusLineDecoderState = newBusLineDecoder()): string[] {
  const formatted: string[] = []
  for (const word of trace.trim().split(/\s+/)) {
    const event = stepBusLineDecoder(line, word === '--' ? STREAM_GAP_SYMBOL : Number.parseInt(word, 16))
    if (event !== undefined) formatted.push(format(event))
  }
  return formatted
}

function format(event: BusLineEvent): string {
  if (event.kind === 'broken') return `${event.reason} ${toHex(event.command)}/${toHex(event.response)}`
  const { telegram, response, commandRepeats, responseRepeats } = event.exchange
  const service = Uint8Array.of(telegram.source, telegram.target, telegram.primary, telegram.secondary)
  const again = commandRepeats + responseRepeats > 0 ? ` repeats ${commandRepeats},${responseRepeats}` : ''
  return `${toHex(service)} ${toHex(telegram.data)}${response === undefined ? '' : ` > ${toHex(response)}`}${again}`
}

describe('bus line decoder', () => {
  it('ignores symbols until the first SYN', () => {
    const line = newBusLineDecoder()
    expect(play('31 fe 07 fe 00 35 aa aa', line)).toEqual([])
    expect(line.noise).toBe(6)
  })

  it('reports a broadcast at its CRC', () => {
    expect(play('aa 31 fe 07 fe 00 35')).toEqual(['31fe07fe '])
  })

  it('reports a telegram between initiators at the ACK', () => {
    expect(play('aa 10 00 b5 05 04 27 00 24 00 d9')).toEqual([])
    expect(play('aa 10 00 b5 05 04 27 00 24 00 d9 00 aa')).toEqual(['1000b505 27002400'])
  })

  it('reports a request and its answer at the initiator’s ACK', () => {
    expect(play('aa 31 15 07 04 00 8b 00 0a b5 43 54 4c 56 32 05 14 07 04 fb 00 aa')).toEqual([
      '31150704  > b543544c563205140704',
    ])
  })

  it('reports an empty answer as an answer', () => {
    expect(play('aa 31 15 07 04 00 8b 00 00 00 00 aa')).toEqual(['31150704  > '])
  })

  it('reads an escaped AA in the data as data, not as SYN', () => {
    expect(play('aa 10 fe b5 05 04 27 a9 00 15 a9 01 77 aa')).toEqual(['10feb505 27a915aa'])
  })

  it('reads an escaped CRC', () => {
    expect(play('aa 31 08 b5 09 01 25 49 00 09 31 30 30 30 32 34 36 30 31 a9 00 00 aa')).toEqual([
      '3108b509 25 > 313030303234363031',
    ])
  })

  it('counts the repeat of a command that was refused once', () => {
    expect(play('aa 31 08 07 04 00 d2 ff 31 08 07 04 00 d1 00 00 00 00 aa')).toEqual(['31080704  >  repeats 1,0'])
  })

  it('counts the repeat of an answer that was refused once', () => {
    expect(play('aa 31 08 07 04 00 d1 00 01 01 9b ff 01 01 9a 00 aa')).toEqual(['31080704  > 01 repeats 0,1'])
  })

  it.each([
    ['a lone address', 'aa 10 aa', 'arbitration 10/'],
    ['a sender that may not speak first', 'aa 15 08', 'invalid-source 15/'],
    ['an escaped target', 'aa 31 a9 01', 'invalid-target 31aa/'],
    ['an escape of nothing', 'aa 31 08 a9 02', 'invalid-escape 3108/'],
    ['a SYN inside the command', 'aa 31 08 07 04 aa', 'cut-command 31080704/'],
    ['a SYN inside an escape pair', 'aa 31 08 07 04 01 a9 aa', 'cut-command 3108070401/'],
    ['a broadcast with a wrong CRC', 'aa 31 fe 07 fe 00 36', 'command-crc 31fe07fe0036/'],
    ['a garbled command that its target accepts', 'aa 31 08 07 04 00 d2 00', 'command-crc 3108070400d2/'],
    ['a target that is not there', 'aa 31 08 07 04 00 d1 aa', 'no-ack 3108070400d1/'],
    ['an acknowledge that is none', 'aa 31 08 07 04 00 d1 01', 'unexpected-symbol 3108070400d1/'],
    ['a refusal nobody reacts to', 'aa 31 08 07 04 00 d1 ff aa', 'nak 3108070400d1/'],
    ['a second refusal', 'aa 31 08 07 04 00 d1 ff 31 08 07 04 00 d1 ff', 'nak 3108070400d1/'],
    ['a repeat by someone else', 'aa 31 08 07 04 00 d1 ff 10', 'unexpected-symbol 3108070400d1/'],
    ['an acknowledge without an answer', 'aa 31 08 07 04 00 d1 00 aa', 'no-response 3108070400d1/'],
    ['half an answer', 'aa 31 08 07 04 00 d1 00 02 01 aa', 'cut-response 3108070400d1/0201'],
    ['an answer nobody acknowledges', 'aa 31 08 07 04 00 d1 00 01 01 9a aa', 'no-final-ack 3108070400d1/01019a'],
    ['a garbled answer that is accepted', 'aa 31 08 07 04 00 d1 00 01 01 9b 00', 'response-crc 3108070400d1/01019b'],
    ['an answer refused twice', 'aa 31 08 07 04 00 d1 00 01 01 9a ff 01 01 9a ff', 'response-nak 3108070400d1/01019a'],
    ['a hole in the stream', 'aa 31 08 07 --', 'silence 310807/'],
  ])('reports the cause when it drops %s, and decodes the next telegram', (_, trace, why) => {
    expect(play(`${trace} aa aa 31 fe 07 fe 00 35 aa`)).toEqual([why, '31fe07fe '])
  })

  it('waits for a SYN after silence', () => {
    expect(play('aa -- 31 fe 07 fe 00 35 aa')).toEqual([])
  })

  it('accepts a part of 255 bytes, the longest that a length byte can announce', () => {
    const line = newBusLineDecoder()
    for (const symbol of fromHex('aa 31 08 07 04 ff')) stepBusLineDecoder(line, symbol)
    for (let index = 0; index < 255; index++) stepBusLineDecoder(line, 0x11)
    expect(line.phase).toBe('command')
    stepBusLineDecoder(line, 0x11)
    expect(line.phase).toBe('command-ack')
  })
})

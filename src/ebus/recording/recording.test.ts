/** Recordings, and what nobody has described in them. */
import { describe, expect, it } from 'vitest'
import { fromHex, toUtf8 } from '../../core/bytes.ts'
import { UnknownTelegramGrouper } from './unknown-telegram-grouper.ts'
import { parseBusRecording, formatRecordingHeader, formatRecordingLine } from './recording.ts'

describe('bus recording', () => {
  it('is read as it was written', () => {
    const pieces = [
      { atMs: 0, symbols: fromHex('aa aa aa') },
      { atMs: 41, symbols: fromHex('10 08 b5 11 01 01 89 00') },
    ]
    const text = formatRecordingHeader('2026-11-17T20:30:00.000Z') + pieces.map(formatRecordingLine).join('')
    expect(parseBusRecording(toUtf8(text))).toEqual({
      ok: true,
      value: { startedAt: '2026-11-17T20:30:00.000Z', pieces },
    })
  })

  it('names the number of an invalid line', () => {
    expect(parseBusRecording(toUtf8(`${formatRecordingHeader('now')}0 aa\n# a note\n5 a\n`))).toEqual({
      ok: false,
      fault: 'line 4 is no piece of a recording',
    })
  })

  it('reads an ebusd dump as symbols at 2400 Bd', () => {
    const read = parseBusRecording(new Uint8Array(500).fill(0xaa))
    expect(read.ok ? read.value.pieces.map(({ atMs, symbols }) => [Math.round(atMs), symbols.length]) : read).toEqual([
      [0, 240],
      [1_000, 240],
      [2_000, 20],
    ])
  })
})

describe('telegram grabber', () => {
  it('counts constant bytes and marks those that change', () => {
    const grab = new UnknownTelegramGrouper()
    // The first two differ in the answer, the third asks something else.
    for (const [command, response] of [
      ['01', '4a4b'],
      ['01', '4a4c'],
      ['02', '07'],
    ] as const)
      grab.add({
        telegram: { source: 0x10, target: 0x08, primary: 0xb5, secondary: 0x11, data: fromHex(command) },
        response: fromHex(response),
        commandRepeats: 0,
        responseRepeats: 0,
      })
    expect(grab.telegrams()).toMatchObject([
      { times: 2, source: 0x10, target: 0x08, service: 'b511', command: '01', response: '4a??' },
      { times: 1, command: '02', response: '07' },
    ])
  })
})

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/any-text.ts'
import { runHomeseerSimulatorCommand } from './simulator-commands.ts'
import { createNoHomeseerFaults } from './simulated-faults.ts'
import { startHomeseerSimulator, type HomeseerSimulator } from './homeseer-server.ts'

let simulator: HomeseerSimulator
beforeAll(async () => {
  simulator = await startHomeseerSimulator({ host: '127.0.0.1', httpPort: 0, asciiPort: 0 })
})
afterAll(() => simulator.stop())

const type = (line: string): string => runHomeseerSimulatorCommand(simulator, line)

describe('commands of the HomeSeer simulator', () => {
  it('set and reset every fault', () => {
    const lines = ['stuck 131', 'refuse 120', 'delay 5', 'settle 20', 'drop 1', 'drop-after 2', 'truncate 3']
    for (const line of [...lines, 'fail 503 4', 'ERROR on', ' json off ', 'push off', 'deaf on', 'adapter off'])
      expect(type(line)).toBe('done')
    expect(JSON.parse(type('faults'))).toEqual({
      ...createNoHomeseerFaults(),
      stuck: [131],
      refused: [120],
      replyDelayMs: 5,
      settleMs: 20,
      dropBefore: 1,
      dropAfter: 2,
      truncate: 3,
      failWith: { status: 503, times: 4 },
      bareError: true,
      jsonDisabled: true,
      pushSilent: true,
      asciiDeaf: true,
      adapterMissing: true,
      deeds: 0,
    })
    const back = ['stuck 131 off', 'refuse 120 off', 'delay 0', 'settle 10', 'drop 0', 'drop-after 0', 'truncate 0']
    for (const line of [...back, 'fail 500 0', 'error off', 'json on', 'push on', 'deaf off', 'adapter on']) type(line)
    expect(JSON.parse(type('faults'))).toMatchObject({ ...createNoHomeseerFaults(), stuck: [], refused: [] })
  })

  it('move and show a device, and drop connections', async () => {
    expect(type('move 120 255')).toBe('done')
    await expect.poll(() => JSON.parse(type('show 120')) as unknown).toMatchObject({ stored: { value: 255 } })
    expect(['hang-up ascii', 'hang-up http'].map(type)).toEqual(['done', 'done'])
  })

  it.each([
    ['', 'commands: '],
    ['constructor', 'commands: '],
    ['move', 'move <ref> <value>'],
    ['move 120 -1', 'move <ref> <value>'],
    ['move 4711 1', 'there is no device 4711'],
    ['stuck 120 maybe', 'stuck <ref> [off]'],
    ['fail 99 1', 'fail <status> <answers>'],
    ['json perhaps', 'json on|off'],
    ['hang-up gently', 'hang-up http|ascii'],
    ['show', 'show <ref>'],
  ])('answer %j with the correct form', (line, says) => {
    expect(type(line)).toContain(says)
  })

  it('never throw on any text', () => {
    fc.assert(
      fc.property(anyText(), (line) => {
        expect(type(`show ${line}`)).toBeTypeOf('string')
      }),
    )
  })
})

import { describe, expect, it } from 'vitest'

import { createInitialHouseState } from '../initial-house-state.ts'
import { runEbusSimulatorCommand } from './simulator-commands.ts'

/** Writes down what it is told to do. */
function recorder() {
  const told: string[] = []
  const note =
    (name: string) =>
    (...numbers: (number | undefined)[]): void =>
      void told.push([name, ...numbers.filter((each) => each !== undefined)].join(' '))
  const faults = {
    corruptCrc: note('corrupt'),
    dropByte: note('drop'),
    stickBus: note('stick'),
    slowResponse: note('slow'),
    arbitrationStorm: note('storm'),
    tcpDrop: note('tcp'),
    adapterReset: note('reset'),
  }
  return { told, simulator: { faults, house: () => createInitialHouseState(1, 0), symbols: () => 7 } }
}

describe('commands of the eBUS simulator', () => {
  it('inject faults', () => {
    const { told, simulator } = recorder()
    const lines = ['corrupt-crc 3', 'drop-byte', 'stick-bus 2000', 'slow-response 60 2', 'arbitration-storm 20']
    for (const line of [...lines, 'TCP-DROP 500', ' adapter-reset '])
      expect(runEbusSimulatorCommand(simulator, line)).toBe('done')
    expect(told).toEqual(['corrupt 3', 'drop', 'stick 2000', 'slow 60 2', 'storm 20', 'tcp 500', 'reset'])
  })

  it('print the state of the house', () => {
    expect(JSON.parse(runEbusSimulatorCommand(recorder().simulator, 'house'))).toMatchObject({
      symbols: 7,
      zones: [{ name: 'Living' }, {}],
    })
  })

  it.each([
    ['stick-bus', 'usage: stick-bus <ms>'],
    ['stick-bus soon', 'usage: stick-bus <ms>'],
    ['stick-bus -1', 'usage: stick-bus <ms>'],
    ['drop-byte 1 2', 'usage: drop-byte [symbols]'],
  ])('answer the mistyped %j with its usage', (line, answer) => {
    expect(runEbusSimulatorCommand(recorder().simulator, line)).toBe(answer)
  })

  it.each(['', 'help', 'constructor', 'what?'])('are listed for %j', (line) => {
    expect(runEbusSimulatorCommand(recorder().simulator, line)).toMatch(/^commands: corrupt-crc/)
  })
})

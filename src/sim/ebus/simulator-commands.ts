/**
 * Simulator commands: the commands that a person types into the running simulator, one per line.
 *
 *   corrupt-crc 3   drop-byte   stick-bus 2000   slow-response 60 2   arbitration-storm 20   tcp-drop 500
 *   adapter-reset   house       help
 */
import type { EbusSimulator } from './simulator-server.ts'

type Controlled = Pick<EbusSimulator, 'faults' | 'house' | 'symbols'>

interface Verb {
  readonly usage: string
  /** The least and the greatest number of arguments. */
  readonly takes: readonly [min: number, max: number]
  readonly act: (simulator: Controlled, numbers: readonly number[]) => string
}

/** Faults return nothing, but a person who typed a command expects an answer. */
const done = (act: void): string => (act === undefined ? 'done' : '')

const VERBS: Readonly<Record<string, Verb>> = {
  'corrupt-crc': {
    usage: 'corrupt-crc [answers]',
    takes: [0, 1],
    act: ({ faults }, [times]) => done(faults.corruptCrc(times)),
  },
  'drop-byte': {
    usage: 'drop-byte [symbols]',
    takes: [0, 1],
    act: ({ faults }, [times]) => done(faults.dropByte(times)),
  },
  'stick-bus': {
    usage: 'stick-bus <ms>',
    takes: [1, 1],
    act: ({ faults }, [ms = 0]) => done(faults.stickBus(ms)),
  },
  'slow-response': {
    usage: 'slow-response <ms> [answers]',
    takes: [1, 2],
    act: ({ faults }, [ms = 0, times]) => done(faults.slowResponse(ms, times)),
  },
  'arbitration-storm': {
    usage: 'arbitration-storm <telegrams>',
    takes: [1, 1],
    act: ({ faults }, [telegrams = 0]) => done(faults.arbitrationStorm(telegrams)),
  },
  'tcp-drop': {
    usage: 'tcp-drop [refuse for ms]',
    takes: [0, 1],
    act: ({ faults }, [ms]) => done(faults.tcpDrop(ms)),
  },
  'adapter-reset': { usage: 'adapter-reset', takes: [0, 0], act: ({ faults }) => done(faults.adapterReset()) },
  house: {
    usage: 'house',
    takes: [0, 0],
    act: ({ house, symbols }) => JSON.stringify({ symbols: symbols(), ...house() }, undefined, 2),
  },
}

const HELP = `commands: ${Object.values(VERBS)
  .map(({ usage }) => usage)
  .join(' | ')}`

/** Returns the text to print. Never throws: a typing error is answered with the right form. */
export function runEbusSimulatorCommand(simulator: Controlled, line: string): string {
  const [word = '', ...rest] = line.trim().toLowerCase().split(/\s+/)
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined
  if (verb === undefined) return HELP
  const numbers = rest.map(Number)
  const [min, max] = verb.takes
  const right = rest.length >= min && rest.length <= max && numbers.every((each) => Number.isInteger(each) && each >= 0)
  return right ? verb.act(simulator, numbers) : `usage: ${verb.usage}`
}

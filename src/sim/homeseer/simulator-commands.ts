/**
 * Simulator commands: the commands that a person types into the running simulator, to change devices or cause faults.
 *
 *   move 120 255   stuck 131   refuse 120   delay 500   settle 3000   error on   json off   fail 503 2
 *   drop 1   drop-after 1   truncate 1   hang-up ascii   push off   deaf on   adapter off   show 120   faults   help
 */
import type { SimulatedHomeseerFaults } from './simulated-faults.ts'
import type { HomeseerSimulator } from './homeseer-server.ts'

type Controlled = Pick<HomeseerSimulator, 'house' | 'system' | 'faults' | 'move' | 'hangUp'>

/** Returns `undefined` if the arguments do not fit the command. */
type Act = (simulator: Controlled, words: readonly string[]) => string | undefined

interface Verb {
  readonly usage: string
  readonly act: Act
}

const DONE = 'done'

const VERBS: Readonly<Record<string, Verb>> = {
  move: {
    usage: 'move <ref> <value>',
    act: ({ house, move }, words) => {
      const [ref, value] = words.map(numberOf)
      if (ref === undefined || value === undefined) return undefined
      if (house.hardware(ref) === undefined) return `there is no device ${ref}`
      move(ref, value)
      return DONE
    },
  },
  stuck: { usage: 'stuck <ref> [off]', act: marked((faults) => faults.stuck) },
  refuse: { usage: 'refuse <ref> [off]', act: marked((faults) => faults.refused) },
  delay: { usage: 'delay <ms>', act: counted((faults, ms) => (faults.replyDelayMs = ms)) },
  settle: { usage: 'settle <ms>', act: counted((faults, ms) => (faults.settleMs = ms)) },
  drop: { usage: 'drop <connections>', act: counted((faults, times) => (faults.dropBefore = times)) },
  'drop-after': { usage: 'drop-after <connections>', act: counted((faults, times) => (faults.dropAfter = times)) },
  truncate: { usage: 'truncate <answers>', act: counted((faults, times) => (faults.truncate = times)) },
  fail: {
    usage: 'fail <status> <answers>',
    act: ({ faults }, words) => {
      const [status, times] = words.map(numberOf)
      if (status === undefined || status < 200 || status > 599 || times === undefined) return undefined
      faults.failWith = { status, times }
      return DONE
    },
  },
  error: { usage: 'error on|off', act: switched((faults, on) => (faults.bareError = on)) },
  json: { usage: 'json on|off', act: switched((faults, on) => (faults.jsonDisabled = !on)) },
  push: { usage: 'push on|off', act: switched((faults, on) => (faults.pushSilent = !on)) },
  deaf: { usage: 'deaf on|off', act: switched((faults, on) => (faults.asciiDeaf = on)) },
  adapter: { usage: 'adapter on|off', act: switched((faults, on) => (faults.adapterMissing = !on)) },
  'hang-up': {
    usage: 'hang-up http|ascii',
    act: ({ hangUp }, [port]) => {
      if (port !== 'http' && port !== 'ascii') return undefined
      hangUp(port)
      return DONE
    },
  },
  show: {
    usage: 'show <ref>',
    act: ({ house }, [word = '']) => {
      const ref = numberOf(word)
      if (ref === undefined) return undefined
      const record = house.record(ref)
      if (record === undefined) return `there is no device ${ref}`
      return JSON.stringify({ ref, name: record.name, hardware: house.hardware(ref), stored: house.stored(ref) })
    },
  },
  faults: {
    usage: 'faults',
    act: ({ faults, system }) =>
      JSON.stringify({
        ...faults,
        stuck: [...faults.stuck],
        refused: [...faults.refused],
        deeds: system.deeds.length,
      }),
  },
}

const HELP = `commands: ${Object.values(VERBS)
  .map(({ usage }) => usage)
  .join(' | ')}`

/** Returns the text to print. Never throws: a typing error is answered with the right form. */
export function runHomeseerSimulatorCommand(simulator: Controlled, line: string): string {
  const [word = '', ...rest] = line.trim().toLowerCase().split(/\s+/)
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined
  return verb === undefined ? HELP : (verb.act(simulator, rest) ?? verb.usage)
}

function marked(setOf: (faults: SimulatedHomeseerFaults) => Set<number>): Act {
  return ({ faults, house }, [word = '', off]) => {
    const ref = numberOf(word)
    if (ref === undefined || (off !== undefined && off !== 'off')) return undefined
    if (house.hardware(ref) === undefined) return `there is no device ${ref}`
    if (off === undefined) setOf(faults).add(ref)
    else setOf(faults).delete(ref)
    return DONE
  }
}

function counted(set: (faults: SimulatedHomeseerFaults, count: number) => void): Act {
  return ({ faults }, [word = '']) => {
    const count = numberOf(word)
    if (count === undefined) return undefined
    set(faults, count)
    return DONE
  }
}

function switched(set: (faults: SimulatedHomeseerFaults, on: boolean) => void): Act {
  return ({ faults }, [word]) => {
    if (word !== 'on' && word !== 'off') return undefined
    set(faults, word === 'on')
    return DONE
  }
}

/** Parses a whole number that is not negative and not too large. */
function numberOf(word: string): number | undefined {
  return /^\d{1,9}$/.test(word) ? Number(word) : undefined
}

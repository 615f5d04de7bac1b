/**
 * ASCII answer: what the simulated HomeSeer answers to a line on port 11000.
 *
 * Pure, given the world it is handed.
 */
import { decodeAsciiCommand, joinAsciiFields } from '../../homeseer/wire/ascii.ts'
import { findSimulatedUserByPassword, maySimulatedUserControl } from './login.ts'
import { recordSimulatedChangeAttempt } from './simulated-system.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** The answer, without its line end. */
export function answerAsciiLine(
  world: SimulatedWorld,
  line: string,
  from: { readonly address: string; readonly nowMs: number },
): string {
  const { house, system, asciiUsers } = world
  const { address, nowMs } = from
  const command = decodeAsciiCommand(line)
  if (command?.kind === 'login') {
    const user = findSimulatedUserByPassword(system, command.user, command.password)
    // Guests may not use this port at all.
    if (user === undefined || !maySimulatedUserControl(user)) return 'error, login failed'
    asciiUsers.set(address, user)
    return 'ok'
  }
  const user = asciiUsers.get(address)
  // The login is by address: a second connection of the same client need not log in again.
  if (user === undefined && system.passwordRequired) return 'error, not authorized'
  const by = { user: user?.username ?? 'local', nowMs }
  switch (command?.kind) {
    case 'logout':
      asciiUsers.delete(address)
      return 'ok'
    case 'version':
      return system.version
    case 'control-value': {
      const { ref, value } = command
      const done = house.controlByValue(ref, value, by)
      return recordSimulatedChangeAttempt(system, { kind: 'control', ref, value, done }) ? 'ok' : 'error'
    }
    case 'control-label': {
      const { ref, label } = command
      const done = house.controlByLabel(ref, label, by)
      return recordSimulatedChangeAttempt(system, { kind: 'control', ref, text: label, done }) ? 'ok' : 'error'
    }
    case 'status':
      return listed(world, command.ref, statusLine)
    case 'controls':
      return listed(world, command.ref, controlLine)
    default:
      return 'error'
  }
}

function listed(
  world: SimulatedWorld,
  ref: number | undefined,
  lineOf: (world: SimulatedWorld, ref: number) => string,
): string {
  if (ref === undefined) return world.house.refs.map((one) => lineOf(world, one)).join('|')
  return world.house.record(ref) === undefined ? 'error' : lineOf(world, ref)
}

function statusLine({ house }: SimulatedWorld, ref: number): string {
  const record = house.record(ref)
  const parent = record?.relationship === 4 ? (record.associatedRefs[0] ?? 0) : 0
  // `joinAsciiFields` escapes commas in names, because commas separate the fields.
  return joinAsciiFields([
    ref,
    parent,
    record?.status ?? '',
    record?.name ?? '',
    record?.location2 ?? '',
    record?.location ?? '',
  ])
}

function controlLine({ house }: SimulatedWorld, ref: number): string {
  const pairs = house
    .pairs(ref)
    .map(({ label, value, range }) => `${label}=${range === undefined ? value : `${range.start}->${range.end}`}`)
  return joinAsciiFields([ref, ...pairs])
}

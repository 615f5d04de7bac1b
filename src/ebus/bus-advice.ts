/**
 * Bus advice: what a person can do about a bus with a problem, in one sentence.
 */
import type { EbusStatus, SourceAddressState } from './adapter/ebus-connection.ts'

export interface BusAdviceContext {
  readonly adapter: string
  /** If nothing is ever sent, an address conflict does not matter. */
  readonly readOnly: boolean
  readonly hasRegulator: boolean
}

/** Returns `undefined` if nothing has to be done. */
export function adviseOnBusStatus(
  status: EbusStatus,
  { adapter, readOnly, hasRegulator }: BusAdviceContext,
): string | undefined {
  const connectionAdvice = adviseOnBusConnection(status, adapter)
  if (connectionAdvice !== undefined) return connectionAdvice
  const about = readOnly ? undefined : sourceAdvice(status.source)
  if (about !== undefined) return about
  return hasRegulator ? undefined : 'No regulator has answered yet. Values appear when one does.'
}

/** Advice about a problem that prevents all reception; `undefined` if there is none. */
export function adviseOnBusConnection(status: EbusStatus, adapter: string): string | undefined {
  const { connected, refusal, signal, misread, unanswered, transport } = status
  if (!connected)
    return `The adapter at ${adapter} is not connected. ${adviseOnRefusal(refusal)} The gateway keeps trying.`
  if (misread === true)
    return transport === 'enh' || transport === 'ens'
      ? `What ${adapter} sends is not the enhanced protocol. If it is a plain adapter, write \`tcp:\`, \`udp:\` or \`serial:\` in front of its address.`
      : `What ${adapter} sends looks like the enhanced protocol. Write \`enh:\` in front of its address.`
  if (signal) return undefined
  if (unanswered === true)
    return transport === 'ebusd-tcp'
      ? `What listens at ${adapter} does not answer like an ebusd. If it is an adapter, write \`enh:\` or \`tcp:\` in front of its address.`
      : `What listens at ${adapter} does not answer like an enhanced adapter. If it is an ebusd, write \`ebusd:\` in front of its address; if it is a plain adapter, \`tcp:\`.`
  return transport === 'tcp-plain'
    ? 'The adapter is connected, but the bus carries no signal: check the two bus wires, and whether the heating has power. If it is an ebusd, write `ebusd:` in front of its address.'
    : 'The adapter is connected, but the bus carries no signal: check the two bus wires, and whether the heating has power.'
}

/** Advice by the system's error code for the missing connection. */
function adviseOnRefusal(refusal: string | undefined): string {
  switch (refusal) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'Its name is not known in this network: check it, or use its IP address.'
    case 'ECONNREFUSED':
      return 'Nothing listens there: is the port right, and is its program running?'
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'This machine has no route to it: is it powered and on the network, and is the address right?'
    case 'ENOENT':
      return 'There is no such device on this machine: is it plugged in, and is the path right?'
    case 'ENOTTY':
      return 'That is not a serial device: check the path.'
    case 'EACCES':
    case 'EPERM':
      return 'This user may not open that device: add the user to the group that owns it (often dialout), and start again.'
    case 'EBUSY':
      return 'Another program uses that device: stop it, or, if it is an ebusd, write `ebusd:` and its address.'
    default:
      return 'Is it powered, on the network, and is the address right?'
  }
}

function sourceAdvice(source: SourceAddressState): string | undefined {
  switch (source) {
    case 'none-free':
      return 'Every address that this gateway could use on the bus is taken. Set `source` to one that is free.'
    case 'not-ours':
      return 'Another device uses the address that `source` gives to this gateway. Set another one, or `auto`.'
    case 'forbidden':
      return 'ebusd sends nothing for others, so that only what it hears is known. Start it with --enablehex.'
    case 'listening':
    case 'probing':
      return 'Listening for a free address on the bus; this takes a few seconds.'
    default:
      return undefined
  }
}

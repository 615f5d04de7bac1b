/**
 * Bus access: whose turn it is at the adapter. The gateway's own initiator and every client of the shared port take
 * turns.
 *
 *   want ▸ (clients take turns, each waits out its lock) ▸ START ▸ started ▸ that client sends ▸ SYN ▸ the next one's turn
 *
 * Each client sees the adapter as if it were its own: it gets `started` or `failed` for itself and plain symbols for
 * what the others send. Only one START is with the adapter at any time, so no client's grant is taken for another's.
 *
 * Pure, but for the access it is given.
 */
import { isInitiatorAddress } from '../wire/address.ts'
import { LOCK_SYN_COUNT_AFTER_SEND, computeLockSynCountAfterLoss } from '../wire/arbitration.ts'
import { ACK, NAK, SYN } from '../wire/symbol.ts'

export type BusClientId = number

export type BusAccessEvent =
  | { readonly kind: 'symbol'; readonly symbol: number }
  | { readonly kind: 'started'; readonly address: number }
  | { readonly kind: 'failed'; readonly winner: number }

export type BusAccessEffect =
  | { readonly kind: 'start'; readonly address: number }
  | { readonly kind: 'cancel-start' }
  | { readonly kind: 'send'; readonly symbol: number }
  | { readonly kind: 'tell'; readonly client: BusClientId; readonly event: BusAccessEvent }

interface WaitingClient {
  wanted: number | undefined
  /** How many SYN to let pass before the next try. */
  lock: number
}

export interface BusAccessState {
  /** Clients in the order of their turns, the next one first. */
  readonly clients: Map<BusClientId, WaitingClient>
  /** The START that is with the adapter now; `syns` counts the SYN that passed without an answer. */
  pendingStart: { readonly client: BusClientId; readonly address: number; syns: number } | undefined
  /** The client that may send. `nobody` owns a bus that was won for a client that no longer wants it. */
  owner: BusClientId | 'nobody' | undefined
  /** The client that acknowledged a foreign telegram, and may send the answer. */
  answering: BusClientId | undefined
  position: number
  /** The number of SYN so far, used as a clock. */
  syns: number
  /**
   * Initiators whose telegrams were complete, and the SYN of the last one: their number determines how long a loser
   * waits.
   */
  readonly observedInitiators: Map<number, number>
}

/** As in ebusd: an adapter that let three SYN pass has forgotten the START. */
const MAX_UNANSWERED_SYNS = 3

export function newBusAccessState(): BusAccessState {
  return {
    clients: new Map(),
    pendingStart: undefined,
    owner: undefined,
    answering: undefined,
    position: 0,
    syns: 0,
    observedInitiators: new Map(),
  }
}

export function addBusClient(access: BusAccessState, client: BusClientId): void {
  access.clients.set(client, { wanted: undefined, lock: 0 })
}

export function removeBusClient(access: BusAccessState, client: BusClientId): BusAccessEffect[] {
  const effects = cancelBusRequest(access, client)
  access.clients.delete(client)
  if (access.owner === client) access.owner = 'nobody'
  return effects
}

export function requestBus(access: BusAccessState, client: BusClientId, address: number): BusAccessEffect[] {
  const found = access.clients.get(client)
  if (found !== undefined) found.wanted = address
  return startNext(access)
}

export function cancelBusRequest(access: BusAccessState, client: BusClientId): BusAccessEffect[] {
  const found = access.clients.get(client)
  if (found !== undefined) found.wanted = undefined
  if (access.pendingStart?.client !== client) return []
  access.pendingStart = undefined
  return [{ kind: 'cancel-start' }, ...startNext(access)]
}

/** What a target is expected to send now in the present telegram, if anything. */
export type ExpectedFromTarget = 'acknowledge' | 'answer' | undefined

/**
 * Lets the owner send, and a target answer a foreign telegram; symbols of other clients are dropped. A client whose
 * telegram was cut off because it was slow still sends the rest, which must not garble a foreign telegram.
 */
export function handleClientSymbol(
  access: BusAccessState,
  client: BusClientId,
  { symbol, expected }: { readonly symbol: number; readonly expected: ExpectedFromTarget },
): BusAccessEffect[] {
  if (access.owner === client) return [{ kind: 'send', symbol }]
  if (access.owner !== undefined || expected === undefined) return []
  if (expected === 'acknowledge') {
    if (symbol !== ACK && symbol !== NAK) return []
    access.answering = client
  }
  return access.answering === client ? [{ kind: 'send', symbol }] : []
}

/** Some twenty minutes of a quiet bus; an initiator that was silent for so long is not waited for. */
const FORGOTTEN_SYNS = 30_000

/**
 * Notes the initiator of a complete foreign telegram with a right checksum. An address in a garbled arbitration is not
 * an initiator.
 */
export function noteInitiator(access: BusAccessState, source: number): void {
  if (isInitiatorAddress(source)) access.observedInitiators.set(source, access.syns)
}

export function listRecentlyHeardInitiators({ observedInitiators, syns }: BusAccessState): readonly number[] {
  return [...observedInitiators]
    .filter(([, receivedAt]) => syns - receivedAt <= FORGOTTEN_SYNS)
    .map(([address]) => address)
}

export function handleReceivedSymbol(access: BusAccessState, symbol: number): BusAccessEffect[] {
  const isSingleAddress = access.position === 1
  access.position = symbol === SYN ? 0 : access.position + 1
  const effects = notifyAll(access, { kind: 'symbol', symbol })
  if (symbol !== SYN) return effects
  access.syns++
  const speaker = typeof access.owner === 'number' ? access.clients.get(access.owner) : undefined
  if (speaker !== undefined) speaker.lock = LOCK_SYN_COUNT_AFTER_SEND + 1
  access.owner = undefined
  access.answering = undefined
  if (!isSingleAddress) for (const client of access.clients.values()) client.lock = Math.max(0, client.lock - 1)
  if (access.pendingStart !== undefined && ++access.pendingStart.syns > MAX_UNANSWERED_SYNS) {
    effects.push({ kind: 'start', address: access.pendingStart.address })
    access.pendingStart.syns = 0
  }
  return [...effects, ...startNext(access)]
}

export function handleArbitrationWon(access: BusAccessState, address: number): BusAccessEffect[] {
  const { pendingStart } = access
  access.position = 1
  access.pendingStart = undefined
  if (pendingStart === undefined || pendingStart.address !== address) {
    // The bus was won for a client that has gone: a SYN releases it at once.
    access.owner = 'nobody'
    return [...notifyAll(access, { kind: 'symbol', symbol: address }), { kind: 'send', symbol: SYN }]
  }
  access.owner = pendingStart.client
  endTurn(access, pendingStart.client)
  return notifyAll(
    access,
    { kind: 'symbol', symbol: address },
    { client: pendingStart.client, event: { kind: 'started', address } },
  )
}

export function handleArbitrationLost(access: BusAccessState, winner: number): BusAccessEffect[] {
  const { pendingStart } = access
  access.position = 1
  access.pendingStart = undefined
  if (pendingStart === undefined) return notifyAll(access, { kind: 'symbol', symbol: winner })
  endTurn(access, pendingStart.client)
  const client = access.clients.get(pendingStart.client)
  if (client !== undefined)
    client.lock = computeLockSynCountAfterLoss(pendingStart.address, winner, listRecentlyHeardInitiators(access).length)
  const effects = notifyAll(
    access,
    { kind: 'symbol', symbol: winner },
    { client: pendingStart.client, event: { kind: 'failed', winner } },
  )
  return [...effects, ...startNext(access)]
}

/** The adapter has restarted or is gone, or the signal is. Clients have to request the bus again. */
export function resetBusAccess(access: BusAccessState): void {
  access.pendingStart = undefined
  access.owner = undefined
  access.answering = undefined
  access.position = 0
  access.observedInitiators.clear()
  for (const client of access.clients.values()) Object.assign(client, { wanted: undefined, lock: 0 })
}

/** A START only acts on the next SYN, so it may go out one SYN before the lock has run out. */
function startNext(access: BusAccessState): BusAccessEffect[] {
  if (access.pendingStart !== undefined) return []
  for (const [client, { wanted, lock }] of access.clients) {
    if (wanted === undefined || lock > 1 || access.owner === client) continue
    access.pendingStart = { client, address: wanted, syns: 0 }
    return [{ kind: 'start', address: wanted }]
  }
  return []
}

/** Moves a client to the end of the line. */
function endTurn(access: BusAccessState, id: BusClientId): void {
  const client = access.clients.get(id)
  if (client === undefined) return
  client.wanted = undefined
  access.clients.delete(id)
  access.clients.set(id, client)
}

function notifyAll(
  access: BusAccessState,
  event: BusAccessEvent,
  exception?: { readonly client: BusClientId; readonly event: BusAccessEvent },
): BusAccessEffect[] {
  // A plain loop, because it runs for every symbol and costs a third of mapping the keys.
  const effects: BusAccessEffect[] = []
  for (const client of access.clients.keys())
    effects.push({ kind: 'tell', client, event: exception?.client === client ? exception.event : event })
  return effects
}

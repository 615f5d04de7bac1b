/**
 * Offer pin log: what the node's ledger says about other nodes' offers, in the form that their store needs.
 *
 *   offer.pinned    ─▶ the definition of a capability that was seen first: never over another one
 *   offer.accepted  ─▶ the definition that a person accepted after it was withheld: each acceptance is used once
 *   prefix.reserved ─▶ prefixes of families that this node has or had
 *
 * Capabilities are named by the hash of their name, version and instance: another node's text must not be in a log for
 * ever. The names themselves are in the erasable body.
 *
 * Pure, but for the state that it is given.
 */
import { hash } from 'node:crypto'
import { readEntryTextField, readEntryTextListFieldOrEmpty } from '../ledger/entry.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import { MAX_PINS_PER_ENTRY } from '../mesh/identity/offer-pin-log.ts'
import type { OfferPinLog } from '../mesh/identity/offer-pin-log.ts'
import type { OfferDefinitionHash } from '../mesh/offer-pin.ts'

interface OfferState {
  /** Node id → hash of a capability's name → hash of its definition. */
  readonly pins: UndoableStateMap<ReadonlyMap<string, string>>
  readonly acceptances: UndoableStateMap<boolean>
  readonly prefixes: UndoableStateMap<boolean>
}

const PIN = /^(?<capability>[0-9a-f]{64}) (?<definition>[0-9a-f]{64})$/

export const offerPinProjection: Projection<OfferState> = {
  name: 'offers',
  initial: (journal) => ({
    pins: new UndoableStateMap(journal),
    acceptances: new UndoableStateMap<boolean>(journal),
    prefixes: new UndoableStateMap<boolean>(journal),
  }),
  apply: {
    'offer.pinned': ({ pins }, entry) => {
      const read = readPins(entry)
      if (read === undefined) return 'a field that such an entry needs is missing or wrong'
      const before = pinsOf(pins, read.nodeId)
      if (read.pins.some(([capability]) => before.has(capability))) return 'another definition was pinned before'
      pins.set(read.nodeId, new Map([...before, ...read.pins]))
      return undefined
    },
    'offer.accepted': ({ pins, acceptances }, entry) => {
      const [read, id] = [readPins(entry), readEntryTextField(entry, 'acceptance')]
      if (read === undefined || id === undefined) return 'a field that such an entry needs is missing or wrong'
      if (acceptances.has(id)) return 'that acceptance was taken before'
      acceptances.set(id, true)
      pins.set(read.nodeId, new Map([...pinsOf(pins, read.nodeId), ...read.pins]))
      return undefined
    },
    'prefix.reserved': ({ prefixes }, entry) => {
      for (const prefix of readEntryTextListFieldOrEmpty(entry, 'prefixes')) prefixes.set(prefix, true)
      return undefined
    },
  },
}

export function createOfferPinLog(ledger: Ledger): OfferPinLog {
  const { pins, acceptances, prefixes } = ledger.projections.state(offerPinProjection)
  return {
    pins: (nodeId) => {
      const known = pinsOf(pins, nodeId)
      return { size: known.size, get: (key) => known.get(nameCapability(key)) }
    },
    pin: async (nodeId, definitions) => {
      const known = pinsOf(pins, nodeId)
      // Of two definitions under one name, the first is pinned; the others of an attempt that failed half-way are
      // ignored.
      const fresh = [...Map.groupBy(definitions, ({ key }) => key).values()]
        .flatMap((same) => same.slice(0, 1))
        .filter(({ key }) => !known.has(nameCapability(key)))
      for (let from = 0; from < fresh.length; from += MAX_PINS_PER_ENTRY) {
        const some = fresh.slice(from, from + MAX_PINS_PER_ENTRY)
        await ledger.append({ kind: 'offer.pinned', node_id: nodeId, pins: formatPins(some) }, bodyOf(some))
      }
    },
    isTaken: (acceptanceId) => acceptances.has(acceptanceId),
    accept: async ({ id, nodeId, digest, offers }) => {
      const event = { kind: 'offer.accepted', acceptance: id, node_id: nodeId, digest, pins: formatPins(offers) }
      await ledger.append(event, bodyOf(offers))
    },
    prefixes: () => [...prefixes.entries()].map(([prefix]) => prefix),
    keepPrefixes: async (fresh) => {
      for (let from = 0; from < fresh.length; from += MAX_PINS_PER_ENTRY)
        await ledger.append({ kind: 'prefix.reserved', prefixes: fresh.slice(from, from + MAX_PINS_PER_ENTRY) })
    },
  }
}

function pinsOf(pins: OfferState['pins'], nodeId: string): ReadonlyMap<string, string> {
  return pins.get(nodeId) ?? new Map<string, string>()
}

function readPins(
  entry: LedgerEntry,
): { readonly nodeId: string; readonly pins: readonly (readonly [string, string])[] } | undefined {
  const nodeId = readEntryTextField(entry, 'node_id')
  const pins = readEntryTextListFieldOrEmpty(entry, 'pins').flatMap((text): [string, string][] => {
    const { capability, definition } = PIN.exec(text)?.groups ?? {}
    return capability === undefined || definition === undefined ? [] : [[capability, definition]]
  })
  return nodeId === undefined || pins.length === 0 ? undefined : { nodeId, pins }
}

function formatPins(definitions: readonly OfferDefinitionHash[]): string[] {
  return definitions.map(({ key, hash: definition }) => `${nameCapability(key)} ${definition}`)
}

function bodyOf(definitions: readonly OfferDefinitionHash[]): { readonly capabilities: string[] } {
  return { capabilities: definitions.map(({ key }) => key.toWellFormed()) }
}

function nameCapability(key: string): string {
  return hash('sha256', key)
}

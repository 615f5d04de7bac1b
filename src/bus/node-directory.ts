/**
 * Node directory: the other nodes on this bus, and the names that people gave them.
 */
import { sanitizeLine } from '../core/untrusted-text.ts'
import type { PeerRecord, RefusedCapability } from './peer.ts'
import type { PeerView, RefusedCapabilityView } from './topology.ts'

/** How many nodes are remembered after they left. */
const MAX_AWAY = 256
const MAX_REFUSED_SHOWN = 32

export class NodeDirectory {
  readonly #selfId: string
  readonly #selfName: string | undefined
  readonly #peers = new Map<string, { readonly record: PeerRecord; readonly seenMs: number }>()
  readonly #refused = new Map<string, readonly RefusedCapability[]>()
  /** The names of nodes that left, to tell a node that is away from one that never existed. */
  readonly #away = new Map<string, string>()
  /** The names of all members, whether this process has seen them or not; `undefined` while they are not known. */
  #expected: ReadonlyMap<string, string> | undefined

  constructor(selfId: string, selfName: string | undefined) {
    this.#selfId = selfId
    this.#selfName = selfName
  }

  get size(): number {
    return this.#peers.size
  }

  /** Ignores a record that claims to be this node, or that carries another node's manifest. */
  see(record: PeerRecord, nowMs: number): void {
    if (record.nodeId === this.#selfId || record.manifest.nodeId !== record.nodeId) return
    this.#peers.set(record.nodeId, { record, seenMs: nowMs })
    this.#away.delete(record.nodeId)
  }

  /** Records which of a peer's offers were refused. */
  refuse(nodeId: string, refused: readonly RefusedCapability[]): void {
    if (refused.length === 0) this.#refused.delete(nodeId)
    else if (this.#peers.has(nodeId)) this.#refused.set(nodeId, refused)
  }

  forget(nodeId: string): void {
    this.#refused.delete(nodeId)
    const left = this.#peers.get(nodeId)
    if (left === undefined) return
    this.#peers.delete(nodeId)
    const [oldest] = this.#away.keys()
    if (oldest !== undefined && this.#away.size >= MAX_AWAY) this.#away.delete(oldest)
    this.#away.set(nodeId, left.record.displayName ?? nodeId)
  }

  /** Replaces the list of members, and their names by id. */
  expect(names: ReadonlyMap<string, string>): void {
    this.#expected = names
  }

  /** Whether a member is not connected; where the members are not known, whether a node was here and has left. */
  isAway(id: string): boolean {
    return id !== this.#selfId && !this.#peers.has(id) && (this.#expected ?? this.#away).has(id)
  }

  /**
   * Returns an id as it is; a name becomes the id of the only node that has it. A name that a connected and an absent
   * node share is not resolved, because the call may be meant for the absent one.
   */
  idOf(idOrName: string): string {
    if (idOrName === this.#selfId || this.#peers.has(idOrName)) return idOrName
    const [one, ...more] = this.#called(idOrName)
    return one === undefined || more.length > 0 ? idOrName : one
  }

  /** Why a node cannot be called; `undefined` where it is connected. The name is quoted because a caller wrote it. */
  unknownNodeMessage(idOrName: string, instead = `there is ${this.#names().join(', ')}`): string | undefined {
    const id = this.idOf(idOrName)
    if (id === this.#selfId || this.#peers.has(id)) return undefined
    if (this.isAway(id)) return `The node ${this.nameOf(id) ?? id} cannot be reached now.`
    const called = this.#called(id)
    if (called.length > 1)
      return `Several nodes are called ${JSON.stringify(id)}. Name one by its id: ${called.join(', ')}.`
    return `No node is called ${JSON.stringify(idOrName)} here; ${instead}.`
  }

  /** The name that people gave it, where it is known. */
  nameOf(id: string): string | undefined {
    if (id === this.#selfId) return this.#selfName
    return this.#peers.get(id)?.record.displayName ?? this.#away.get(id) ?? this.#expected?.get(id)
  }

  /** The names that people gave them, this node first. */
  namesOf(ids: ReadonlySet<string>): readonly string[] {
    const others = [...ids].filter((id) => id !== this.#selfId).map((id) => this.nameOf(id) ?? id)
    return [...(ids.has(this.#selfId) ? [this.#selfName ?? this.#selfId] : []), ...others.toSorted()]
  }

  views(nowMs: number): readonly PeerView[] {
    return [...this.#peers.values()].map(({ record, seenMs }) => ({
      nodeId: record.nodeId,
      displayName: record.displayName,
      source: record.source,
      capabilities: record.manifest.capabilities.length,
      refused: this.#refused.get(record.nodeId)?.length ?? 0,
      refusedOffers: (this.#refused.get(record.nodeId) ?? []).slice(0, MAX_REFUSED_SHOWN).map(refusedView),
      seenAgoMs: nowMs - seenMs,
    }))
  }

  /** The ids of all nodes with that name, connected or away. */
  #called(name: string): readonly string[] {
    const known = new Set([this.#selfId, ...this.#peers.keys(), ...(this.#expected ?? this.#away).keys()])
    return [...known].filter((id) => this.nameOf(id) === name)
  }

  #names(): readonly string[] {
    return this.namesOf(new Set([this.#selfId, ...this.#peers.keys()]))
  }
}

function refusedView({ name, fault }: RefusedCapability): RefusedCapabilityView {
  return { name: sanitizeLine(name, 128), reason: sanitizeLine(fault.message, 400) }
}

/**
 * Node directory: the other nodes on this bus, and the names that people gave them.
 *
 * Pure.
 */
import type { PeerRecord } from './peer.ts'
import type { PeerView } from './topology.ts'

/** Nodes that are remembered although they left. */
const MAX_AWAY = 256

export class NodeDirectory {
  readonly #selfId: string
  readonly #selfName: string | undefined
  readonly #peers = new Map<string, { readonly record: PeerRecord; readonly seenMs: number }>()
  /** The names of nodes that left, so that asking for one is told from asking for one that never was. */
  readonly #away = new Map<string, string>()

  constructor(selfId: string, selfName: string | undefined) {
    this.#selfId = selfId
    this.#selfName = selfName
  }

  get size(): number {
    return this.#peers.size
  }

  /** Ignores whoever claims to be this node, or shows the manifest of another one. */
  see(record: PeerRecord, nowMs: number): void {
    if (record.nodeId === this.#selfId || record.manifest.nodeId !== record.nodeId) return
    this.#peers.set(record.nodeId, { record, seenMs: nowMs })
    this.#away.delete(record.nodeId)
  }

  forget(nodeId: string): void {
    const left = this.#peers.get(nodeId)
    if (left === undefined) return
    this.#peers.delete(nodeId)
    const [oldest] = this.#away.keys()
    if (oldest !== undefined && this.#away.size >= MAX_AWAY) this.#away.delete(oldest)
    this.#away.set(nodeId, left.record.displayName ?? nodeId)
  }

  /** Whether it was here and has left. */
  isAway(id: string): boolean {
    return this.#away.has(id)
  }

  /** An id stays what it is; a name becomes the id of the one node that has it. A community gives each name once. */
  idOf(idOrName: string): string {
    if (idOrName === this.#selfId || this.#peers.has(idOrName)) return idOrName
    const named = [...this.#peers.values()].filter(({ record }) => record.displayName === idOrName)
    if (idOrName === this.#selfName) return named.length === 0 ? this.#selfId : idOrName
    if (named.length > 0) return named.length === 1 ? (named[0]?.record.nodeId ?? idOrName) : idOrName
    const left = [...this.#away].filter(([, name]) => name === idOrName)
    return left.length === 1 ? (left[0]?.[0] ?? idOrName) : idOrName
  }

  /** What to say to whoever wants a node that is not here; `undefined` where it is. Quoted: a caller wrote it. */
  strange(idOrName: string, instead = `there is ${this.#names().join(', ')}`): string | undefined {
    const id = this.idOf(idOrName)
    if (id === this.#selfId || this.#peers.has(id)) return undefined
    if (this.isAway(id)) return `The node ${this.nameOf(id) ?? id} was here and is away now.`
    return `No node is called ${JSON.stringify(idOrName)} here; ${instead}.`
  }

  /** What people call it, where that is known. */
  nameOf(id: string): string | undefined {
    return id === this.#selfId ? this.#selfName : (this.#peers.get(id)?.record.displayName ?? this.#away.get(id))
  }

  /** What people call them, this node first. */
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
      seenAgoMs: nowMs - seenMs,
    }))
  }

  #names(): readonly string[] {
    return this.namesOf(new Set([this.#selfId, ...this.#peers.keys()]))
  }
}

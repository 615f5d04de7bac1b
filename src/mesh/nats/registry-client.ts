/**
 * NATS registry: manifests in a JetStream key-value bucket that every node of a community watches.
 *
 *   node.<id>    slim manifest, every ten seconds       caps.<id>    { hash, capabilities }, when they change
 *   community    the member list
 *
 * The bucket drops values after a minute, so unchanged values are put again before that. Servers before 2.11 do not
 * report dropped values, so this node detects by silence which nodes have gone, as for every other source.
 *
 * Does I/O, through the link.
 */
import { Kvm } from '@nats-io/kv'
import type { KV, KvWatchEntry } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '../../core/clock.ts'
import { canonicalJson, isJsonObject, isNestedWithinDepth, parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Logger } from '../../core/logger.ts'
import { readErrorMessage } from '../../core/thrown-error.ts'
import { runOrUndefined } from '../../toolbox/time-limit.ts'
import { MAX_MESH_BODY_DEPTH } from '../message-body.ts'
import type { PeerDiscoveryHint, PeerSource } from '../discovery/peer-source.ts'
import { stripNodeIdPrefix, isNodeId } from '../identity/node-key.ts'
import type { FullAndSlimOwnManifest } from '../own-manifest.ts'
import type { NatsLink } from './nats-link-client.ts'
import { formatBucketName } from './subject.ts'

export interface NatsRegistryOptions {
  readonly link: NatsLink
  readonly self: string
  readonly communityId: () => string | undefined
  readonly clock: Pick<Clock, 'monotonic'>
  readonly logger: Logger
  /** Call when the community becomes known. */
  readonly onCommunity: (communityId: string) => void
}

const TTL_MS = 60_000
/**
 * Our capabilities are put again after this time, and so is the member list if no other node did so: they would expire
 * otherwise.
 */
const AGAIN_MS = 30_000
const RETRY_MS = 1_000

export class NatsRegistry implements PeerSource {
  readonly name = 'nats'
  readonly #options: NatsRegistryOptions
  #receive: (hint: PeerDiscoveryHint) => void = () => undefined
  #bucket: KV | undefined
  #connection: NatsConnection | undefined
  #own: FullAndSlimOwnManifest | undefined
  #community: JsonObject | undefined
  /** The values that were last put into the present bucket. */
  #put = nothingPut()
  #isClosed = false
  #isOpening = false
  /** At most one timer: every heartbeat finds the bucket closed while it cannot be opened. */
  #retry: NodeJS.Timeout | undefined
  /**
   * The reason why it is not open, as it was last logged: opening is tried every second, and each reason is logged
   * once.
   */
  #loggedReason: string | undefined

  constructor(options: NatsRegistryOptions) {
    this.#options = options
  }

  /** Whether an attempt to open it failed, or its watch ended. */
  get isShut(): boolean {
    return this.#loggedReason !== undefined
  }

  async start(receive: (hint: PeerDiscoveryHint) => void): Promise<void> {
    this.#receive = receive
    if (this.#connection !== undefined) this.linkUp(this.#connection)
  }

  publish(own: FullAndSlimOwnManifest, community: JsonObject): void {
    this.#own = own
    this.#community = community
    if (this.#bucket !== undefined) void this.#putAll()
    else if (this.#retry === undefined && this.#options.link.isUp) void this.#open()
  }

  /** Connected, for the first time or again: the bucket may be another one, or gone. */
  linkUp(connection: NatsConnection): void {
    this.#connection = connection
    this.#bucket = undefined
    void this.#open()
  }

  async stop(goodbye: FullAndSlimOwnManifest | undefined): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    const bucket = this.#bucket
    if (bucket === undefined || goodbye === undefined || !this.#options.link.isUp) return
    const token = stripNodeIdPrefix(this.#options.self)
    await runOrUndefined(500, async () => {
      await bucket.put(`node.${token}`, JSON.stringify(goodbye.slim))
      await bucket.delete(`caps.${token}`)
    })
  }

  async #open(): Promise<void> {
    clearTimeout(this.#retry)
    this.#retry = undefined
    const communityId = this.#options.communityId()
    const connection = this.#connection
    if (communityId === undefined || connection === undefined || this.#isOpening || this.#isClosed) return
    this.#isOpening = true
    this.#options.onCommunity(communityId)
    try {
      const bucket = await new Kvm(connection).create(formatBucketName(communityId), { history: 1, ttl: TTL_MS })
      this.#put = nothingPut()
      this.#bucket = bucket
      void this.#watch(bucket)
      await this.#putAll()
    } catch (error) {
      this.#failed(error, 'the NATS registry cannot be opened (is JetStream on? nats-server -js)')
    } finally {
      this.#isOpening = false
    }
  }

  async #watch(bucket: KV): Promise<void> {
    const isOver = (): boolean => this.#bucket !== bucket || this.#isClosed
    try {
      for await (const entry of await bucket.watch()) {
        if (isOver()) return
        if (this.#loggedReason !== undefined) this.#options.logger.info({}, 'the NATS registry is open again')
        this.#loggedReason = undefined
        this.#take(entry)
      }
      if (!isOver()) this.#openLater()
    } catch (error) {
      if (!isOver()) this.#failed(error, 'the NATS registry stopped sending updates')
    }
  }

  #failed(error: unknown, message: string): void {
    const why = `${message}: ${readErrorMessage(error)}`
    if (this.#loggedReason !== why) this.#options.logger.warn({ err: error }, message)
    this.#loggedReason = why
    this.#openLater()
  }

  #openLater(): void {
    this.#bucket = undefined
    this.#retry ??= setTimeout(() => void this.#open(), RETRY_MS).unref()
  }

  #take(entry: KvWatchEntry): void {
    if (entry.operation !== 'PUT') return
    const value = parseJsonOrUndefined(entry.string())
    if (!isJsonObject(value) || !isNestedWithinDepth(value, MAX_MESH_BODY_DEPTH)) return
    const [kind, token = ''] = entry.key.split('.')
    if (kind === 'community') {
      this.#put.communityMs = this.#options.clock.monotonic()
      this.#receive({ kind: 'community', document: value })
      // A node that has just started replaced the list by an older one, so the newer one is put again for the next
      // reader.
      if (isOlder(value, this.#community)) {
        this.#put.community = ''
        void this.#putAll()
      }
      return
    }
    const nodeId = `ed25519:${token}`
    if (!isNodeId(nodeId) || nodeId === this.#options.self) return
    if (kind === 'node') this.#receive({ kind: 'manifest', manifest: value, endpoint: { transport: 'nats' } })
    const { hash, capabilities } = value
    if (kind === 'caps' && typeof hash === 'string') this.#receive({ kind: 'capabilities', nodeId, hash, capabilities })
  }

  /** Capabilities are put before the manifest that names them, so that a node that reads the manifest finds them. */
  async #putAll(): Promise<void> {
    const [bucket, own, community] = [this.#bucket, this.#own, this.#community]
    if (bucket === undefined || own === undefined || this.#isClosed) return
    const token = stripNodeIdPrefix(this.#options.self)
    const { capabilities, capabilities_hash: hash } = own.full
    const put = this.#put
    const nowMs = this.#options.clock.monotonic()
    try {
      if (put.capabilities !== hash || nowMs - put.capabilitiesMs > AGAIN_MS) {
        put.capabilities = typeof hash === 'string' ? hash : ''
        put.capabilitiesMs = nowMs
        await bucket.put(`caps.${token}`, JSON.stringify({ hash, capabilities }))
      }
      const manifest = JSON.stringify(own.slim)
      if (put.manifest !== manifest) {
        put.manifest = manifest
        await bucket.put(`node.${token}`, manifest)
      }
      const text = community === undefined ? '' : canonicalJson(community)
      if (text !== '' && (put.community !== text || nowMs - put.communityMs > AGAIN_MS)) {
        put.community = text
        put.communityMs = nowMs
        await bucket.put('community', text)
      }
    } catch (error) {
      // The next heartbeat puts it again.
      put.manifest = ''
      put.capabilities = ''
      this.#options.logger.debug({ err: error }, 'the NATS registry rejected an update')
    }
  }
}

interface Put {
  manifest: string
  capabilities: string
  capabilitiesMs: number
  community: string
  communityMs: number
}

function nothingPut(): Put {
  return { manifest: '', capabilities: '', capabilitiesMs: 0, community: '', communityMs: 0 }
}

function isOlder({ revision: received }: JsonObject, held: JsonObject | undefined): boolean {
  const ours = held?.['revision']
  return typeof received === 'number' && typeof ours === 'number' && received < ours
}

/**
 * Tool pin store: the slug of each device, and the pinned definitions of its tools.
 *
 * Pins belong to a device with the UUID it was approved with: the same address with another UUID was approved as
 * another device, whose first listing is pinned again. The log contains the hashes of the pinned definitions, which
 * alone decide; the table contains the definitions, and those with another hash are ignored.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Database, ModuleMigrations } from '../../core/database-store.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { CacheFinding } from '../../ledger/ledger-finding.ts'
import type { StoredContentCheck } from '../../ledger/projection.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { deviceProjection } from '../enrol/enrolled-device-state.ts'
import type { DeviceProjectionState } from '../enrol/enrolled-device-state.ts'
import type { DeviceIdentity } from '../session/fleet.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import type { DeviceToolPin, DeviceToolPins, WithheldDeviceTool } from './tool-pins.ts'
import { computeToolDefinitionHash, computeWithheldToolsDigest } from './tool-pins.ts'
import { createUniqueSlug } from './device-slug.ts'

export const deviceToolsMigrations: ModuleMigrations = {
  module: 'device-tools',
  steps: [
    `CREATE TABLE device_pin (
       device_id TEXT NOT NULL,
       hash TEXT NOT NULL,
       definition TEXT NOT NULL,
       PRIMARY KEY (device_id, hash)
     ) STRICT, WITHOUT ROWID`,
  ],
}

export interface DeviceSlugAndToolPins {
  readonly slug: string
  /** The pins; `undefined` while nothing is pinned for this identity. */
  readonly pins: DeviceToolPins | undefined
  readonly withheld: string | undefined
}

export class ToolPinStore {
  readonly #database: Database
  readonly #log: ProjectionLogWriter
  readonly #state: DeviceProjectionState
  /** Prepared once, because it runs for every event of a device. */
  readonly #pin: StatementSync

  constructor(database: Database, log: ProjectionLogWriter) {
    this.#database = database
    this.#log = log
    this.#state = log.projections.state(deviceProjection)
    this.#pin = database.sql.prepare('SELECT hash, definition FROM device_pin WHERE device_id = ?')
  }

  label({ deviceId, clientId }: DeviceIdentity): DeviceSlugAndToolPins | undefined {
    const label = this.#state.labels.get(deviceId)
    if (label === undefined) return undefined
    const { slug, pinnedClient, withheld } = label
    return { slug, withheld, pins: pinnedClient === clientId ? this.#pins(deviceId) : undefined }
  }

  slug(deviceId: string): string | undefined {
    return this.#state.labels.get(deviceId)?.slug
  }

  /** The device that has this slug, even while it is revoked. */
  deviceOf(slug: string): string | undefined {
    return this.#state.slugs.get(slug)
  }

  /** Assigns a slug to the device; a second call returns the first one. */
  name({ deviceId }: DeviceIdentity, base: string): Promise<string> {
    return this.#database.commit(() => {
      const known = this.slug(deviceId)
      if (known !== undefined) return known
      const slug = createUniqueSlug(base, deviceId, (candidate) => this.#state.slugs.has(candidate))
      this.#log.appendIn({ kind: 'device.named', device: slug, device_id: deviceId })
      return slug
    })
  }

  /** Pins the first listing of this identity completely. */
  pinAll(identity: DeviceIdentity, slug: string, tools: readonly DeviceTool[]): Promise<void> {
    const { deviceId, clientId } = identity
    return this.#database.commit(() => {
      const pins = this.#store(deviceId, tools)
      const named = { device: slug, device_id: deviceId, client_id: clientId }
      this.#log.appendIn({ kind: 'device.tools.pinned', ...named, count: tools.length, pins }, bodyOf(tools))
    })
  }

  /** Records what is withheld now; `changes` is how often that has changed since the last record. */
  withhold(
    { deviceId }: DeviceIdentity,
    slug: string,
    note: { readonly withheld: readonly WithheldDeviceTool[]; readonly digest: string; readonly changes: number },
  ): Promise<void> {
    const { withheld, digest, changes } = note
    return this.#database.commit(() => {
      const tools = withheld.map((each) => ({ ...listed(each.tool), changed: each.pinned !== undefined }))
      const named = { device: slug, device_id: deviceId }
      this.#log.appendIn(
        { kind: 'device.tools.withheld', ...named, count: tools.length, digest, changes },
        { tools: tools.map((tool) => ({ ...tool })) },
      )
    })
  }

  /** Records that the device lists its pinned definitions again. */
  releaseAll({ deviceId }: DeviceIdentity): Promise<void> {
    return this.#database.commit(() => {
      const label = this.#state.labels.get(deviceId)
      if (label?.withheld !== undefined)
        this.#log.appendIn({ kind: 'device.tools.released', device: label.slug, device_id: deviceId })
    })
  }

  approve(
    { deviceId }: DeviceIdentity,
    slug: string,
    { withheld, by }: { readonly withheld: readonly WithheldDeviceTool[]; readonly by: string },
  ): Promise<void> {
    return this.#database.commit(() => {
      const approved = withheld.map(({ tool }) => tool)
      const names = new Set(approved.map(({ name }) => name))
      const others = [...this.#pins(deviceId).values()].filter(({ definition }) => !names.has(definition.name))
      const pins = this.#store(deviceId, [...others.map(({ definition }) => definition), ...approved])
      const digest = computeWithheldToolsDigest(withheld) ?? ''
      const named = { device: slug, device_id: deviceId, by, digest }
      this.#log.appendIn({ kind: 'device.tools.approved', ...named, count: approved.length, pins }, bodyOf(approved))
    })
  }

  /** A definition whose hash is not a pinned one was written by another program. */
  #pins(deviceId: string): DeviceToolPins {
    const pinned = new Set(this.#state.labels.get(deviceId)?.pins)
    return new Map(
      this.#pin.all(deviceId).flatMap((row): [string, DeviceToolPin][] => {
        const definition = parseJsonOrUndefined(String(row['definition'])) as unknown as DeviceTool | undefined
        const hash = definition === undefined ? '' : computeToolDefinitionHash(definition)
        return definition !== undefined && pinned.has(hash) ? [[definition.name, { hash, definition }]] : []
      }),
    )
  }

  /** Stores the definitions in place of the earlier ones, and returns their hashes. */
  #store(deviceId: string, tools: readonly DeviceTool[]): readonly string[] {
    const { sql } = this.#database
    sql.prepare('DELETE FROM device_pin WHERE device_id = ?').run(deviceId)
    const put = sql.prepare('INSERT OR REPLACE INTO device_pin VALUES (?, ?, ?)')
    for (const tool of tools) put.run(deviceId, computeToolDefinitionHash(tool), JSON.stringify(tool))
    return [...new Set(tools.map(computeToolDefinitionHash))]
  }
}

/** Compares the stored definitions with the hashes in the log. */
export function createToolPinCheck(sql: DatabaseSync): StoredContentCheck {
  return (state) => {
    const { labels } = state(deviceProjection)
    const findings: CacheFinding[] = []
    const missing = new Map([...labels.entries()].map(([device, { pins }]) => [device, new Set(pins)]))
    for (const row of sql.prepare('SELECT device_id, hash, definition FROM device_pin').all()) {
      const [device, hash] = [String(row['device_id']), String(row['hash'])]
      const definition = parseJsonOrUndefined(String(row['definition'])) as unknown as DeviceTool | undefined
      const isRight = definition !== undefined && computeToolDefinitionHash(definition) === hash
      if (!isRight || missing.get(device)?.delete(hash) !== true)
        findings.push({ kind: 'copy-unfounded', what: 'pinned tool', id: `${hash} of ${device}` })
    }
    for (const [device, hashes] of missing)
      for (const hash of hashes)
        findings.push({ kind: 'copy-missing', what: 'pinned tool', id: `${hash} of ${device}`, seq: 0 })
    return findings
  }
}

/** Names and hashes only, in an erasable body: a device's text must not be in the log for ever. */
function bodyOf(tools: readonly DeviceTool[]): JsonObject {
  return { tools: tools.map((tool) => ({ ...listed(tool) })) }
}

interface Listed {
  readonly name: string
  readonly hash: string
  readonly changed?: boolean
}

function listed(tool: DeviceTool): Listed {
  return { name: tool.name.toWellFormed(), hash: computeToolDefinitionHash(tool) }
}

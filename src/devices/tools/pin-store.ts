/**
 * Pin store: the slug of each device, and the definitions of its tools that somebody stands for.
 *
 *   device_label 1 ── n device_pin        both end with the enrolment of the device
 *
 * Pins belong to a device with the UUID it was approved with: the same address with another UUID was approved as
 * another device, and its first listing is a first listing again. Every change is in the ledger, in the same
 * transaction.
 *
 * Does I/O.
 */
import type { StatementSync } from 'node:sqlite'
import type { Database, Migrations } from '../../core/database-store.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { DeviceIdentity } from '../session/fleet.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import type { Pin, Pins, WithheldTool } from './definition.ts'
import { definitionHash, withheldDigest } from './definition.ts'
import { freshSlug } from './slug.ts'

export const deviceToolsMigrations: Migrations = {
  room: 'device-tools',
  steps: [
    `CREATE TABLE device_label (
       device_id TEXT PRIMARY KEY REFERENCES device_enrolled ON DELETE CASCADE,
       slug TEXT NOT NULL UNIQUE,
       -- The UUID whose tools are pinned; NULL before the first listing.
       pinned_client TEXT,
       -- What was last recorded as withheld, so that it is recorded once.
       withheld TEXT
     ) STRICT;
     CREATE TABLE device_pin (
       device_id TEXT NOT NULL REFERENCES device_label ON DELETE CASCADE,
       tool TEXT NOT NULL,
       hash TEXT NOT NULL,
       definition TEXT NOT NULL,
       PRIMARY KEY (device_id, tool)
     ) STRICT, WITHOUT ROWID`,
  ],
}

export interface Label {
  readonly slug: string
  /** `undefined` while nothing is pinned for this identity. */
  readonly pins: Pins | undefined
  readonly withheld: string | undefined
}

export class PinStore {
  readonly #database: Database
  readonly #ledger: Ledger
  /** Asked for everything that happens to a device, so they are compiled once. */
  readonly #label: StatementSync
  readonly #pin: StatementSync

  constructor(database: Database, ledger: Ledger) {
    this.#database = database
    this.#ledger = ledger
    this.#label = database.sql.prepare('SELECT * FROM device_label WHERE device_id = ?')
    this.#pin = database.sql.prepare('SELECT * FROM device_pin WHERE device_id = ?')
  }

  label({ deviceId, clientId }: DeviceIdentity): Label | undefined {
    const row = this.#label.get(deviceId)
    if (row === undefined) return undefined
    const withheld = row['withheld']
    return {
      slug: String(row['slug']),
      pins: row['pinned_client'] === clientId ? this.#pins(deviceId) : undefined,
      withheld: typeof withheld === 'string' ? withheld : undefined,
    }
  }

  slug(deviceId: string): string | undefined {
    const slug = this.#label.get(deviceId)?.['slug']
    return typeof slug === 'string' ? slug : undefined
  }

  /** Whose slug this is, also while the device is revoked. */
  deviceOf(slug: string): string | undefined {
    const row = this.#database.sql.prepare('SELECT device_id FROM device_label WHERE slug = ?').get(slug)
    return row === undefined ? undefined : String(row['device_id'])
  }

  /** Gives the device its slug; a second call finds the first one's. */
  name({ deviceId }: DeviceIdentity, base: string): Promise<string> {
    return this.#database.commit((sql) => {
      const known = sql.prepare('SELECT slug FROM device_label WHERE device_id = ?').get(deviceId)
      if (known !== undefined) return String(known['slug'])
      const taken = sql.prepare('SELECT 1 FROM device_label WHERE slug = ?')
      const slug = freshSlug(base, deviceId, (candidate) => taken.get(candidate) !== undefined)
      sql.prepare('INSERT INTO device_label (device_id, slug) VALUES (?, ?)').run(deviceId, slug)
      return slug
    })
  }

  /** The first listing of this identity: everything in it is taken as it is. */
  pinAll(identity: DeviceIdentity, slug: string, tools: readonly DeviceTool[]): Promise<void> {
    const { deviceId, clientId } = identity
    return this.#database.commit((sql) => {
      sql.prepare('DELETE FROM device_pin WHERE device_id = ?').run(deviceId)
      sql
        .prepare('UPDATE device_label SET pinned_client = ?, withheld = NULL WHERE device_id = ?')
        .run(clientId, deviceId)
      this.#putPins(deviceId, tools)
      this.#record('device.tools.pinned', { slug, deviceId }, { tools: tools.map(listed) })
    })
  }

  /** Notes what is withheld now; `changes` is how often that was something else since the last note. */
  withhold(
    { deviceId }: DeviceIdentity,
    slug: string,
    note: { readonly withheld: readonly WithheldTool[]; readonly digest: string; readonly changes: number },
  ): Promise<void> {
    const { withheld, digest, changes } = note
    return this.#database.commit((sql) => {
      sql.prepare('UPDATE device_label SET withheld = ? WHERE device_id = ?').run(digest, deviceId)
      const tools = withheld.map((each) => ({ ...listed(each.tool), changed: each.pinned !== undefined }))
      this.#record('device.tools.withheld', { slug, deviceId }, { digest, changes, tools })
    })
  }

  /** The device is again what it was pinned as. */
  releaseAll({ deviceId }: DeviceIdentity): Promise<void> {
    return this.#database.commit((sql) => {
      sql.prepare('UPDATE device_label SET withheld = NULL WHERE device_id = ?').run(deviceId)
    })
  }

  approve(
    { deviceId }: DeviceIdentity,
    slug: string,
    { withheld, by }: { readonly withheld: readonly WithheldTool[]; readonly by: string },
  ): Promise<void> {
    return this.#database.commit((sql) => {
      this.#putPins(
        deviceId,
        withheld.map(({ tool }) => tool),
      )
      sql.prepare('UPDATE device_label SET withheld = NULL WHERE device_id = ?').run(deviceId)
      const digest = withheldDigest(withheld) ?? ''
      this.#record(
        'device.tools.approved',
        { slug, deviceId },
        { by, digest, tools: withheld.map((each) => listed(each.tool)) },
      )
    })
  }

  #pins(deviceId: string): Pins {
    const rows = this.#pin.all(deviceId)
    return new Map(
      rows.map((row): [string, Pin] => [
        String(row['tool']),
        { hash: String(row['hash']), definition: JSON.parse(String(row['definition'])) as DeviceTool },
      ]),
    )
  }

  #putPins(deviceId: string, tools: readonly DeviceTool[]): void {
    const put = this.#database.sql.prepare(
      `INSERT INTO device_pin VALUES (?, ?, ?, ?)
       ON CONFLICT (device_id, tool) DO UPDATE SET hash = excluded.hash, definition = excluded.definition`,
    )
    for (const tool of tools) put.run(deviceId, tool.name, definitionHash(tool), JSON.stringify(tool))
  }

  /** Names and hashes only, in a body that can be erased: a stranger's text has no place in a log for ever. */
  #record(
    kind: string,
    { slug, deviceId }: { readonly slug: string; readonly deviceId: string },
    body: {
      readonly by?: string
      readonly digest?: string
      readonly changes?: number
      readonly tools: readonly Listed[]
    },
  ): void {
    const { by, digest, changes } = body
    this.#ledger.appendIn(
      { kind, device: slug, device_id: deviceId, count: body.tools.length, digest, changes, by },
      { tools: body.tools.map((tool) => ({ ...tool })) },
    )
  }
}

interface Listed {
  readonly name: string
  readonly hash: string
  readonly changed?: boolean
}

function listed(tool: DeviceTool): Listed {
  return { name: tool.name.toWellFormed(), hash: definitionHash(tool) }
}

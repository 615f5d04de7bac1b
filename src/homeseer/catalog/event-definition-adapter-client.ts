/**
 * Event definition adapter client: reads the event definitions on HomeSeer's disk through the adapter script, for
 * gateways on another machine. They are read again after a while; the owner chooses this way (`homeseer.eventsFrom`),
 * because it runs a script on HomeSeer.
 *
 * Does I/O (through the link).
 */
import type { Clock } from '../../core/clock.ts'
import { newUlid } from '../../core/ids.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { createAdminAdapterHttpRequest } from '../wire/admin-adapter.ts'
import { readRecordField, readRecordNumber } from '../wire/record-field.ts'
import type { JsonClient } from '../wire/json-client.ts'
import { decodeEventDefinitions } from './event-definition.ts'
import type { EventDefinitionSource, EventFileFault, LoadedEventDefinitions } from './event-file-store.ts'

export interface EventDefinitionAdapterClientOptions {
  readonly json: Pick<JsonClient, 'call'>
  readonly clock: Clock
  readonly scriptPage: string
  readonly key: string | undefined
  readonly knownMembers: readonly string[]
}

/**
 * How long definitions are cached: long enough not to run a script for every change, short enough to notice a new event
 * soon.
 */
const HOLDS_MS = 30_000

export class EventDefinitionAdapterClient implements EventDefinitionSource {
  readonly #options: EventDefinitionAdapterClientOptions
  #cached: { readonly files: LoadedEventDefinitions; readonly untilMs: number } | undefined

  constructor(options: EventDefinitionAdapterClientOptions) {
    this.#options = options
  }

  async read(): Promise<Result<LoadedEventDefinitions, EventFileFault>> {
    const { json, clock, scriptPage, key, knownMembers } = this.#options
    if (this.#cached !== undefined && clock.monotonic() < this.#cached.untilMs) return ok(this.#cached.files)
    const request = { id: newUlid(), op: 'events.export', args: {}, atMs: clock.now() }
    const answer = await json.call(createAdminAdapterHttpRequest(request, { page: scriptPage, key }))
    const code = answer.ok ? (answer.value.ok ? undefined : answer.value.code) : answer.fault.kind
    if (!answer.ok || !answer.value.ok) return fail({ kind: 'unreadable', path: 'adapter', code: code ?? 'refused' })
    const { data } = answer.value
    const definitions = decodeEventDefinitions(
      readRecordField(data, 'events') ?? null,
      readRecordField(data, 'groups') ?? null,
      knownMembers,
    )
    if (!definitions.ok) return definitions
    const modifiedMs = readRecordNumber(data, 'modifiedMs') ?? clock.now()
    const files = { ...definitions.value, eventsModifiedMs: modifiedMs, groupsModifiedMs: modifiedMs }
    this.#cached = { files, untilMs: clock.monotonic() + HOLDS_MS }
    return ok(files)
  }
}

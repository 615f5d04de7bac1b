/**
 * Event files: reads HomeSeer's own files about its automations, if its data directory can be read from here.
 *
 * HomeSeer may be rewriting the files, so an incomplete one is read again before it counts as broken. The result is
 * cached until the files change.
 */
import { open, stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import type { Json } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readSystemErrorCode } from '../../core/thrown-error.ts'
import { parseAndSanitizeJson } from '../../core/untrusted-text.ts'
import { limitJsonDepthAndText } from '../wire/record-field.ts'
import { decodeEventDefinitions, type EventDefinitionsDecodeFault, type EventDefinition } from './event-definition.ts'

export interface EventFilePaths {
  readonly events: string
  readonly groups: string
  /** Members of records that the owner knows to be harmless. */
  readonly knownMembers?: readonly string[]
}

export interface LoadedEventDefinitions {
  readonly definitions: readonly EventDefinition[]
  /** The number of records that are invalid. */
  readonly unread: number
  readonly eventsModifiedMs: number
  readonly groupsModifiedMs: number
}

export type EventFileFault =
  | EventDefinitionsDecodeFault
  /** The files are on another machine, or may not be read. */
  | { readonly kind: 'unreadable'; readonly path: string; readonly code: string }
  | { readonly kind: 'not-json'; readonly path: string }
  | { readonly kind: 'too-large'; readonly path: string; readonly limitBytes: number }

const LIMIT_BYTES = 64 * 1_024 * 1_024
const LOOKS = 4
const BETWEEN_LOOKS_MS = 100

/** A source of the definitions: files, a copy of them, or the adapter. */
export interface EventDefinitionSource {
  readonly read: () => Promise<Result<LoadedEventDefinitions, EventFileFault>>
}

export class EventFileReader implements EventDefinitionSource {
  readonly #paths: EventFilePaths
  #cached: { readonly stamp: string; readonly files: LoadedEventDefinitions } | undefined

  constructor(paths: EventFilePaths) {
    this.#paths = paths
  }

  async read(): Promise<Result<LoadedEventDefinitions, EventFileFault>> {
    for (let look = 1; ; look++) {
      const result = await this.#readOnce()
      if (result.ok || result.fault.kind !== 'not-json' || look >= LOOKS) return result
      await wait(BETWEEN_LOOKS_MS)
    }
  }

  async #readOnce(): Promise<Result<LoadedEventDefinitions, EventFileFault>> {
    const events = await stamped(this.#paths.events)
    if (!events.ok) return events
    const groups = await stamped(this.#paths.groups)
    if (!groups.ok) return groups
    const stamp = `${events.value.stamp} ${groups.value.stamp}`
    if (this.#cached?.stamp === stamp) return ok(this.#cached.files)
    const eventsJson = await readJson(this.#paths.events)
    if (!eventsJson.ok) return eventsJson
    const groupsJson = await readJson(this.#paths.groups)
    if (!groupsJson.ok) return groupsJson
    const definitions = decodeEventDefinitions(eventsJson.value, groupsJson.value, this.#paths.knownMembers)
    if (!definitions.ok) return definitions
    const files = {
      ...definitions.value,
      eventsModifiedMs: events.value.modifiedMs,
      groupsModifiedMs: groups.value.modifiedMs,
    }
    this.#cached = { stamp, files }
    return ok(files)
  }
}

async function stamped(
  path: string,
): Promise<Result<{ readonly stamp: string; readonly modifiedMs: number }, EventFileFault>> {
  try {
    const { mtimeMs, size, ino } = await stat(path)
    if (size > LIMIT_BYTES) return fail({ kind: 'too-large', path, limitBytes: LIMIT_BYTES })
    return ok({ stamp: `${mtimeMs}/${size}/${ino}`, modifiedMs: Math.round(mtimeMs) })
  } catch (error) {
    return fail({ kind: 'unreadable', path, code: errorCode(error) })
  }
}

async function readJson(path: string): Promise<Result<Json, EventFileFault>> {
  let text: string
  try {
    await using file = await open(path)
    text = await file.readFile('utf8')
  } catch (error) {
    return fail({ kind: 'unreadable', path, code: errorCode(error) })
  }
  const value = parseAndSanitizeJson(text.replace(/^\uFEFF/, ''))
  return value === undefined ? fail({ kind: 'not-json', path }) : ok(limitJsonDepthAndText(value))
}

function errorCode(error: unknown): string {
  return readSystemErrorCode(error) ?? 'unknown'
}
